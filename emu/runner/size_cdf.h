// SizeCdf: flow sizes of a workload as other simulators' generators write them: lines "<bytes> <percent>",
// rising in both from 0 to 100 percent, linear in between. '#' begins a comment. docs/scenarios.md shows one.
#pragma once

#include <string>
#include <vector>

#include "base/rng.h"
#include "base/units.h"
#include "emu/runner/quantity.h"

namespace rocelab {

// The most that a flow may have: what is planned per message takes forever with more, and time ends before it
// is sent.
inline constexpr Bytes kMaxFlow = kMostBytes;

struct CdfPoint {
  std::int64_t bytes = 0;
  double percent = 0;
  friend bool operator==(const CdfPoint&, const CdfPoint&) = default;
};

class SizeCdf {
 public:
  SizeCdf() = default;
  // Uniform over [min, max].
  SizeCdf(Bytes min, Bytes max) : points_{{min.count(), 0}, {max.count(), 100}} {}
  // Throws ScenarioError with "name:line: what is wrong".
  static SizeCdf parse(const std::string& text, const std::string& name);

  bool empty() const { return points_.empty(); }
  const std::vector<CdfPoint>& points() const { return points_; }
  Bytes largest() const { return Bytes::from_count(points_.back().bytes); }
  // The size below which `percent` of the flows are; at least one byte.
  Bytes at(double percent) const;
  // Equal on every machine: additions, products and quotients of doubles only.
  Bytes draw(Rng& rng) const { return at(100 * rng.uniform()); }
  double mean() const;

 private:
  std::vector<CdfPoint> points_;
};

}  // namespace rocelab
