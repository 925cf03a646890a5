// Means, percentiles and confidence intervals of metrics.h.
#include <algorithm>
#include <cmath>
#include <limits>

#include "emu/runner/metrics.h"

namespace rocelab {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// P(-t < T < t) for Student's t with `n` degrees of freedom, by the finite trigonometric sums for odd and
// even n (Abramowitz and Stegun 26.7.3, 26.7.4).
double two_sided(double t, std::uint64_t n) {
  const double theta = std::atan(t / std::sqrt(static_cast<double>(n))), c = std::cos(theta),
               s = std::sin(theta);
  const bool odd = n % 2 == 1;
  double term = odd ? c : 1, sum = n == 1 ? 0 : term;
  for (std::uint64_t k = odd ? 3 : 2; k < n; k += 2) {
    term *= c * c * static_cast<double>(k - 1) / static_cast<double>(k);
    sum += term;
  }
  constexpr double kPi = 3.14159265358979323846;
  return odd ? 2 / kPi * (theta + s * sum) : s * sum;
}

}  // namespace

double rate_of(double bytes, Duration duration) {
  return duration.ps() > 0 ? bytes * 8 / duration.seconds() : 0;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return values.empty() ? kNan : sum / static_cast<double>(values.size());
}

double percentile(std::vector<double> values, double percent) {
  if (values.empty()) return kNan;
  std::sort(values.begin(), values.end());
  const double n = static_cast<double>(values.size());
  const auto rank = static_cast<std::size_t>(std::clamp(std::ceil(percent * n / 100), 1.0, n));
  return values[rank - 1];
}

double student_t_975(std::uint64_t degrees) {
  if (degrees == 0) return kNan;
  double low = 0, high = 13;  // t(0.975) is 12.706 for one degree and falls from there
  for (int i = 0; i < 80; ++i) {
    const double middle = (low + high) / 2;
    (two_sided(middle, degrees) < 0.95 ? low : high) = middle;
  }
  return (low + high) / 2;
}

Estimate estimate(const std::vector<double>& values) {
  Estimate e;
  e.n = values.size();
  e.ci95 = kNan;
  if (values.empty()) {
    e.mean = e.median = kNan;
    return e;
  }
  for (const double v : values) e.mean += v / static_cast<double>(values.size());
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t half = sorted.size() / 2;
  e.median = sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  if (values.size() < 2) return e;
  double squares = 0;
  for (const double v : values) squares += (v - e.mean) * (v - e.mean);
  const double n = static_cast<double>(values.size());
  e.ci95 = student_t_975(values.size() - 1) * std::sqrt(squares / (n - 1) / n);
  return e;
}

}  // namespace rocelab
