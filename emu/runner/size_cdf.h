// SizeCdf: flow sizes of a workload as other simulators' generators write them: lines "<bytes> <share>", the
// share of flows up to that size, in percent or in fractions, as the last line's 100 or 1 says. Neither falls
// from line to line; linear in between. Lines of one share are a step without flows, lines of one size, and a
// first line above 0, are a size that many have. In the form of steps there are no sizes but those of the
// lines: a line's share more than the line before it has exactly its size. '#' begins a comment.
// docs/reference/scenarios.md shows one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "base/rng.h"
#include "base/units.h"

namespace rocelab {

// The most that a flow may have: what is planned per message takes forever with more, and time ends before it
// is sent.
inline constexpr Bytes kMaxFlow = kMostBytes;

struct CdfPoint {
  std::int64_t bytes = 0;  // neither falls from point to point
  double percent = 0;      // only the first has 0, only the last 100
  friend bool operator==(const CdfPoint&, const CdfPoint&) = default;
};

enum class CdfForm : std::uint8_t { kLinear, kSteps };

class SizeCdf {
 public:
  SizeCdf() = default;
  // Uniform over [min, max].
  SizeCdf(Bytes min, Bytes max) : points_{{min.count(), 0}, {max.count(), 100}} {}
  // Words may be apart by commas, too. Throws ScenarioError with "name:line: what is wrong".
  static SizeCdf parse(const std::string& text, const std::string& name, CdfForm form = CdfForm::kLinear);

  bool empty() const { return points_.empty(); }
  const std::vector<CdfPoint>& points() const { return points_; }
  Bytes largest() const { return Bytes::from_count(points_.back().bytes); }
  // The size up to which `percent` of the flows are; at least one byte.
  Bytes at(double percent) const;
  // Equal on every machine: additions, products and quotients of doubles only.
  Bytes draw(Rng& rng) const { return at(100 * rng.uniform()); }
  double mean() const;

 private:
  std::vector<CdfPoint> points_;
};

}  // namespace rocelab
