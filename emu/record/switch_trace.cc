#include "emu/record/switch_trace.h"

#include <algorithm>
#include <fstream>
#include <limits>

namespace rocelab {
namespace {
constexpr std::uint32_t kAllKinds = (1u << static_cast<unsigned>(TraceKind::kCount)) - 1;
}  // namespace

SwitchTrace::SwitchTrace(const std::string& folder, const std::string& name)
    : TraceSink(folder.empty() ? kHashedKinds : kAllKinds),
      folder_(folder),
      name_(name),
      file_(folder.empty() ? "" : folder + "/" + name + ".events") {}

SwitchTrace::~SwitchTrace() { file_.flush(); }

void SwitchTrace::record_at(const TraceRecord& r) {
  ahead_.insert(std::ranges::upper_bound(ahead_, r.time, {}, &TraceRecord::time), r);
}

void SwitchTrace::lost_at(Time when, PortId port, const Packet& packet, std::uint8_t why) {
  record_at({.time = when,
             .kind = TraceKind::kDrop,
             .mark = why,
             .port = port.value,
             .flow = packet.flow,
             .bytes = packet.frame_length,
             .psn = packet.roce.psn.value()});
}

void SwitchTrace::settle(Time end) {
  const auto rest = std::ranges::lower_bound(ahead_, end, {}, &TraceRecord::time);
  for (auto r = ahead_.begin(); r != rest; ++r) take(*r);
  ahead_.erase(ahead_.begin(), rest);
}

void SwitchTrace::on_record(const TraceRecord& r) {
  if (!ahead_.empty() && ahead_.front().time <= r.time) settle(r.time + Duration::from_ps(1));
  take(r);
}

void SwitchTrace::take(const TraceRecord& r) {
  if ((kHashedKinds & bit(r.kind)) != 0) hash_.add(r);
  if (!file_.exists()) return;
  if (r.kind != TraceKind::kDeliver) {
    file_.write(r);
  } else if (is_kept_hop(r)) {
    TraceRecord hop = r;
    hop.kind = TraceKind::kHop;
    file_.write(hop);
  }
}

void SwitchTrace::sample(const Switch& model, Time now) {
  if (!file_.exists()) return;
  sampled_.resize(model.ports() * kTrafficClasses);
  for (std::size_t i = 0; i < sampled_.size(); ++i) {
    const PortId port{static_cast<std::uint16_t>(i / kTrafficClasses)};
    const Tc tc{static_cast<std::uint8_t>(i % kTrafficClasses)};
    const State state{model.queue_bytes(port, tc), model.ingress_bytes(port, tc),
                      static_cast<std::uint8_t>((model.is_paused(port, tc) ? 1 : 0) |
                                                (model.is_pausing(port, tc) ? 2 : 0))};
    if (state == sampled_[i]) continue;
    sampled_[i] = state;
    constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
    file_.write({.time = now,
                 .kind = TraceKind::kSample,
                 .mark = state.pause,
                 .port = port.value,
                 .bytes = static_cast<std::uint64_t>(state.queue.count()),
                 .psn = tc.value,
                 .peer = static_cast<std::uint32_t>(std::min(state.ingress.count(), kMost))});
  }
  carried_.resize(model.ports());
  for (std::uint16_t port = 0; port < carried_.size(); ++port) {
    const SwitchPortCounters counters = model.counters(PortId{port}, now);
    const auto overhead = static_cast<std::uint64_t>(wire_bytes(Bytes{}).count());
    const std::array<std::uint64_t, 2> bytes = {counters.tx_bytes + counters.tx_frames * overhead,
                                                counters.rx_bytes + counters.rx_frames * overhead};
    for (std::uint8_t received = 0; received < bytes.size(); ++received) {
      if (bytes[received] == carried_[port][received]) continue;
      carried_[port][received] = bytes[received];
      file_.write({.time = now,
                   .kind = TraceKind::kCarried,
                   .mark = received,
                   .port = port,
                   .bytes = bytes[received]});
    }
  }
}

void SwitchTrace::save() {
  file_.flush();
  if (folder_.empty()) return;
  std::ofstream out(folder_ + "/" + name_ + ".digest");
  out << to_hex(digest()) << '\n';
  out.close();
  failed_ = failed_ || !out;
}

}  // namespace rocelab
