// UCX in a program: its timers and ucx_perftest read the time stamp counter (tsc.h). UCX learns the counter's
// rate once, from the processor's model name or by the wall's clock, mostly before a device is opened: so its
// function for the rate is interposed, too. Source: UCX 1.13, ucs/sys/sys.h (ucs_get_cpu_clocks_per_sec) and
// ucs/arch/x86_64/cpu.c.
#pragma once

namespace rocelab::libc {

// libucs is loaded, by whomever.
bool has_ucx();

}  // namespace rocelab::libc
