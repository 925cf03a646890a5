// CcLimiter: whose limiter an algorithm is. A parameter of those that hear of nothing but rates, whichever
// queue pair sends: `CcLimiter limiter` in their Params.
#pragma once

#include <cstdint>
#include <string_view>

namespace rocelab {

enum class CcLimiter : std::uint8_t {
  kConnection,  // of a queue pair
  kHosts,       // of all queue pairs of a NIC to one host
};
inline constexpr std::string_view kLimiterNames[] = {"connection", "hosts"};

class CcConfig;
// All QPs of a NIC to one host have one CcFlow. False for algorithms without the parameter.
bool shares_limiter(const CcConfig& config);

}  // namespace rocelab
