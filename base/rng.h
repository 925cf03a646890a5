// Rng: the project's only source of randomness, equal on every library and machine (std distributions are
// not). xoshiro256** by Blackman and Vigna, seeded through splitmix64; streams are forked by name, so that
// one component's draws never shift another's.
#pragma once

#include <cstdint>
#include <string_view>

namespace rocelab {

class Rng {
 public:
  explicit Rng(std::uint64_t seed);
  // An independent stream for the component called `name` (for example "sw1/p3"); does not advance this one.
  Rng fork(std::string_view name) const;
  std::uint64_t next();                      // uniform over all 64-bit values
  std::uint64_t below(std::uint64_t bound);  // uniform over [0, bound), bound > 0; unbiased
  double uniform();                          // uniform over [0, 1), 53 bits
  bool bernoulli(double probability);        // true with `probability`; 0 and 1 are exact

 private:
  std::uint64_t seed_;
  std::uint64_t state_[4];
};

}  // namespace rocelab
