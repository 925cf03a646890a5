#include "ovs_patches/netdev/switch_capture.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace rocelab {
namespace {
constexpr std::size_t kFlushBytes = 1 << 20;
}

SwitchCapture::SwitchCapture(const std::string& folder, const char* name,
                             std::span<const lockstep::PortEntry> ports) {
  const std::string path = folder + "/" + name + ".pcapng";
  fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd_ < 0) throw std::runtime_error(path + ": cannot create the capture: " + std::strerror(errno));
  append_pcapng_header(out_, "rocelab");
  for (const lockstep::PortEntry& port : ports)
    append_pcapng_interface(out_, port.interface, port.config.rate);
}

SwitchCapture::~SwitchCapture() {
  commit();
  flush();
  ::close(fd_);
}

void SwitchCapture::add(std::uint32_t port, Time time, std::span<const std::byte> frame,
                        PcapngDirection direction) {
  staged_.push_back({time, bytes_.size(), port, static_cast<std::uint32_t>(frame.size()), direction});
  bytes_.insert(bytes_.end(), frame.begin(), frame.end());
}

void SwitchCapture::commit(Time until) {
  std::ranges::stable_sort(staged_, {}, &Staged::time);
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
