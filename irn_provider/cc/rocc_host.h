// RoccHost: RoCC's fair rates computed at the host (Menikkumbura, 3.3.6): the law of base/rocc_law.h for each
// congestion point that one flow hears of, fed by what the point says of its queue. F and Q_old live here: a
// switch that does not compute has neither (DEVIATIONS.md#rocc). No clock: `now` comes in.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/rocc_law.h"
#include "base/units.h"

namespace rocelab {

// 3.3.6, (2): "the host looks up the remainder of the values, which are specific to a given F": the sets of
// the network's links, by their F_max. Plain data: part of RoccRpParams.
struct RoccRegistry {
  static constexpr std::size_t kMost = 4;
  std::uint8_t used = 0;
  std::array<RoccValues, kMost> sets{};
  // Null: no link has this F, in Delta^F.
  const RoccValues* find(std::uint32_t f) const {
    for (std::size_t i = 0; i < used; ++i)
      if (sets[i].f_max == RoccValues::whole(f)) return &sets[i];
    return nullptr;
  }
};

class RoccHost {
 public:
  static constexpr std::size_t kMostPoints =
      16;  // beyond: the one that was heard least recently is forgotten

  struct Computed {
    std::uint32_t rate = 0;  // F, Delta^F
    bool news = false;       // false: a copy, an older report, or F was and is F_max and holds nobody back
  };
  // `f`: where the law begins for a point that was not heard of before, Delta^F. `values`: those that
  // fit_cnp().
  Computed on_report(std::uint32_t cp, std::uint32_t f, const RoccReport& report, const RoccValues& values,
                     Time now);
  void clear() { points_.clear(); }
  std::size_t points() const { return points_.size(); }

 private:
  struct Point {
    std::uint32_t cp;
    std::uint32_t period;
    Time heard;
    RoccLaw law;
  };
  Point* find(std::uint32_t cp);
  Point& make(std::uint32_t cp, std::uint32_t f, const RoccReport& report, const RoccValues& values,
              Time now);
  std::vector<Point> points_;  // those of the flow's path, mostly one or two
};

}  // namespace rocelab
