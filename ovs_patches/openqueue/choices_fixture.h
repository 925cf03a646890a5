// Choices that a test makes: drawn, or a fuzzer's bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/rng.h"

namespace rocelab::oq {

class Choices {
 public:
  explicit Choices(const Rng& rng) : rng_(rng) {}
  explicit Choices(std::span<const std::uint8_t> bytes) : rng_(0), bytes_(bytes), drawn_(false) {}

  // 0 to n - 1. Of bytes: 0 once they are used up.
  std::uint64_t below(std::uint64_t n) {
    if (drawn_) return rng_.below(n);
    std::uint64_t value = 0;
    for (std::uint64_t reach = 1; reach < n; reach *= 256) {
      value = value * 256 + (bytes_.empty() ? 0 : bytes_.front());
      if (!bytes_.empty()) bytes_ = bytes_.subspan(1);
    }
    return value % n;
  }
  bool used_up() const { return !drawn_ && bytes_.empty(); }

 private:
  Rng rng_;
  std::span<const std::uint8_t> bytes_;
  bool drawn_ = true;
};

}  // namespace rocelab::oq
