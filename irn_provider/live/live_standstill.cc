// LockstepProcess: a line on stderr when a program holds experiment time for a second: once in the program
// that does, and once in each that waits for it.
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <string>

#include "irn_provider/live/lockstep_process.h"
#include "lockstep/wall_clock.h"

namespace rocelab {

using lockstep::VfSlot;

namespace {

std::string program_of(std::uint32_t pid) {
  std::array<char, 64> path, name{};
  std::snprintf(path.data(), path.size(), "/proc/%u/comm", pid);
  std::FILE* file = std::fopen(path.data(), "re");
  if (file == nullptr) return "a program";
  const bool read = std::fscanf(file, "%63[^\n]", name.data()) == 1;
  std::fclose(file);
  return read ? name.data() : "a program";
}

}  // namespace

// Of this process, which has been pressed to let time go on; `t` computes.
void LockstepProcess::Impl::note_own_standstill(const ThreadState& t) {
  const Time at = nics.now();
  if (!standstill.observe(vf, at, lockstep::monotonic_ns())) return;
  std::fprintf(stderr,
               "rocelab: %s (pid %d) on %s has held experiment time at %.9f s for a second: its thread %d "
               "computes without a call that lets time pass (docs/reference/compatibility.md, What "
               "\"unmodified\" asks "
               "of a program)\n",
               program_invocation_short_name, getpid(), name.c_str(), at.seconds(), t.tid);
}

// Of others, while a thread of this process waits.
void LockstepProcess::Impl::note_standstill() {
  const lockstep::Header& header = segment.header();
  std::optional<std::uint32_t> holder;
  if (header.state.load() == lockstep::RunState::kRunning)
    for (std::uint32_t i = 0; i < segment.vfs().size() && !holder; ++i)
      if (i != vf && holds_time(segment.vfs()[i])) holder = i;
  const Time at = Time::from_ps(header.committed_ps.load());
  if (!others_standstill.observe(holder, at, lockstep::monotonic_ns())) return;
  const VfSlot& holding = segment.vfs()[*holder];
  const std::uint32_t pid = holding.pid.load();
  std::fprintf(stderr,
               "rocelab: %s: experiment time has stood at %.9f s for a second: %s (pid %u) on %s holds it\n",
               name.c_str(), at.seconds(), program_of(pid).c_str(), pid,
               std::string(machine_name(segment.hosts()[holding.host])).c_str());
}

}  // namespace rocelab
