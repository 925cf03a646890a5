// SwitchTrace: what becomes of one switch's trace records: the hash that goes into trace_hash, and the event
// file that results and pictures are made from. Event file `<trace_dir>/<switch>.events`: TraceRecords as
// they lie in memory, of deliveries some (is_kept_hop); and at multiples of the sample interval a kSample
// record for every (port, class) whose state changed since the last one: psn = class, bytes = egress queue,
// peer = bytes from that ingress port, mark = bit 0: paused by the peer, bit 1: pausing it; and a kCarried
// record for every port and direction whose link carried something. These are not hashed.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/packet.h"
#include "base/trace.h"
#include "base/trace_hash.h"
#include "emu/record/event_file.h"
#include "ovs_patches/switch_model/switch.h"

namespace rocelab {

// What a link did to a frame, as the mark of a kDrop record; SwitchDropReason has the values below.
inline constexpr std::uint8_t kLinkLoss = 0x40, kMalformed = 0x41, kLinkDown = 0x42;

class SwitchTrace final : public TraceSink {
 public:
  // `folder` empty: only the hash. Throws std::runtime_error when the event file cannot be made.
  SwitchTrace(const std::string& folder, const std::string& name);
  ~SwitchTrace() override;
  SwitchTrace(const SwitchTrace&) = delete;
  SwitchTrace& operator=(const SwitchTrace&) = delete;

  // A record of something that happens at `r.time`, told ahead of time: it takes its place before the first
  // record that is not earlier. Not for kDeliver.
  void record_at(const TraceRecord& r);
  // So for a frame that the link at `port` lost.
  void lost_at(Time when, PortId port, const Packet& packet, std::uint8_t why);
  void settle(Time end);  // everything before `end` has been recorded
  // The state of `model` as it stands at `now`.
  void sample(const Switch& model, Time now);
  Digest digest() { return hash_.digest(); }
  void flush() { file_.flush(); }  // the event file has all records up to here
  // Event file up to here, and the digest in hex beside it.
  void save();
  bool failed() const { return failed_ || !file_.error().empty(); }  // a write did not succeed

 private:
  struct State {
    Bytes queue, ingress;
    std::uint8_t pause = 0;
    friend bool operator==(const State&, const State&) = default;
  };
  void on_record(const TraceRecord& r) override;
  void take(const TraceRecord& r);

  std::string folder_, name_;
  TraceHash hash_;
  EventFile file_;
  bool failed_ = false;                                // the digest's
  std::vector<State> sampled_;                         // per port and class
  std::vector<std::array<std::uint64_t, 2>> carried_;  // per port: sent, received
  std::vector<TraceRecord> ahead_;                     // by time, then as told
};

}  // namespace rocelab
