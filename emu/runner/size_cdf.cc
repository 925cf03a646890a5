#include "emu/runner/size_cdf.h"

#include <algorithm>

#include "emu/runner/text_file.h"

namespace rocelab {

SizeCdf SizeCdf::parse(const std::string& text, const std::string& name) {
  SizeCdf cdf;
  TextLines lines(text, name);
  while (lines.next()) {
    if (lines.words().size() != 2)
      lines.fail("a line of a CDF has two numbers: bytes and percent, for example \"10000 15\"");
    const CdfPoint point{lines.integer(0, "the size in bytes"), lines.real(1, "the percentage")};
    if (point.bytes < 0) lines.fail("a size cannot be negative");
    if (point.bytes > kMaxFlow.count())
      lines.fail("a flow of " + lines.words()[0] + " bytes is more than " + to_string(kMaxFlow));
    if (point.percent < 0 || point.percent > 100)
      lines.fail("the percentage " + lines.words()[1] + " is outside 0..100");
    if (cdf.points_.empty()) {
      if (point.percent != 0) lines.fail("a CDF begins at 0 percent, not at " + lines.words()[1]);
    } else if (point.bytes <= cdf.points_.back().bytes || point.percent <= cdf.points_.back().percent) {
      lines.fail("a CDF rises from line to line, in bytes and in percent");
    }
    cdf.points_.push_back(point);
  }
  if (cdf.points_.size() < 2) lines.fail("a CDF needs at least two lines");
  const double last = cdf.points_.back().percent;
  if (last == 1) lines.fail("the CDF ends at 1: write percent, not fractions");
  if (last != 100) lines.fail("the CDF ends before 100 percent");
  return cdf;
}

Bytes SizeCdf::at(double percent) const {
  auto above = std::upper_bound(points_.begin() + 1, points_.end() - 1, percent,
                                [](double p, const CdfPoint& point) { return p < point.percent; });
  const CdfPoint &to = *above, &from = *(above - 1);
  const double share = (percent - from.percent) / (to.percent - from.percent);
  const double bytes = static_cast<double>(from.bytes) + share * static_cast<double>(to.bytes - from.bytes);
  return Bytes::from_count(std::clamp<std::int64_t>(static_cast<std::int64_t>(bytes), 1, to.bytes));
}

double SizeCdf::mean() const {
  double sum = 0;
  for (std::size_t i = 1; i < points_.size(); ++i)
    sum += static_cast<double>(points_[i - 1].bytes + points_[i].bytes) / 2 *
           (points_[i].percent - points_[i - 1].percent) / 100;
  return sum;
}

}  // namespace rocelab
