// What a table row says about a list of samples.
#pragma once

#include <cstdint>
#include <vector>

namespace rocelab::app {

struct Spread {
  double min = 0, median = 0, max = 0, mean = 0;
};

// Of at least one sample. The median of an even number is the mean of the middle two, as perftest's is.
Spread spread_of(std::vector<std::int64_t> samples);

// `bytes` in `ns`, in Gb/s of payload (10^9 bits).
double gbps(std::uint64_t bytes, std::int64_t ns);

}  // namespace rocelab::app
