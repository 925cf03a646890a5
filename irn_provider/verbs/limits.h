// What the device offers, in one place: device.cc and context.cc report these numbers, and the calls enforce
// them. Limits that a scenario sets (QPs, CQs, MRs, MTU) are in NicConfig.
#pragma once

#include <cstdint>

#include "irn_provider/transport/verbs_types.h"

namespace rocelab::verbs {

inline constexpr std::uint32_t kMaxQpWr = 16'384;
inline constexpr std::uint32_t kMaxCqe = 1u << 22;
inline constexpr std::uint32_t kMaxSrqWr = 1u << 20;
inline constexpr std::uint64_t kHcaClockKhz = 1'000'000;  // the device's clock: 1 ns of experiment time
inline constexpr std::uint32_t kMaxInline = 1'024;        // bytes
inline constexpr std::uint8_t kMaxRdAtomic = 16;          // READs in flight per QP, either way
inline constexpr std::uint64_t kMaxMrBytes = std::uint64_t{1} << 40;
inline constexpr int kPorts = 1, kPkeys = 1;
inline constexpr std::uint16_t kPkey = 0xffff;  // full member of the default partition
inline constexpr int kCompVectors = 1;
inline constexpr std::uint32_t kMaxPsn = 0xffffff, kMaxQpn = 0xffffff, kMaxSrqn = 0xffffff;
inline constexpr std::uint8_t kMaxTimeoutCode = 31, kMaxRetry = 7, kMaxRnrTimerCode = 31;

}  // namespace rocelab::verbs
