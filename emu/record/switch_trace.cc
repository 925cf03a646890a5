#include "emu/record/switch_trace.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <stdexcept>

namespace rocelab {
namespace {
constexpr std::size_t kBufferRecords = 8192;
constexpr std::uint32_t kAllKinds = (1u << static_cast<unsigned>(TraceKind::kCount)) - 1;
}  // namespace

SwitchTrace::SwitchTrace(const std::string& folder, const std::string& name)
    : TraceSink(folder.empty() ? kHashedKinds : kAllKinds), folder_(folder), name_(name) {
  if (folder.empty()) return;
  const std::string path = folder + "/" + name + ".events";
  fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd_ < 0) throw std::runtime_error(path + ": cannot create the event file: " + std::strerror(errno));
  buffer_.reserve(kBufferRecords);
}

SwitchTrace::~SwitchTrace() {
  flush();
  if (fd_ >= 0) ::close(fd_);
}

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
  if (fd_ >= 0 && r.kind != TraceKind::kDeliver) write(r);
}

void SwitchTrace::sample(const Switch& model, Time now) {
  if (fd_ < 0) return;
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
    write({.time = now,
           .kind = TraceKind::kSample,
           .mark = state.pause,
           .port = port.value,
           .bytes = static_cast<std::uint64_t>(state.queue.count()),
           .psn = tc.value,
           .peer = static_cast<std::uint32_t>(std::min(state.ingress.count(), kMost))});
  }
}

void SwitchTrace::write(const TraceRecord& r) {
  buffer_.push_back(r);
  if (buffer_.size() == kBufferRecords) flush();
}

void SwitchTrace::flush() {
  const char* at = reinterpret_cast<const char*>(buffer_.data());
  std::size_t left = fd_ >= 0 ? buffer_.size() * sizeof(TraceRecord) : 0;
  while (left > 0) {
    const ssize_t n = ::write(fd_, at, left);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      failed_ = true;
      break;
    }
    at += n;
    left -= static_cast<std::size_t>(n);
  }
  buffer_.clear();
}

void SwitchTrace::save() {
  flush();
  if (folder_.empty()) return;
  std::ofstream out(folder_ + "/" + name_ + ".digest");
  out << to_hex(digest()) << '\n';
  out.close();
  failed_ = failed_ || !out;
}

}  // namespace rocelab
