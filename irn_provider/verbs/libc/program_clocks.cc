#include "irn_provider/verbs/libc/program_clocks.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>

#include "irn_provider/verbs/libc/clock_map.h"
#include "irn_provider/verbs/libc/experiment.h"
#include "irn_provider/verbs/libc/real.h"
#include "lockstep/segment.h"

namespace rocelab::libc {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;

enum Kind : std::size_t { kDate, kTai, kMonotonic, kRaw, kBoot, kTicks, kKinds };

std::optional<Kind> kind_of(clockid_t clock) {
  switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_REALTIME_ALARM:
      return kDate;
    case CLOCK_TAI:
      return kTai;
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_COARSE:
      return kMonotonic;
    case CLOCK_MONOTONIC_RAW:
      return kRaw;
    case CLOCK_BOOTTIME:
    case CLOCK_BOOTTIME_ALARM:
      return kBoot;
    default:
      return std::nullopt;
  }
}
bool is_date(Kind kind) { return kind == kDate || kind == kTai; }

std::int64_t ns_of(const timespec& ts) { return std::int64_t{ts.tv_sec} * kNsPerSecond + ts.tv_nsec; }
timespec timespec_of(std::int64_t ns) { return {.tv_sec = ns / kNsPerSecond, .tv_nsec = ns % kNsPerSecond}; }
std::int64_t ns_per_tick() {
  static const std::int64_t ns = kNsPerSecond / sysconf(_SC_CLK_TCK);
  return ns;
}

std::int64_t machine_ns(Kind kind) {
  constexpr std::array<clockid_t, kKinds> kClocks = {CLOCK_REALTIME, CLOCK_TAI, CLOCK_MONOTONIC,
                                                     CLOCK_MONOTONIC_RAW, CLOCK_BOOTTIME};
  tms buffer{};
  if (kind == kTicks) return real::times(&buffer) * ns_per_tick();
  timespec ts{};
  real::clock_gettime(kClocks[kind], &ts);
  return ns_of(ts);
}

// --- outside: what a clock is ahead of the machine's
std::array<std::atomic<std::int64_t>, kKinds> g_ahead_ns{};
std::atomic<bool> g_looked = false;  // the program has seen a clock that counts from the machine's start

bool is_runtimes() { return real::in_runtime() || LiveProcess::inside(); }

// --- in an experiment
struct Clocks {
  const LiveProcess* process = nullptr;
  std::array<ClockMap, kKinds> maps;
};
// Each is for ever: a thread may be looking at it. A forked child that opens the device has its own.
std::atomic<const Clocks*> g_clocks = nullptr;

std::optional<Time> g_forked_at;  // of the thread that forks, between its two handlers

void before_fork() {
  LiveProcess* process = experiment();
  g_forked_at.reset();
  if (process == nullptr) return;
  begin_clocks(*process);
  real::RuntimeScope scope;
  g_forked_at = process->now();
}

void in_child() {
  if (!g_forked_at) return;
  for (std::size_t kind = 0; kind < kKinds; ++kind)
    g_ahead_ns[kind] =
        g_clocks.load()->maps[kind].shown_ns(*g_forked_at) - machine_ns(static_cast<Kind>(kind));
  g_looked = true;
}

// --- programs that one in an experiment starts (exec): what its clocks show at experiment time 0 is in their
// environment. The room is made before main(), since a program's threads may be reading the environment
// later.
constexpr const char* kVariable = "ROCELAB_CLOCKS";
constexpr std::size_t kRoom = kKinds * 21;  // of as many numbers of 64 bits

void leave_to_children(const std::array<ClockMap, kKinds>& maps) {
  char* const room = std::getenv(kVariable);
  if (room == nullptr || std::strlen(room) != kRoom) return;  // the program has other ideas
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    std::array<char, 22> text;
    std::snprintf(text.data(), text.size(), "%20lld ", static_cast<long long>(maps[kind].zero_ns));
    std::memcpy(room + kind * 21, text.data(), 21);
  }
}

__attribute__((constructor)) void inherit() {
  const char* segment = std::getenv("ROCELAB_SEGMENT");
  if (segment == nullptr || segment[0] == 0) return;
  const char* left = std::getenv(kVariable);
  std::istringstream numbers(left != nullptr ? left : "");
  std::array<std::int64_t, kKinds> zero_ns{};
  for (std::int64_t& zero : zero_ns) numbers >> zero;
  if (left == nullptr) setenv(kVariable, std::string(kRoom, ' ').c_str(), 1);
  if (!numbers) return;
  try {
    const std::int64_t committed_ps = lockstep::Segment::open(segment).header().committed_ps.load();
    for (std::size_t kind = 0; kind < kKinds; ++kind)
      g_ahead_ns[kind] =
          zero_ns[kind] + committed_ps / ClockMap::kPsPerNs - machine_ns(static_cast<Kind>(kind));
    g_looked = true;
  } catch (const std::exception&) {  // the run is over: the clocks are the machine's
  }
}

ClockMap map_of(Kind kind, Time opened) {
  const std::int64_t before_ns = machine_ns(kind) + g_ahead_ns[kind];
  if (is_date(kind)) return ClockMap::at_opening(before_ns, kFirstDateSeconds * kNsPerSecond, opened);
  if (g_looked) return ClockMap::at_opening(before_ns, std::nullopt, opened);
  return ClockMap::at_opening(std::nullopt, kFirstSeconds * kNsPerSecond, opened);
}

const Clocks& clocks_of(LiveProcess& process) {
  const Clocks* clocks = g_clocks.load(std::memory_order_acquire);
  if (clocks != nullptr && clocks->process == &process) [[likely]]
    return *clocks;
  static real::Mutex mutex;
  real::RuntimeScope scope;
  std::lock_guard lock(mutex);
  clocks = g_clocks.load();
  if (clocks != nullptr && clocks->process == &process) return *clocks;
  static const int watched = pthread_atfork(before_fork, nullptr, in_child);
  static_cast<void>(watched);
  const Time opened = process.now();
  auto* made = new Clocks{.process = &process, .maps = {}};
  for (std::size_t kind = 0; kind < kKinds; ++kind)
    made->maps[kind] = map_of(static_cast<Kind>(kind), opened);
  leave_to_children(made->maps);
  g_clocks.store(made, std::memory_order_release);
  return *made;
}

}  // namespace

bool is_of_experiment(clockid_t clock) { return kind_of(clock).has_value(); }

timespec shown(LiveProcess& process, clockid_t clock, Time t) {
  return timespec_of(clocks_of(process).maps[*kind_of(clock)].shown_ns(t));
}

Time instant_of(LiveProcess& process, clockid_t clock, const timespec& shown) {
  constexpr std::int64_t kTooFar = INT64_MAX / kNsPerSecond - 1;
  if (shown.tv_sec > kTooFar) return Time::never();
  return clocks_of(process).maps[*kind_of(clock)].instant(ns_of(shown));
}

clock_t ticks_at(LiveProcess& process, Time t) {
  return clocks_of(process).maps[kTicks].shown_ns(t) / ns_per_tick();
}

void begin_clocks(LiveProcess& process) { clocks_of(process); }

int outside_gettime(clockid_t clock, timespec* ts) {
  const int result = real::clock_gettime(clock, ts);
  const std::optional<Kind> kind = kind_of(clock);
  if (result != 0 || !kind || is_runtimes()) return result;
  if (!is_date(*kind) && !g_looked) g_looked = true;
  // A coarse clock, which is a little behind, went on from where the other one was.
  if (const std::int64_t ahead = g_ahead_ns[*kind]; ahead != 0) *ts = timespec_of(machine_ns(*kind) + ahead);
  return result;
}

clock_t outside_times(tms* buffer) {
  const clock_t ticks = real::times(buffer);
  if (is_runtimes()) return ticks;
  g_looked = true;
  return (ticks * ns_per_tick() + g_ahead_ns[kTicks]) / ns_per_tick();
}

const timespec* machine_deadline(clockid_t clock, const timespec* deadline, timespec& buffer) {
  const std::optional<Kind> kind = kind_of(clock);
  if (deadline == nullptr || !kind || !valid(*deadline) || is_runtimes()) return deadline;
  const std::int64_t ahead = g_ahead_ns[*kind];
  if (ahead == 0 || deadline->tv_sec > INT64_MAX / kNsPerSecond / 2) return deadline;
  buffer = timespec_of(std::max<std::int64_t>(ns_of(*deadline) - ahead, 0));
  return &buffer;
}

}  // namespace rocelab::libc
