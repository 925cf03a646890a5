#include "irn_provider/verbs/libc/cpu_info.h"

#include <array>
#include <atomic>
#include <cstdio>

#include "irn_provider/verbs/libc/tsc.h"

namespace rocelab::libc {
namespace {

constexpr std::string_view kKey = "cpu MHz";
std::atomic<bool> g_shown = false;

std::string rate_line() {
  std::array<char, 64> line;
  const int length = std::snprintf(line.data(), line.size(), "cpu MHz\t\t: %.3f\n", kTscHz / 1e6);
  return {line.data(), static_cast<std::size_t>(length)};
}

}  // namespace

void show_counter_rate() { g_shown = true; }
bool counter_rate_is_shown() { return g_shown; }

std::string with_counter_rate(std::string_view cpu_info) {
  std::string text;
  bool found = false;
  while (!cpu_info.empty()) {
    const std::string_view line =
        cpu_info.substr(0, cpu_info.find('\n') + 1);  // the last one may have no end
    const std::string_view whole = line.empty() ? cpu_info : line;
    const bool rate = whole.starts_with(kKey);
    found |= rate;
    text += rate ? rate_line() : std::string(whole);
    cpu_info.remove_prefix(whole.size());
  }
  return found ? text : rate_line() + text;
}

}  // namespace rocelab::libc
