#include "emu/record/switch_capture.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <tuple>

namespace rocelab {
namespace {
constexpr std::size_t kFlushBytes = 1 << 20;
}

SwitchCapture::SwitchCapture(const std::string& path, const std::vector<const PortEntry*>& ports, Owner owner)
    : path_(path), owner_(owner) {
  const int create = owner == Owner::kRun ? O_CREAT : 0;
  fd_ = ::open(path.c_str(), O_WRONLY | create | O_TRUNC | O_CLOEXEC, 0644);
  if (fd_ < 0) throw std::runtime_error(path + ": cannot create the capture: " + std::strerror(errno));
  if (abandoned()) {
    ::close(fd_);
    throw std::runtime_error(path + ": nobody holds the lock that keeps the capture going");
  }
  append_pcapng_header(out_, "rocelab");
  for (const PortEntry* port : ports) append_pcapng_interface(out_, port->interface, port->config.rate);
}

SwitchCapture::~SwitchCapture() {
  commit();
  flush();
  ::close(fd_);
}

// A lock that can be taken has no holder any more. It is released at once: the file still belongs to its
// maker.
bool SwitchCapture::abandoned() const {
  if (owner_ == Owner::kRun || ::flock(fd_, LOCK_SH | LOCK_NB) != 0) return false;
  ::flock(fd_, LOCK_UN);
  return true;
}

void SwitchCapture::add(std::uint32_t port, Time time, std::span<const std::byte> frame,
                        PcapngDirection direction) {
  staged_.push_back({time, bytes_.size(), port, static_cast<std::uint32_t>(frame.size()), direction});
  bytes_.insert(bytes_.end(), frame.begin(), frame.end());
}

void SwitchCapture::commit(Time until) {
  // Of one instant as nodes take them: arrivals before departures, each by port.
  std::ranges::stable_sort(staged_, {}, [](const Staged& s) {
    return std::tuple(s.time, s.direction == PcapngDirection::kOutbound, s.port);
  });
  const auto rest = std::ranges::lower_bound(staged_, until, {}, &Staged::time);
  for (const Staged& s : std::span(staged_.begin(), rest))
    append_pcapng_packet(out_, s.port, s.time, std::span(bytes_).subspan(s.offset, s.length), s.direction);
  staged_.erase(staged_.begin(), rest);
  if (staged_.empty()) bytes_.clear();
  if (out_.size() >= kFlushBytes) flush();
}

void SwitchCapture::flush() {
  const std::byte* at = out_.data();
  for (std::size_t left = out_.size(); left > 0;) {
    const ssize_t n = ::write(fd_, at, left);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      failed_ = true;
      break;
    }
    at += n;
    left -= static_cast<std::size_t>(n);
  }
  out_.clear();
}

}  // namespace rocelab
