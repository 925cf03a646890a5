#include "irn_provider/live/live_trace.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rocelab {
namespace {
constexpr std::size_t kBufferRecords = 4096;
constexpr std::uint32_t kAllKinds = (1u << static_cast<unsigned>(TraceKind::kCount)) - 1;
}  // namespace

LiveTrace::LiveTrace(std::string path, Duration sample_interval)
    : TraceSink(path.empty() ? kHashedKinds | bit(TraceKind::kPlaced) : kAllKinds),
      sample_interval_(sample_interval),
      next_sample_(Time::zero() + sample_interval) {
  if (!path.empty()) fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  buffer_.reserve(kBufferRecords);
}

LiveTrace::~LiveTrace() {
  flush();
  if (fd_ >= 0) ::close(fd_);
}

void LiveTrace::on_record(const TraceRecord& r) {
  if ((kHashedKinds & bit(r.kind)) != 0) {
    hash_.add(r);
    ++records_;
  }
  if (r.kind == TraceKind::kPlaced) {
    ++placed_;
    if (on_placed_) on_placed_();
  }
  if (fd_ < 0) return;
  if (sample_interval_ > Duration() && r.time >= next_sample_) sample(r.time);
  if (r.kind == TraceKind::kDeliver) {
    flows_[r.flow].bytes += r.bytes;
  } else {
    write(r);
  }
}

// State between the last record and this one did not change: it is what holds at each multiple of the
// interval in between.
void LiveTrace::sample(Time now) {
  for (auto& [flow, f] : flows_) {
    if (f.bytes == f.sampled) continue;
    f.sampled = f.bytes;
    write({.time = next_sample_, .kind = TraceKind::kSample, .flow = flow, .bytes = f.bytes});
  }
  const std::int64_t passed = (now - next_sample_) / sample_interval_ + 1;
  next_sample_ = next_sample_ + sample_interval_ * passed;
}

void LiveTrace::write(const TraceRecord& r) {
  buffer_.push_back(r);
  if (buffer_.size() == kBufferRecords) flush();
}

void LiveTrace::flush() {
  // The raw call: the program's own write() may be interposed.
  if (fd_ >= 0 && !buffer_.empty())
    syscall(SYS_write, fd_, buffer_.data(), buffer_.size() * sizeof(TraceRecord));
  buffer_.clear();
}

}  // namespace rocelab
