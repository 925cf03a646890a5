#include "ovs_patches/openqueue/explain_names.h"

#include <algorithm>
#include <cstdint>

#include "base/ids.h"

namespace rocelab::oq {
namespace {

// A name apart: "port[3].q[0]" is "port[#].q[#]" and 3, 0.
struct Pattern {
  std::string text;
  std::vector<std::int64_t> numbers;
};

Pattern pattern_of(const std::string& name) {
  Pattern made;
  for (std::size_t i = 0; i < name.size(); ++i) {
    made.text += name[i];
    if (name[i] != '[') continue;
    const std::size_t end = name.find(']', i);
    made.numbers.push_back(std::stoll(name.substr(i + 1, end - i - 1)));
    made.text += "#";
    i = end - 1;
  }
  return made;
}

std::string with_numbers(const std::string& pattern, const std::vector<std::string>& numbers) {
  std::string text;
  std::size_t next = 0;
  for (const char c : pattern) text += c == '#' ? numbers[next++] : std::string(1, c);
  return text;
}

// "0..2, 4..7"
std::string runs(const std::set<std::int64_t>& numbers) {
  std::string text;
  for (auto at = numbers.begin(); at != numbers.end();) {
    const std::int64_t from = *at;
    std::int64_t to = from;
    for (++at; at != numbers.end() && *at == to + 1; ++at) to = *at;
    text += (text.empty() ? "" : ", ") + std::to_string(from) + (to > from ? ".." + std::to_string(to) : "");
  }
  return text;
}

std::string classes(TcMask mask) {
  std::set<std::int64_t> all;
  for (int tc = 0; tc < kTrafficClasses; ++tc)
    if ((mask >> tc) & 1) all.insert(tc);
  return (all.size() == 1 ? "class " : "classes ") + runs(all);
}

}  // namespace

std::string names_of(const std::vector<std::string>& names) {
  std::map<std::string, std::vector<std::vector<std::int64_t>>> patterns;
  std::vector<std::string> order;
  for (const std::string& name : names) {
    const Pattern pattern = pattern_of(name);
    auto& all = patterns[pattern.text];
    if (all.empty()) order.push_back(pattern.text);
    all.push_back(pattern.numbers);
  }
  std::string text;
  for (const std::string& pattern : order) {
    const auto& all = patterns[pattern];
    std::vector<std::string> ranges;
    std::size_t grid = 1;
    for (std::size_t d = 0; d < all.front().size(); ++d) {
      std::set<std::int64_t> values;
      for (const auto& one : all) values.insert(one[d]);
      grid *= values.size();
      ranges.push_back(runs(values));
    }
    if (!text.empty()) text += ", ";
    if (grid == all.size()) {
      text += with_numbers(pattern, ranges);
      continue;
    }
    constexpr std::size_t kShown = 6;
    for (std::size_t i = 0; i < std::min(kShown, all.size()); ++i) {
      std::vector<std::string> numbers;
      for (const std::int64_t number : all[i]) numbers.push_back(std::to_string(number));
      text += (i > 0 ? ", " : "") + with_numbers(pattern, numbers);
    }
    if (all.size() > kShown) text += " and " + std::to_string(all.size() - kShown) + " more";
  }
  return text;
}

std::string Groups::text() const {
  std::string all;
  for (const std::string& text : order_) {
    const Group& group = groups_.at(text);
    all += names_of(group.names) + " " + received(group.takes) + text + "\n";
  }
  return all;
}

std::string Groups::received(const std::set<TcMask>& takes) {
  if (takes.empty()) return "";
  if (takes.size() == 1)
    return *takes.begin() == 0 ? "receives no frame" : "receives " + classes(*takes.begin());
  TcMask any = 0;
  bool single = true;
  for (const TcMask one : takes) {
    single &= (any & one) == 0 && (one & (one - 1)) == 0;
    any |= one;
  }
  return (single ? "receives one class each, of " : "receives some each of ") + classes(any);
}

}  // namespace rocelab::oq
