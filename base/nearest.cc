#include "base/nearest.h"

#include <algorithm>
#include <utility>

namespace rocelab {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replace, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest(std::string_view name, const std::vector<std::string>& known) {
  std::string best;
  std::size_t least = std::max<std::size_t>(2, name.size() / 2) + 1;
  for (const std::string& candidate : known) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

bool is_slip(std::string_view a, std::string_view b) {
  if (edit_distance(a, b) == 1) return true;
  const auto [x, y] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return a.size() == b.size() && a.end() - x >= 2 && x[0] == y[1] && x[1] == y[0] &&
         std::equal(x + 2, a.end(), y + 2);
}

}  // namespace rocelab
