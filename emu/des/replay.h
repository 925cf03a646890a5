// Replay: a recorded schedule, and its replay by LSTF (Mittal, 5.1.2 and appendix A.3). In the original run
// it notes when each data packet leaves its NIC, i(p), and when its last bit arrives, o(p). In the replay it
// gives slack(p) = o(p) - i(p) - tmin(p), and holds the run to what must be so: the same i(p), and a lateness
// that is the slack left with its sign changed, to the picosecond.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "emu/runner/plan.h"
#include "emu/runner/routing.h"
#include "irn_provider/nic/replay_port.h"

namespace rocelab::des {

class Replay {
 public:
  explicit Replay(const RunPlan& original);  // which outlives it
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  ReplayPort& port(std::uint32_t host) { return ports_[host]; }
  std::uint64_t recorded() const { return recorded_; }
  // The original is over. Throws std::runtime_error: not all that left has arrived.
  void begin_replay();
  // The replay is over, and its switches dropped so many frames. Throws std::runtime_error where it broke
  // what must be so.
  void check(std::uint64_t drops) const;

 private:
  struct Port final : ReplayPort {
    Port(Replay& owner, std::uint32_t index) : all(owner), host(index) {}
    Slack departs(const Packet& packet, Time now) override { return all.departs(host, packet, now); }
    void arrives(const Packet& packet, Time now) override { all.arrives(packet, now); }
    Replay& all;
    std::uint32_t host;
  };
  struct Times {
    Time in;  // never: it has left in the replay
    Time out = Time::never();
  };
  // The packets of one queue pair, by PSN from its first on.
  struct Stream {
    std::uint32_t first_psn = 0;
    std::vector<Times> packets;
  };
  struct Route {
    Path path;
    Bytes frame;  // of which `least` is tmin
    Duration least;
  };
  static std::uint64_t key_of(const Packet& packet) {
    return std::uint64_t{packet.dst.value} << 32 | packet.roce.dest.value;
  }
  static std::size_t index_of(const Stream& stream, const Packet& packet) {
    return (packet.roce.psn.value() - stream.first_psn) & Psn::kMask;
  }
  Slack departs(std::uint32_t host, const Packet& packet, Time now);
  void arrives(const Packet& packet, Time now);
  Duration least(std::uint32_t host, const Packet& packet);

  const RunPlan& original_;
  Routing routing_;
  std::vector<Port> ports_;
  std::unordered_map<std::uint64_t, Stream> streams_;  // looked up, never walked but to count
  std::unordered_map<std::uint64_t, Route> routes_;    // by hosts; looked up
  std::vector<std::uint32_t> host_of_;                 // [node]
  bool replays_ = false;
  std::uint64_t recorded_ = 0, moved_ = 0, strange_ = 0, unequal_ = 0;
};

}  // namespace rocelab::des
