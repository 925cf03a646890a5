// RoccRp: RoCC's reaction point (RP): the rate limiter of one flow.
// Source: Menikkumbura, chapter 3, algorithm 2: a CNP is accepted if it names no more than the present rate,
// or comes from the congestion point of the last accepted one; without CNPs the rate doubles at every timer,
// and beyond R_max the limiter is removed. A CNP takes effect one reaction delay after its arrival (3.5: "NIC
// (RP) reaction delay for feedback messages"). Where the host computes (3.3.6), the law runs when the CNP
// arrives and its rate takes effect as a received one would. What cannot be right is refused:
// DEVIATIONS.md#rocc.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/ring.h"
#include "base/schema.h"
#include "irn_provider/cc/cc_needs.h"
#include "irn_provider/cc/congestion_control.h"
#include "irn_provider/cc/rocc_host.h"

namespace rocelab {

// What a CNP says to a flow (base/wire/rocc_cnp.h).
struct SwitchRate {
  std::uint32_t cp = 0;    // the congestion point's address, IPv4 in host order
  std::uint32_t rate = 0;  // in multiples of Delta^F
  RoccReport report{};
};

struct RoccRpParams {
  Rate delta_f = 10_Mbps;           // Delta^F: unit of the rates in CNPs; 3.5
  Duration reaction_delay = 15_us;  // 3.5
  Duration recovery_timer = 80_us;  // of fast recovery; open in the paper: two periods T
  Rate max_feedback = 1000_Gbps;    // F_max of the network's fastest link: no congestion point names more
  RoccForm form = RoccForm::kRate;  // what the network's CNPs say; another form is refused
  RoccRegistry registry{};          // for kQueue
};

class RoccRp final : public CongestionControl {
 public:
  using Params = RoccRpParams;
  static constexpr std::string_view kName = "rocc";
  static constexpr CcNeeds kNeeds{.feedback = true};
  static std::span<const CcPresetOf<Params>> presets();
  static Schema<Params> schema();

  RoccRp(const RoccRpParams& params, const CcContext& context) : params_(params), r_max_(context.line_rate) {
    start(Time::zero());
  }
  static void complete(Params& params, const CcNetwork& network) {
    params.max_feedback = network.fastest_link;
  }

  void start(Time now) override;
  FeedbackResult on_feedback(const Packet& feedback, Time now) override;
  Rate rate(Time now) override;
  Time next_change() const override;

  // The fair rate that a CNP makes. Null: refused, it cannot be right.
  std::optional<Rate> on_switch_rate(const SwitchRate& feedback, Time now);

  // For tests and traces.
  bool limited() const { return !timer_at_.is_never(); }  // a limiter is installed
  std::uint32_t cp() const { return cp_; }                // CP_cur; 0: none

 private:
  struct Pending {
    Time at;
    std::uint32_t cp, rate;
  };
  void catch_up(Time now);
  const RoccValues* values_of(const SwitchRate& feedback) const;
  void process_cnp(std::uint32_t cp, std::uint32_t rate, Time at);
  void timer_expired();

  RoccRpParams params_;
  Rate r_max_;                     // R_max: the link's rate
  Rate r_cur_;                     // R_cur
  std::uint32_t cp_ = 0;           // CP_cur
  Time timer_at_ = Time::never();  // never: no limiter
  Ring<Pending> pending_;          // CNPs that wait out the reaction delay
  RoccHost host_;                  // where the host computes
};

}  // namespace rocelab
