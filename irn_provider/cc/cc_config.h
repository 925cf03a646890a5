// CcConfig: which congestion control a NIC runs, with its parameters. Plain data: part of NicConfig, which
// travels in the live engine's shared segment. It knows no algorithm: it holds the parameters of whichever
// was chosen, in storage of a fixed size, so that neither the layout of the segment nor the sources that
// include this file depend on the list of algorithms (algorithms.h). What an algorithm does with them:
// cc_algorithm.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>
#include <type_traits>

#include "irn_provider/cc/cc_needs.h"

namespace rocelab {

// An algorithm's mark in a CcConfig, from its name: processes of one run agree on it. 0: none.
constexpr std::uint32_t cc_tag(std::string_view name) {
  std::uint32_t hash = 2'166'136'261;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16'777'619;
  return hash;
}

class CcConfig {
 public:
  static constexpr std::size_t kCapacity = 384;  // bytes of the largest parameters

  // RTTs are taken of so much data at a time, also for an algorithm that needs none; 0: not.
  Bytes rtt_segment;

  bool trace_rates = false;  // a record of each rate that the algorithm sets

  // Chooses the algorithm A with its default parameters, which it returns.
  template <class A>
  typename A::Params& use() {
    using Params = typename A::Params;
    static_assert(std::is_trivially_copyable_v<Params>, "parameters lie in shared memory");
    static_assert(sizeof(Params) <= kCapacity && alignof(Params) <= alignof(std::max_align_t));
    tag_ = cc_tag(A::kName);
    needs_ = A::kNeeds;
    return *new (params_.data()) Params{};
  }
  void use_none() { tag_ = 0, needs_ = {}; }

  // Null: another algorithm is chosen, or none.
  template <class A>
  typename A::Params* get() {
    return tag_ == cc_tag(A::kName) ? std::launder(reinterpret_cast<typename A::Params*>(params_.data()))
                                    : nullptr;
  }
  template <class A>
  const typename A::Params* get() const {
    return tag_ == cc_tag(A::kName)
               ? std::launder(reinterpret_cast<const typename A::Params*>(params_.data()))
               : nullptr;
  }

  bool chosen() const { return tag_ != 0; }  // an algorithm controls the QPs
  std::uint32_t tag() const { return tag_; }
  const CcNeeds& needs() const { return needs_; }
  CcBurst burst() const;
  Duration cnp_interval() const;  // where needs().cnps
  // Data that is timed as one RTT sample; 0: no RTTs are taken.
  Bytes timed_segment() const;
  // Whether QPs have a CcFlow.
  bool in_use() const { return chosen() || rtt_segment > Bytes{}; }

 private:
  std::uint32_t tag_ = 0;
  CcNeeds needs_;
  alignas(std::max_align_t) std::array<std::byte, kCapacity> params_{};
};
static_assert(std::is_trivially_copyable_v<CcConfig>);

}  // namespace rocelab
