#include "emu/record/host_trace.h"

#include <stdexcept>
#include <utility>

namespace rocelab {
namespace {
constexpr std::uint32_t kAllKinds = (1u << static_cast<unsigned>(TraceKind::kCount)) - 1;
}  // namespace

HostTrace::HostTrace(std::string path, Duration sample_interval)
    : TraceSink(path.empty() ? kHashedKinds | bit(TraceKind::kPlaced) : kAllKinds),
      file_(std::move(path)),
      sample_interval_(sample_interval),
      next_sample_(Time::zero() + sample_interval) {}

HostTrace::~HostTrace() { file_.flush(); }  // of a program that has not come to its end; one that has did so

void HostTrace::on_record(const TraceRecord& r) {
  if ((kHashedKinds & bit(r.kind)) != 0) {
    hash_.add(r);
    ++records_;
  }
  if (r.kind == TraceKind::kPlaced) {
    ++placed_;
    if (on_placed_) on_placed_();
  }
  if (!file_.exists()) return;
  if (sample_interval_ > Duration() && r.time >= next_sample_) sample(r.time);
  if (r.kind == TraceKind::kDeliver) {
    flows_[r.flow].bytes += r.bytes;
    if (!is_kept_hop(r)) return;
    TraceRecord hop = r;
    hop.kind = TraceKind::kHop;
    write(hop);
  } else {
    write(r);
  }
}

// State between the last record and this one did not change: it is what holds at each multiple of the
// interval in between.
void HostTrace::sample(Time now) {
  for (auto& [flow, f] : flows_) {
    if (f.bytes == f.sampled) continue;
    f.sampled = f.bytes;
    write({.time = next_sample_, .kind = TraceKind::kSample, .flow = flow, .bytes = f.bytes});
  }
  const std::int64_t passed = (now - next_sample_) / sample_interval_ + 1;
  next_sample_ = next_sample_ + sample_interval_ * passed;
}

void HostTrace::write(const TraceRecord& r) {
  if (!file_.write(r)) fail();
}

void HostTrace::flush() {
  if (!file_.flush()) fail();
}

void HostTrace::fail() {
  if (on_failure_) on_failure_(file_.error());
  throw std::runtime_error(file_.error());
}

}  // namespace rocelab
