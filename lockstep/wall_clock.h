// The wall clock of a run (engine.clock = "wall"), for peers that have clocks of their own: experiment time =
// (CLOCK_MONOTONIC - epoch) / dilation. Programs and switches still advance in lock step, so nothing among
// them is ever late; but time does not run ahead of the machine's clock, and where nothing happens it follows
// it. A machine that does not keep up lets experiment time lag: frames for a foreign peer then leave late,
// which its gateway measures (emu/gateway). One that lags too far (coordinator.cc) slips: the epoch is moved,
// and counted in Header::wall_slips.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "lockstep/segment.h"

namespace rocelab::lockstep {

// CLOCK_MONOTONIC, by the system call: in programs the C library's function tells experiment time.
std::int64_t monotonic_ns();

// Experiment time by the machine's clock at `wall_ns`; zero() when the run has no wall clock, or before its
// time has begun.
Time wall_time(const Header& header, std::int64_t wall_ns = monotonic_ns());

// The machine's clock at experiment time `t` (not never()); the run has a wall clock that has begun.
std::int64_t wall_ns_of(const Header& header, Time t);

}  // namespace rocelab::lockstep
