// Gateway: a foreign RoCE device as a host of a run, or as one NIC of a host with several. It owns the first
// virtual function there and takes part in lock step as a program's NIC does, under the wall clock
// (lockstep/wall_clock.h):
//   from the device  a frame is ready to leave at the instant of the wall clock at which it was read; the
//                    emulated port sends it at the link's rate and obeys PFC (foreign_port.h)
//   to the device    a frame is written when time has come to its arrival; how late that was by the wall
//                    clock is measured
// Frames that are not RoCE go between the device and the host's management interface, untouched.
// Two threads: the caller's reads devices, one of its own runs windows.
// The verdict is about times towards the device. Its round trips are longer by what frames are late, which no
// lock step hides from a device with a clock of its own: so 999 in a thousand may be late by 5 % of the run's
// base RTT, by the machine's clock.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "emu/gateway/foreign_port.h"
#include "emu/gateway/interface.h"
#include "emu/gateway/lateness.h"
#include "lockstep/segment.h"
#include "lockstep/vf_end.h"

namespace rocelab {

struct GatewayReport {
  std::uint64_t from_device = 0, to_device = 0;         // RoCE frames that went through
  std::uint64_t management_in = 0, management_out = 0;  // others: from the device, to it
  std::uint64_t malformed =
      0;                       // from the device: UDP port 4791, but not RoCEv2, or longer than the run's MTU
  std::uint64_t overruns = 0;  // from the device: all frames of the host were in the network
  std::uint64_t refused = 0;   // the device did not take them
  std::uint64_t unread = 0;    // the kernel could not keep them for us
  std::uint64_t slips = 0;     // the machine lost touch, and the run's clock was moved (wall_clock.h)
  std::uint64_t violations = 0;    // to the device, later than the link's serialisation and delay
  std::int64_t late_limit_ns = 0;  // of the lateness that 999 frames in a thousand do not exceed
  Lateness late;                   // of frames to the device

  // At most one frame in a thousand was later than its link would have hidden, or than late_limit_ns; none
  // was lost here, and the clock was not moved.
  bool ok() const;
  std::string to_json() const;
};

// 5 % of it, in nanoseconds of a clock that runs `dilation` times as long.
std::int64_t late_limit_ns(Duration base_rtt, double dilation);

class Gateway {
 public:
  // Claims the NIC that is called `host`. Throws std::runtime_error with a line that says what to do: no such
  // NIC, programs run on its host, or a run without wall clock. All outlive it. `base_rtt`: of the run's
  // longest path.
  Gateway(const lockstep::Segment& segment, const std::string& host, Duration base_rtt, Interface& device,
          Interface& management);
  ~Gateway();  // leaves the run
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  // Moves frames until `stop` (a file descriptor) is readable or the run ends. True: stopped; false: the run
  // is over.
  bool run(int stop);
  GatewayReport report();

 private:
  void read_device();
  void read_management();
  void take(std::span<const std::byte> frame, std::uint8_t tc);
  void settle();
  void windows();
  void run_window();
  void arrive(const lockstep::FrameDescriptor& descriptor);
  void hand_over(std::span<std::byte> bytes, Time due);
  void send_until(Time limit);
  Time next_event();
  bool run_goes_on() const;

  const lockstep::Segment& segment_;
  const HostEntry& host_;
  const std::uint32_t vf_;
  lockstep::VfSlot& slot_;
  Interface& device_;
  Interface& management_;
  std::vector<std::byte> buffer_;  // of the reading thread

  std::mutex mutex_;  // guards what follows
  lockstep::FrameRing tx_, rx_;
  lockstep::IndexRing returns_;
  lockstep::VfFrames frames_;
  NicCounters counters_;
  ForeignPort port_;
  GatewayReport report_;
  std::uint32_t seq_;  // last window run
  const std::uint64_t slips_before_;

  std::atomic<bool> leaving_{false};
  std::thread windows_;
};

}  // namespace rocelab
