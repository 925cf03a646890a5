// CcConfig: which congestion control a NIC runs, with the parameters of all of them. Plain data: part of
// NicConfig, which travels in the live engine's shared segment.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>

#include "irn_provider/cc/dcqcn_rp.h"

namespace rocelab {

enum class CcKind : std::uint8_t { kNone, kDcqcn };
inline constexpr std::array<std::string_view, 2> kCcNames{"none", "dcqcn"};

struct CcConfig {
  CcKind kind = CcKind::kNone;
  DcqcnParams dcqcn;

  bool needs_ecn() const { return kind == CcKind::kDcqcn; }
  // Bytes that are paced as one burst and timed as one RTT sample; 0: packets one by one, without RTTs.
  Bytes segment() const { return {}; }
  Rate burst_rate() const { return {}; }  // inside a segment; 0: line rate
  bool lazy_rate() const { return false; }
  bool reads_at_requester() const { return false; }
};
static_assert(std::is_trivially_copyable_v<CcConfig>);

}  // namespace rocelab
