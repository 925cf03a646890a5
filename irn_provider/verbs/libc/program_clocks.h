// The program's clocks: in its experiment, and outside of one. clock_map.h says how experiment time is shown.
//
// Outside (before the device is opened, in a child) they are the machine's. In a child of a program in an
// experiment, forked or started by exec, they go on from what its parent's show, at the machine's pace;
// deadlines of its are translated for the kernel.
#pragma once

#include <sys/times.h>
#include <time.h>

#include "base/units.h"
#include "irn_provider/live/live_process.h"

namespace rocelab::libc {

// 2035-01-01T00:00:00Z. Two runs print the same dates, and no machine's date is later.
inline constexpr std::int64_t kFirstDateSeconds = 2'051'222'400;
// Of the others in a program that has never looked at one before: programs take 0 for "not set".
inline constexpr std::int64_t kFirstSeconds = 1'000;

// Not one: CPU-time clocks, unknown ones.
bool is_of_experiment(clockid_t clock);

// --- in an experiment, of such a clock
timespec shown(LiveProcess& process, clockid_t clock, Time t);  // rounded down to 1 ns
Time instant_of(LiveProcess& process, clockid_t clock, const timespec& shown);
clock_t ticks_at(LiveProcess& process, Time t);  // as times() counts them
// From here on what the clocks show is settled. To be called when the device has been opened; whoever takes
// the process's lock and then asks the above calls it before.
void begin_clocks(LiveProcess& process);

// --- outside; in code of the runtime's own they are the machine's
int outside_gettime(clockid_t clock, timespec* ts);
clock_t outside_times(tms* buffer);
// What the kernel is to be told in place of `deadline`: that itself, or `buffer`. Null stays null.
const timespec* machine_deadline(clockid_t clock, const timespec* deadline, timespec& buffer);

}  // namespace rocelab::libc
