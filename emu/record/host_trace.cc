#include "emu/record/host_trace.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <stdexcept>
#include <utility>

namespace rocelab {
namespace {
constexpr std::size_t kBufferRecords = 4096;
constexpr std::uint32_t kAllKinds = (1u << static_cast<unsigned>(TraceKind::kCount)) - 1;
}  // namespace

HostTrace::HostTrace(std::string path, Duration sample_interval)
    : TraceSink(path.empty() ? kHashedKinds | bit(TraceKind::kPlaced) : kAllKinds),
      path_(std::move(path)),
      sample_interval_(sample_interval),
      next_sample_(Time::zero() + sample_interval) {
  if (!path_.empty()) {
    fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd_ < 0) fail("make");
  }
  buffer_.reserve(kBufferRecords);
}

HostTrace::~HostTrace() {
  try {
    on_failure_ = nullptr;
    flush();  // of a program that has not come to its end; one that has did so
  } catch (const std::exception&) {
  }
  if (fd_ >= 0) ::close(fd_);
}

void HostTrace::on_record(const TraceRecord& r) {
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
  buffer_.push_back(r);
  if (buffer_.size() == kBufferRecords) flush();
}

void HostTrace::flush() {
  const auto bytes = std::as_bytes(std::span(buffer_));
  for (std::size_t done = 0; fd_ >= 0 && done < bytes.size();) {
    // The raw call: the program's own write() may be interposed.
    const long n = syscall(SYS_write, fd_, bytes.data() + done, bytes.size() - done);
    if (n > 0)
      done += static_cast<std::size_t>(n);
    else if (n == 0 || errno != EINTR)
      fail("write");
  }
  buffer_.clear();
}

void HostTrace::fail(const char* what) {
  const std::string line = std::string("cannot ") + what + " " + path_ + ": " + std::strerror(errno);
  buffer_.clear();  // not again
  if (on_failure_) on_failure_(line);
  throw std::runtime_error(line);
}

}  // namespace rocelab
