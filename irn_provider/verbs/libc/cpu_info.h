// /proc/cpuinfo for a program that finds out the rate of the time stamp counter by gettimeofday and believes
// what it has measured only where the file says something else. gettimeofday counts whole microseconds, so
// that the measured rate depends on where between two of them the program stands: 10 GHz but for some parts
// in a million, and with them the last digit of all that perftest prints. The file says the counter's rate
// exactly, which is the same every time.
#pragma once

#include <string>
#include <string_view>

namespace rocelab::libc {

inline constexpr std::string_view kCpuInfo = "/proc/cpuinfo";

// From now on the file is shown so.
void show_counter_rate();
bool counter_rate_is_shown();

// The file's text with the counter's rate in every line "cpu MHz"; one is added where there is none.
std::string with_counter_rate(std::string_view cpu_info);

}  // namespace rocelab::libc
