#include "emu/runner/size_cdf.h"

#include <algorithm>

#include "emu/runner/config_tree.h"
#include "emu/runner/text_file.h"

namespace rocelab {

namespace {

struct Line {
  std::int64_t bytes = 0;
  double share = 0, percent = 0;  // as it stands there, and if it is a fraction
};

Line parse_line(const TextLines& lines) {
  if (lines.words().size() != 2)
    lines.fail("a line of a CDF has two numbers: bytes and percent, for example \"10000 15\"");
  const double bytes = lines.real(0, "the size in bytes");
  if (bytes < 0) lines.fail("a size cannot be negative");
  if (bytes > static_cast<double>(kMaxFlow.count()))
    lines.fail("a flow of " + lines.words()[0] + " bytes is more than " + to_string(kMaxFlow));
  const Line line{static_cast<std::int64_t>(bytes), lines.real(1, "the percentage"),
                  lines.percent(1, "the percentage")};
  if (static_cast<double>(line.bytes) != bytes)
    lines.fail("the size in bytes must be a whole number, not \"" + lines.words()[0] + "\"");
  if (line.share < 0 || line.share > 100)
    lines.fail("the percentage " + lines.words()[1] + " is outside 0..100");
  return line;
}

// One point of 0 and one of 100: what comes before or behind these has no flows.
std::vector<CdfPoint> points_of(const std::vector<Line>& lines, bool fractions) {
  std::vector<CdfPoint> points;
  for (const Line& line : lines) {
    const double percent = fractions ? line.percent : line.share;
    if (points.empty() && percent > 0) points.push_back({line.bytes, 0});  // so many have the first size
    if (percent == 0) points.clear();
    points.push_back({line.bytes, percent});
    if (percent == 100) break;
  }
  return points;
}

// Each size that flows have, from the share of those below it to its own.
std::vector<CdfPoint> steps_of(const std::vector<Line>& lines, bool fractions) {
  std::vector<CdfPoint> points;
  double before = 0;
  for (const Line& line : lines) {
    const double percent = fractions ? line.percent : line.share;
    if (percent == before) continue;
    points.push_back({line.bytes, before});
    points.push_back({line.bytes, percent});
    before = percent;
  }
  return points;
}

}  // namespace

SizeCdf SizeCdf::parse(const std::string& text, const std::string& name, CdfForm form) {
  TextLines lines(text, name, ",");
  std::vector<Line> read;
  while (lines.next()) {
    const Line line = parse_line(lines);
    if (!read.empty() && (line.bytes < read.back().bytes || line.share < read.back().share))
      lines.fail("a CDF falls neither in bytes nor in percent from line to line");
    read.push_back(line);
  }
  if (read.empty()) lines.fail("a CDF has a line for each of its points: bytes and percent");
  const double last = read.back().share;
  if (last != 1 && last != 100)
    lines.fail("the CDF ends at " + shortest(last) + ", and not at 100 percent, nor at 1 in fractions");
  SizeCdf cdf;
  cdf.points_ = form == CdfForm::kSteps ? steps_of(read, last == 1) : points_of(read, last == 1);
  if (form == CdfForm::kSteps && cdf.points_.front().bytes == 0)
    lines.fail("flows of 0 bytes: the first size that has a share must be more than 0");
  if (cdf.largest() == 0_B) lines.fail("all sizes of the CDF are 0");
  return cdf;
}

Bytes SizeCdf::at(double percent) const {
  auto above = std::upper_bound(points_.begin() + 1, points_.end() - 1, percent,
                                [](double p, const CdfPoint& point) { return p < point.percent; });
  const CdfPoint &to = *above, &from = *(above - 1);
  const double share = (percent - from.percent) / (to.percent - from.percent);
  const double bytes = static_cast<double>(from.bytes) + share * static_cast<double>(to.bytes - from.bytes);
  return Bytes::from_count(
      std::clamp<std::int64_t>(static_cast<std::int64_t>(bytes), 1, std::max<std::int64_t>(to.bytes, 1)));
}

double SizeCdf::mean() const {
  double sum = 0;
  for (std::size_t i = 1; i < points_.size(); ++i)
    sum += static_cast<double>(points_[i - 1].bytes + points_[i].bytes) / 2 *
           (points_[i].percent - points_[i - 1].percent) / 100;
  return sum;
}

}  // namespace rocelab
