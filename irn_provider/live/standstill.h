// Standstill: has one process held experiment time for a second of wall time? Law only: no I/O.
#pragma once

#include <cstdint>
#include <optional>

#include "base/units.h"

namespace rocelab {

class Standstill {
 public:
  static constexpr std::int64_t kSayAfterNs = 1'000'000'000;

  // To be asked now and then. `holder`: who holds time at `at`; nullopt: nobody is known to. True, once and
  // never again: for a second it has been the same, and time has not moved.
  bool observe(std::optional<std::uint32_t> holder, Time at, std::int64_t wall_ns) {
    if (said_ || holder != holder_ || at != at_ || !holder) {
      holder_ = holder;
      at_ = at;
      since_ns_ = wall_ns;
      return false;
    }
    return said_ = wall_ns - since_ns_ >= kSayAfterNs;
  }

 private:
  std::optional<std::uint32_t> holder_;
  Time at_;
  std::int64_t since_ns_ = 0;
  bool said_ = false;
};

}  // namespace rocelab
