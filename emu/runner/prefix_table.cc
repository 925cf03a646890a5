#include "emu/runner/prefix_table.h"

#include <algorithm>
#include <bit>
#include <iterator>

namespace rocelab {
namespace {

using Candidates = std::vector<std::uint32_t>;  // sorted; empty: any value will do

// A heap-ordered binary tree over 2^depth blocks: node 1 is everything, node n has children 2n and 2n + 1.
class Trie {
 public:
  explicit Trie(const std::vector<std::uint32_t>& values)
      : leaves_(std::bit_ceil(std::max<std::size_t>(values.size(), 1))), candidates_(2 * leaves_) {
    for (std::size_t i = 0; i < values.size(); ++i)
      if (values[i] != kAnyValue) candidates_[leaves_ + i] = {values[i]};
    for (std::size_t n = leaves_ - 1; n > 0; --n)
      candidates_[n] = merged(candidates_[2 * n], candidates_[2 * n + 1]);
  }

  std::vector<PrefixRule> rules() {
    if (!candidates_[1].empty()) choose(1, kAnyValue, static_cast<std::uint32_t>(std::countr_zero(leaves_)));
    std::stable_sort(rules_.begin(), rules_.end(), [](const PrefixRule& a, const PrefixRule& b) {
      return a.bits_free < b.bits_free || (a.bits_free == b.bits_free && a.first < b.first);
    });
    return std::move(rules_);
  }

 private:
  static Candidates merged(const Candidates& a, const Candidates& b) {
    if (a.empty()) return b;
    if (b.empty()) return a;
    Candidates result;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result));
    if (result.empty()) std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result));
    return result;
  }

  void choose(std::size_t node, std::uint32_t inherited, std::uint32_t bits_free) {
    const Candidates& mine = candidates_[node];
    if (!mine.empty() && !std::binary_search(mine.begin(), mine.end(), inherited)) {
      inherited = mine.front();
      const std::size_t first = (node << bits_free) - leaves_;
      rules_.push_back({static_cast<std::uint32_t>(first), bits_free, inherited});
    }
    if (node >= leaves_) return;
    choose(2 * node, inherited, bits_free - 1);
    choose(2 * node + 1, inherited, bits_free - 1);
  }

  std::size_t leaves_;
  std::vector<Candidates> candidates_;
  std::vector<PrefixRule> rules_;
};

}  // namespace

std::vector<PrefixRule> aggregate(const std::vector<std::uint32_t>& values) { return Trie(values).rules(); }

}  // namespace rocelab
