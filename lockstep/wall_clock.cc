#include "lockstep/wall_clock.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <ctime>

namespace rocelab::lockstep {

std::int64_t monotonic_ns() {
  timespec ts{};
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &ts);
  return ts.tv_sec * 1'000'000'000LL + ts.tv_nsec;
}

Time wall_time(const Header& header, std::int64_t wall_ns) {
  const std::int64_t epoch = header.wall_epoch_ns.load();
  if (header.dilation <= 0 || epoch == Header::kNotBegun) return Time::zero();
  const double ps = static_cast<double>(wall_ns - epoch) * 1e3 / header.dilation;
  return Time::from_ps(std::max<std::int64_t>(0, std::llround(ps)));
}

std::int64_t wall_ns_of(const Header& header, Time t) {
  return header.wall_epoch_ns.load() + std::llround(static_cast<double>(t.ps()) * header.dilation / 1e3);
}

}  // namespace rocelab::lockstep
