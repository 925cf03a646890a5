// Captures: what is captured of a run's ports, by the run from its beginning and by others while it goes on.
// Starting and stopping one changes nothing of the run.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "emu/record/switch_capture.h"

namespace rocelab {

class Captures {
 public:
  // `ports`: all of the run's, which outlive it.
  explicit Captures(std::span<const PortEntry> ports) : ports_(ports), taps_(ports.size()) {}

  // Captures frames at `ports`, indices of the run's, in a file from now on. Throws std::runtime_error when
  // it cannot be written (SwitchCapture), or when there is a capture in a file of this name.
  void start(const std::string& path, std::span<const std::uint32_t> ports, SwitchCapture::Owner owner);
  // Writes the rest and closes the file. What was wrong with it, or nothing.
  std::string stop(const std::string& path);

  bool wants(std::uint32_t port) const { return !taps_[port].empty(); }
  void add(std::uint32_t port, Time time, std::span<const std::byte> frame, PcapngDirection direction);
  void commit();  // at the end of a pass
  // Writes what there is, for those who look at the files meanwhile; drops captures whose owner has gone.
  void flush();
  const SwitchCapture* failed() const;  // one of the run's that could not be written; null: none

 private:
  struct Tap {
    SwitchCapture* capture;
    std::uint32_t port;  // its interface in there
  };
  void drop(const SwitchCapture& capture);

  std::span<const PortEntry> ports_;
  std::vector<std::unique_ptr<SwitchCapture>> all_;
  std::vector<std::vector<Tap>> taps_;  // by port
};

}  // namespace rocelab
