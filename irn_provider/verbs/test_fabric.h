// TestFabric: hosts around one ideal switch (output queues of 4096 frames), for tests that run whole programs
// over a segment without namespaces and without OVS. TCP between the programs goes over the loopback
// interface of the machine.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/units.h"
#include "irn_provider/transport/nic_config.h"
#include "lockstep/coordinator.h"
#include "lockstep/segment.h"

namespace rocelab::verbs {

class TestFabric {
 public:
  // Hosts h1 .. hN with addresses 10.0.0.1 .. and MACs 02:00:00:00:00:01 ..; all links have the NIC's rate
  // and delay. Time begins when `programs` processes have opened the device. `link_changes`: what NICs see of
  // their links, by host; its switch forwards all the same.
  TestFabric(std::size_t hosts, std::uint32_t programs, const NicConfig& nic,
             std::vector<LinkChangeEntry> link_changes = {});
  ~TestFabric();
  TestFabric(const TestFabric&) = delete;
  TestFabric& operator=(const TestFabric&) = delete;

  struct Program {
    pid_t pid = -1;
    std::string output_file;
    int status = -1;  // as waitpid gives it; -1: still running
    int exit_code() const;
    std::string output() const;  // stdout and stderr
  };

  // Starts a program on a host with the library preloaded; returns its index. `settings`: more of its
  // environment, NAME=VALUE.
  std::size_t start(std::size_t host, const std::vector<std::string>& command,
                    const std::vector<std::string>& settings = {});
  // Runs windows until all programs have ended. False: they had not within `wall`, and were killed.
  bool run(std::chrono::seconds wall = std::chrono::seconds(60));
  void drive_once();                               // at most a millisecond of waiting
  void drive_and_reap() { drive_once(), reap(); }  // and looks who has ended
  // Until this one has ended, or `wall` is over; then ends the others, servers that wait for ever, with their
  // children. True: all have ended; how, their exit codes say.
  bool run_until_end_of(std::size_t index, std::chrono::seconds wall = std::chrono::seconds(60));
  const Program& program(std::size_t index) const { return programs_[index]; }
  lockstep::Segment& segment() { return *segment_; }

 private:
  struct InFlight {
    lockstep::FrameDescriptor frame;
    std::size_t to_vf;
    std::atomic<std::uint32_t> lockstep::VfSlot::*takers;  // goes to each of the host's VFs where this is
                                                           // not 0; null: to to_vf
    Time departure;                                        // from the switch port; never(): not decided
  };
  void collect();
  void enqueue(Time before);
  void transmit(Time before);
  void transmit(const lockstep::FrameDescriptor& frame, std::size_t vf);
  void transmit_to_takers(const InFlight& f);
  std::uint32_t copy_of(std::uint32_t frame);
  void drop(const lockstep::FrameDescriptor& frame);
  void go_home(std::uint32_t frame);
  Time next_event() const;
  void recycle();
  bool reap();

  NicConfig nic_;
  std::filesystem::path folder_;
  std::unique_ptr<lockstep::Segment> segment_;
  std::unique_ptr<lockstep::Coordinator> coordinator_;
  std::vector<lockstep::FrameRing> tx_, rx_;
  std::vector<lockstep::IndexRing> returns_, refill_;
  std::vector<InFlight> in_flight_;           // on their way to the switch; by due time, then VF of origin
  std::vector<std::deque<InFlight>> queues_;  // of each host's switch port
  std::vector<Time> port_free_;               // of each host's switch port
  std::vector<Program> programs_;
  std::vector<std::uint32_t> own_frames_;  // of the switch, free: for copies
};

}  // namespace rocelab::verbs
