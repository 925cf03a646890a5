// Interface: frames from and to a network device of this namespace, through an AF_PACKET socket. What the
// namespace itself sends there is not seen. Captures on the device see both directions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace rocelab {

class Interface {
 public:
  // Throws std::runtime_error with a line that says what to do: no such device, not root.
  explicit Interface(const std::string& name);
  ~Interface();
  Interface(const Interface&) = delete;
  Interface& operator=(const Interface&) = delete;

  int fd() const { return fd_; }  // readable: a frame waits
  // The next frame, from the destination address on, with its 802.1Q tag; null: none waits. A frame longer
  // than `buffer` is cut.
  std::optional<std::size_t> read(std::span<std::byte> buffer);
  // False: the device does not take it (its queue is full, it is down, or the frame is longer than its MTU).
  bool write(std::span<const std::byte> frame);
  std::uint64_t dropped();  // frames that the kernel could not keep for us, so far

 private:
  int fd_ = -1;
  std::uint64_t dropped_ = 0;
};

}  // namespace rocelab
