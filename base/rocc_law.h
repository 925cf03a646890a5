// RoccLaw: RoCC's algorithm 1, queue length -> fair rate, once per T. Source: Menikkumbura, chapter 3,
// algorithm 1, line by line (the F > F_max/8 gate of both decreases included); parameters: 3.5, "System
// parameters". It runs in the switch (ovs_patches/switch_model/rocc_cp.h) or at the host
// (irn_provider/cc/rocc_host.h, Menikkumbura, 3.3.6): the same law. No clock, packet or queue here.
// Arithmetic is fixed point, as the authors' model and hardware have it: queue lengths in whole Delta^Q, F in
// Delta^F with kFractionBits behind the point. Departures and open questions: DEVIATIONS.md#rocc.
#pragma once

#include <cstdint>
#include <optional>

#include "base/units.h"

namespace rocelab {

struct RoccParams {         // defaults: the paper's set for 40 Gb/s links
  Duration period = 40_us;  // T
  Bytes q_ref = 150_KB;     // Q_ref: length at which the PI law rests
  Bytes q_mid = 300_KB;     // Q_mid: growth in one T that halves the rate
  Bytes q_max = 360_KB;     // Q_max: length that forces F_min
  Rate f_min = 100_Mbps;    // F_min: 10 Delta^F on every link
  Rate f_max = 40_Gbps;     // F_max: the link's rate
  Bytes delta_q = 600_B;    // Delta^Q: queue unit
  Rate delta_f = 10_Mbps;   // Delta^F: rate unit
  double alpha = 0.3;       // alpha~: gain on the distance to Q_ref, in Delta^F per Delta^Q
  double beta = 1.5;        // beta~: gain on the growth
  // F before the first T; none: F_max.
  std::optional<Rate> f_first{};
};

// The set for a link: 3.5 gives 40 and 100 Gb/s, and 3.5.2 the thresholds of a 10 Gb/s testbed, whose gains
// are those of 40 Gb/s: the loop's gain depends on them and on the number of flows, not on the link (RoCC
// journal, V.A). Links between take the set of the next faster one, F_max is always the link's rate.
RoccParams rocc_params_for(Rate link);

// The parameters as the law reckons with them.
struct RoccValues {
  static constexpr int kFractionBits = 32;
  std::int64_t q_ref = 0, q_mid = 0, q_max = 0;  // Delta^Q
  std::int64_t f_min = 0, f_max = 0;             // Delta^F, kFractionBits
  std::int64_t alpha = 0, beta = 0;              // Delta^F per Delta^Q, kFractionBits
  friend bool operator==(const RoccValues&, const RoccValues&) = default;

  static constexpr std::int64_t whole(std::uint32_t units) { return std::int64_t{units} << kFractionBits; }
  // Those that a CNP can name (base/wire/rocc_cnp.h) and the law can work with: thresholds of 32 bits, rates
  // of whole Delta^F from one upwards, in order, and gains of kGainBits.
  static constexpr int kGainBits = 48;
  bool fit_cnp() const;
};
RoccValues rocc_values(const RoccParams& params);
std::int64_t rocc_first(const RoccParams& params);  // f_first or F_max, in Delta^F of kFractionBits

// What a congestion point says: the fair rate that it has computed, or what a host computes it from (3.3.6).
enum class RoccForm : std::uint8_t {
  kRate,    // 3.3.3: F
  kQueue,   // 3.3.6, (2): Q_cur and F; the host has the rest in its registry
  kValues,  // 3.3.6, (1): all values
};
inline constexpr std::uint8_t kRoccForms = 3;

// What the host's forms add to F. Untrusted where it comes from the wire.
struct RoccReport {
  RoccForm form = RoccForm::kRate;
  std::uint32_t period = 0;  // number of the T, modulo 2^32: tells a copy from news
  std::uint32_t q_cur = 0;   // Q_cur, Delta^Q
  RoccValues values{};       // kValues
  friend bool operator==(const RoccReport&, const RoccReport&) = default;
};

class RoccLaw {
 public:
  static constexpr int kFractionBits = RoccValues::kFractionBits;

  // Begins at F_max, or at `f` of as many fraction bits, with an empty queue.
  explicit RoccLaw(const RoccValues& values) : RoccLaw(values, values.f_max) {}
  RoccLaw(const RoccValues& values, std::int64_t f) : values_(values), f_(f) {}

  // Once per T, the queue in whole Delta^Q.
  void update(std::int64_t q_cur);

  // F in Delta^F, rounded, as a CNP has it; F itself keeps its fraction.
  std::uint32_t units() const { return static_cast<std::uint32_t>((f_ + kHalf) >> kFractionBits); }
  // Nobody is held back: F is at its upper bound.
  bool unlimited() const { return f_ == values_.f_max; }
  const RoccValues& values() const { return values_; }

 private:
  static constexpr std::int64_t kHalf = std::int64_t{1} << (kFractionBits - 1);
  std::int64_t ratio() const;  // AUTO_TUNE: 1, 2 ... 32: gentler at a smaller fair rate

  RoccValues values_;
  std::int64_t q_old_ = 0;
  std::int64_t f_;  // F
};

}  // namespace rocelab
