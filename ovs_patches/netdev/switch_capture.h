// SwitchCapture: `<pcap_dir>/<switch>.pcapng`, everything that crosses one switch's ports, PFC included, in
// experiment time and in its order. An inbound frame is stamped with the arrival of its last bit, an outbound
// one with the departure of its first; an inbound frame looks as it arrived, after the link's faults.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/wire/pcapng.h"
#include "lockstep/segment.h"

namespace rocelab {

class SwitchCapture {
 public:
  // Throws std::runtime_error when the file cannot be made.
  SwitchCapture(const std::string& folder, const char* name, std::span<const lockstep::PortEntry> ports);
  ~SwitchCapture();
  SwitchCapture(const SwitchCapture&) = delete;
  SwitchCapture& operator=(const SwitchCapture&) = delete;

  void add(std::uint32_t port, Time time, std::span<const std::byte> frame, PcapngDirection direction);
  // No frame before `until` will come any more: writes what is staged of that time, in order of time.
  void commit(Time until = Time::never());
  bool failed() const { return failed_; }

 private:
  struct Staged {
    Time time;
    std::size_t offset;
    std::uint32_t port;
    std::uint32_t length;
    PcapngDirection direction;
  };
  void flush();

  int fd_ = -1;
  bool failed_ = false;
  std::vector<Staged> staged_;
  std::vector<std::byte> bytes_;  // of the staged frames
  std::vector<std::byte> out_;    // blocks on their way to the file
};

}  // namespace rocelab
