#include "base/units.h"

#include <array>
#include <utility>

namespace rocelab {
namespace {

using Unit = std::pair<std::int64_t, const char*>;

// The largest unit that divides `n` exactly; the last unit is 1.
template <std::size_t N>
std::string print(std::int64_t n, const std::array<Unit, N>& units) {
  for (const auto& [size, name] : units)
    if (n != 0 && n % size == 0) return std::to_string(n / size) + name;
  return std::to_string(n) + units.back().second;
}

}  // namespace

std::string to_string(Duration d) {
  if (d == Duration::infinite()) return "infinite";
  static constexpr std::array<Unit, 5> kUnits{
      {{1'000'000'000'000, "s"}, {1'000'000'000, "ms"}, {1'000'000, "us"}, {1'000, "ns"}, {1, "ps"}}};
  return print(d.ps(), kUnits);
}

std::string to_string(Time t) { return t.is_never() ? "never" : to_string(t - Time::zero()); }

std::string to_string(Bytes b) {
  static constexpr std::array<Unit, 4> kUnits{
      {{1'000'000'000, "GB"}, {1'000'000, "MB"}, {1'000, "KB"}, {1, "B"}}};
  return print(b.count(), kUnits);
}

std::string to_string(Rate r) {
  static constexpr std::array<Unit, 4> kUnits{
      {{1'000'000'000, "Gbps"}, {1'000'000, "Mbps"}, {1'000, "kbps"}, {1, "bps"}}};
  return print(r.bps(), kUnits);
}

}  // namespace rocelab
