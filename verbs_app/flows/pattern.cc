#include "verbs_app/flows/pattern.h"

#include <algorithm>
#include <cstring>

namespace rocelab::app {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);

// splitmix64's finalizer: neighbouring words have nothing in common.
std::uint64_t word_at(std::uint32_t flow, std::uint64_t index) {
  std::uint64_t x = (std::uint64_t{flow} << 40) + index + 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

void fill_pattern(std::uint32_t flow, std::span<std::byte> data) {
  for (std::size_t at = 0; at < data.size(); at += kWord) {
    const std::uint64_t word = word_at(flow, at / kWord);
    std::memcpy(data.data() + at, &word, std::min(kWord, data.size() - at));
  }
}

std::optional<std::uint64_t> find_mismatch(std::uint32_t flow, std::span<const std::byte> data,
                                           std::uint64_t from) {
  for (std::size_t at = 0; at < data.size();) {
    const std::uint64_t word = word_at(flow, (from + at) / kWord);
    std::byte want[kWord];
    std::memcpy(want, &word, kWord);
    const std::size_t skip = (from + at) % kWord, n = std::min(kWord - skip, data.size() - at);
    const std::byte* const begin = want + skip;
    if (std::memcmp(data.data() + at, begin, n) != 0)
      return from + at +
             static_cast<std::size_t>(std::mismatch(begin, begin + n, data.data() + at).first - begin);
    at += n;
  }
  return std::nullopt;
}

}  // namespace rocelab::app
