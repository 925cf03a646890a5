#include "irn_provider/cc/rocc_host.h"

#include <algorithm>

namespace rocelab {
namespace {

// A number that lies further back than this is no late report: whoever made the other one cannot have been
// right.
constexpr std::int32_t kReordered = 1024;

}  // namespace

RoccHost::Point* RoccHost::find(std::uint32_t cp) {
  const auto found = std::ranges::find(points_, cp, &Point::cp);
  return found == points_.end() ? nullptr : &*found;
}

RoccHost::Point& RoccHost::make(std::uint32_t cp, std::uint32_t f, const RoccReport& report,
                                const RoccValues& values, Time now) {
  const Point fresh{cp, report.period - 1, now, RoccLaw(values, RoccValues::whole(f))};
  if (points_.size() < kMostPoints) return points_.emplace_back(fresh);
  return *std::ranges::min_element(points_, {}, &Point::heard) = fresh;
}

RoccHost::Computed RoccHost::on_report(std::uint32_t cp, std::uint32_t f, const RoccReport& report,
                                       const RoccValues& values, Time now) {
  Point* point = find(cp);
  if (point == nullptr) point = &make(cp, f, report, values, now);
  // Another set than before: the point has been configured anew, and what was computed is of no use.
  if (!(point->law.values() == values)) {
    point->law = RoccLaw(values, RoccValues::whole(f));
    point->period = report.period - 1;
  }
  // A copy must not be counted twice, nor the past after the present: the law integrates.
  const auto ahead = static_cast<std::int32_t>(report.period - point->period);
  if (ahead <= 0 && ahead > -kReordered) return {point->law.units(), false};
  const bool was_unlimited = point->law.unlimited();
  point->law.update(report.q_cur);
  point->period = report.period;
  point->heard = now;
  return {point->law.units(), !was_unlimited || !point->law.unlimited()};
}

}  // namespace rocelab
