// FrameTap: captures of a run in virtual time, in the files and with the order and stamps of the live engine
// (emu/record/switch_capture.h). Packets have no bytes here: headers, lengths and ICRC are made anew,
// payload is zeros (DEVIATIONS.md).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "emu/des/network.h"
#include "emu/record/switch_capture.h"
#include "emu/world/switch_frames.h"

namespace rocelab::des {

class FrameTap final : public PortTap {
 public:
  // Throws std::runtime_error when a file cannot be made. `plan` outlives it.
  FrameTap(const RunPlan& plan, const std::string& folder, const Partition& partition);
  void on_frame(std::uint32_t port, Time time, const Packet& packet, bool arrives) override;
  void commit(Time until) override;
  bool failed() const;

 private:
  using Buffer = std::vector<std::byte>;
  std::span<const std::byte> bytes_of(const Packet& packet, Buffer& frame) const;
  std::span<const std::byte> bytes_of_control(std::uint32_t port, const Packet& packet, bool arrives,
                                              Buffer& frame) const;

  const RunPlan& plan_;
  WorldView world_;
  struct Capture {                        // of a switch, whose thread alone uses it
    std::unique_ptr<SwitchCapture> file;  // null: it is elsewhere
    Buffer frame;
  };
  std::vector<Capture> captures_;
};

}  // namespace rocelab::des
