// Recorder: notes the schedule of a run that is to be replayed (emu/record/schedule.h): when each data packet
// leaves its NIC, when its last bit arrives, and tmin, the time that an idle network would take.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/replay_port.h"
#include "emu/record/schedule.h"
#include "emu/runner/plan.h"
#include "emu/runner/routing.h"

namespace rocelab::des {

class Recorder {
 public:
  explicit Recorder(const RunPlan& original);  // which outlives it
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  ReplayPort* port(std::uint32_t host) { return &ports_[host]; }
  // The run is over. Throws std::runtime_error: not all that left has arrived, or as Schedule::write().
  Schedule save(const ScheduleFile& file);

 private:
  struct Port final : ReplayPort {
    Port(Recorder& owner, std::uint32_t index) : all(owner), host(index) {}
    Replayed departs(const Packet& packet, Time now) override {
      all.departs(host, packet, now);
      return {};
    }
    void arrives(const Packet& packet, Time now) override { all.arrives(packet, now); }
    Recorder& all;
    std::uint32_t host;
  };
  static std::uint64_t key_of(const Packet& packet) { return stream_key(packet.dst, packet.roce.dest); }
  static std::size_t index_of(const RecordedSchedule::Stream& stream, const Packet& packet) {
    return (packet.roce.psn.value() - stream.first_psn) & Psn::kMask;
  }
  void departs(std::uint32_t host, const Packet& packet, Time now);
  void arrives(const Packet& packet, Time now);
  Duration least(std::uint32_t host, const Packet& packet);
  std::uint64_t missing() const;

  const RunPlan& original_;
  Routing routing_;
  std::vector<Port> ports_;
  RecordedSchedule recorded_;
  std::unordered_map<std::uint64_t, Path> paths_;  // by hosts; looked up
  std::vector<std::uint32_t> host_of_;             // [node]
  std::uint64_t packets_ = 0, strange_ = 0;
};

}  // namespace rocelab::des
