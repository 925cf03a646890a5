// SwitchCapture: a pcapng file of what crosses some of a switch's ports, PFC included, in experiment time and
// in its order. An inbound frame is stamped with the arrival of its last bit, an outbound one with the
// departure of its first; an inbound frame looks as it arrived, after the link's faults.
//
// A capture belongs to the run (`<pcap_dir>/<switch>.pcapng`), or to a process that came later. That process
// holds a lock on the file (flock); the capture ends with the lock, however the process has ended.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/wire/pcapng.h"
#include "emu/world/world.h"

namespace rocelab {

class SwitchCapture {
 public:
  enum class Owner : std::uint8_t { kRun, kLockHolder };

  // `ports`: the file's interfaces, in this order. Throws std::runtime_error when the file cannot be made, or
  // when nobody holds the lock.
  SwitchCapture(const std::string& path, const std::vector<const PortEntry*>& ports,
                Owner owner = Owner::kRun);
  ~SwitchCapture();
  SwitchCapture(const SwitchCapture&) = delete;
  SwitchCapture& operator=(const SwitchCapture&) = delete;

  // `port`: by the order of the file's interfaces.
  void add(std::uint32_t port, Time time, std::span<const std::byte> frame, PcapngDirection direction);
  // No frame before `until` will come any more: takes what is staged of that time, in a total order, and
  // writes it when there is much of it.
  void commit(Time until = Time::never());
  void flush();  // writes what has been committed
  bool failed() const { return failed_; }
  bool abandoned() const;  // its owner has gone
  const std::string& path() const { return path_; }
  Owner owner() const { return owner_; }

 private:
  struct Staged {
    Time time;
    std::size_t offset;
    std::uint32_t port;
    std::uint32_t length;
    PcapngDirection direction;
  };

  const std::string path_;
  const Owner owner_;
  int fd_ = -1;
  bool failed_ = false;
  std::vector<Staged> staged_;
  std::vector<std::byte> bytes_;  // of the staged frames
  std::vector<std::byte> out_;    // blocks on their way to the file
};

}  // namespace rocelab
