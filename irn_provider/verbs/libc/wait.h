// One wait for descriptors in experiment time, whichever of poll, select or epoll it came by.
//
// Semantics, by what the set holds:
//  - only our event descriptors, pipes of the program to itself (own_pipes.h), or none: the thread parks;
//  time passes to the first event or to the timeout exactly.
//  - only descriptors of the outside (sockets, pipes): first a *foreign* wait, time stands. When the grace is
//  over (the thread is detached, and counted as such) time passes
//    with it: steps of experiment time take turns with slices of wall time of the same length, so that a
//    timeout is never over sooner than by the wall's clock. Without a timeout it waits outside, left behind.
//    In a loop of short waits only the first one gets the grace, until something has come.
//  - both: the same without the foreign wait, so that a program with one event loop pays no grace per
//  completion. What then comes from outside
//    enters experiment time at an instant that depends on the wall, and is counted as a detach.
//  - a timeout of 0 is an empty poll_cq: it lets time pass a little, or a program that asks in a loop would
//  stop it.
//  - before time has begun (the run waits for its participants) time stands, and timeouts count by the wall.
// A signal of a timer in experiment time (timers.cc) ends a wait with EINTR at its instant, one from outside
// (kill, ^C) when it comes.
#pragma once

#include <functional>
#include <vector>

#include "base/units.h"
#include "irn_provider/live/live_process.h"
#include "irn_provider/verbs/libc/event_fd.h"

namespace rocelab::libc {

// What comes from outside may come at any time: a thread that waits for it beside experiment time takes a
// step of experiment time, then a slice of wall time of the same length, by turns.
inline constexpr Duration kOutsideStep = 1_ms;
inline constexpr std::int64_t kOutsideSliceNs = kOutsideStep.ps() / 1'000;

struct WaitSet {
  std::vector<EventFd::Raised> ours;
  bool pipes = false;    // it holds pipes of the program to itself
  bool outside = false;  // it holds other descriptors
  void add(int fd);
  bool inside() const { return pipes || !ours.empty(); }
  // Changes whenever something of `ours` or a pipe may have become ready. What is pending does not tell: a
  // descriptor may be watched for its edges.
  std::uint64_t changes() const;
};

// `attempt(wall_ms)` is the real call with that timeout, -1: none; its result, when not 0, is the wait's.
// `timeout` infinite: none.
int wait_for(LiveProcess& process, const WaitSet& set, Duration timeout,
             const std::function<int(int)>& attempt);

}  // namespace rocelab::libc
