// TCP connections with framed messages, for what RDMA programs must tell each other beside RDMA.
// A frame is a 4-byte type, a 4-byte length (both big-endian) and the bytes. All failures throw
// std::runtime_error with the peer and the reason.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rocelab::app {

struct Frame {
  std::uint32_t type = 0;
  std::string bytes;
};

class Connection {
 public:
  Connection() = default;
  explicit Connection(int fd, std::string peer);
  Connection(Connection&& other) noexcept;
  Connection& operator=(Connection&& other) noexcept;
  ~Connection();

  void send(std::uint32_t type, std::string_view bytes);
  Frame receive();  // waits, at most as long as set_timeout() allows
  // What has come without waiting. Null: no whole frame yet. Throws when the peer has closed.
  std::optional<Frame> try_receive();
  void set_timeout(int seconds);
  bool open() const { return fd_ >= 0; }
  void close();

 private:
  [[noreturn]] void fail(const char* what, int error);
  std::optional<Frame> take_frame();
  std::size_t read_some(int flags);

  int fd_ = -1;
  std::string peer_;
  std::string pending_;  // received, not yet a whole frame
};

class Listener {
 public:
  Listener(const std::string& address, std::uint16_t port);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  Connection accept(int timeout_seconds);

 private:
  int fd_ = -1;
};

// Tries until the peer listens, at most `timeout_seconds`.
Connection connect_to(const std::string& address, std::uint16_t port, int timeout_seconds);

}  // namespace rocelab::app
