#include "irn_provider/cc/cc_presets.h"

namespace rocelab {
namespace {

constexpr CcMarking kDcqcnPaperMarking{5_KB, 200_KB, 0.01};

CcConfig config_of(CcKind kind) {
  CcConfig config;
  config.kind = kind;
  return config;
}

CcPreset dcqcn_paper() {
  return {"paper", "Zhu et al., SIGCOMM 2015, section 5 (used by Mittal, 4.3.1)", config_of(CcKind::kDcqcn),
          kDcqcnPaperMarking};
}

// Mittal, 4.3.1: "DCQCN as implemented in the ConnectX-4" with the parameters of SIGCOMM 2015: the
// adapter's law with the paper's values.
CcPreset dcqcn_irn_paper() {
  CcPreset preset{"irn-paper", "Mittal, 4.3.1: the adapter's law with the values of SIGCOMM 2015",
                  dcqcn_paper().config, kDcqcnPaperMarking};
  preset.config.dcqcn.periodic = true;
  preset.config.dcqcn.clamp_target = false;
  return preset;
}

// Defaults of the adapter; the switch is as the paper's.
CcPreset dcqcn_connectx() {
  CcPreset preset{"connectx", "NVIDIA, DCQCN parameters of ConnectX-4 and later, defaults",
                  dcqcn_paper().config, kDcqcnPaperMarking};
  DcqcnParams& p = preset.config.dcqcn;
  p.periodic = true;
  p.clamp_target = false;                       // clamp_tgt_rate
  p.g = 5.0 / 1024;                             // dce_tcp_g 1019
  p.alpha_interval = 1_us;                      // dce_tcp_rtt
  p.rate_timer = 300_us;                        // rpg_time_reset
  p.byte_counter = 32'767_B;                    // rpg_byte_reset
  p.fast_recovery = 1;                          // rpg_threshold
  p.rate_ai = 5_Mbps, p.rate_hai = 50_Mbps;     // rpg_ai_rate, rpg_hai_rate
  p.decrease_interval = p.cnp_interval = 4_us;  // rate_reduce_monitor_period, min_time_between_cnps
  return preset;
}

// The public ns-3 model as its run script sets it at 100 Gb/s.
CcPreset dcqcn_conweave() {
  CcPreset preset{
      "conweave-ns3", "conweave-ns3 run.py, 100 Gb/s", dcqcn_paper().config, {100_KB, 400_KB, 0.2}};
  DcqcnParams& p = preset.config.dcqcn;
  p.periodic = true;
  p.clamp_target = false;   // CLAMP_TARGET_RATE
  p.alpha_interval = 1_us;  // ALPHA_RESUME_INTERVAL
  p.rate_timer = 300_us;    // RP_TIMER
  p.byte_counter = 0_B;
  p.fast_recovery = 1;                          // FAST_RECOVERY_TIMES
  p.rate_ai = 40_Mbps, p.rate_hai = 100_Mbps;   // RATE_AI, RATE_HAI: 10 and 25 Mb/s per 25 Gb/s
  p.min_rate = 100_Mbps;                        // MIN_RATE
  p.decrease_interval = p.cnp_interval = 4_us;  // RATE_DECREASE_INTERVAL; every ACK carries the mark there
  return preset;
}

CcPreset timely_paper() {
  return {"paper", "Mittal, 3.5; weight and minRTT: timely.h", config_of(CcKind::kTimely), {}};
}

CcPreset timely_64kb() {
  CcPreset preset{
      "paper-64KB", "Mittal, figure 3.13: the T_low that 64 KB segments need", timely_paper().config, {}};
  preset.config.timely.segment = 64_KB;
  preset.config.timely.t_low = 300_us;
  return preset;
}

CcPreset timely_packets() {
  CcPreset preset{
      "per-packet",
      "the authors' published code: values for per-packet pacing, delta 10 Mb/s per 10 Gb/s at 40 Gb/s",
      timely_paper().config,
      {}};
  TimelyParams& p = preset.config.timely;
  p.segment = 0_B;
  p.t_low = 0_us, p.t_high = 1_ms;
  p.delta = 40_Mbps;
  return preset;
}

CcPreset timely_conweave() {
  CcPreset preset{"conweave-ns3", "conweave-ns3 rdma-hw.cc and run.py, 100 Gb/s", timely_paper().config, {}};
  TimelyParams& p = preset.config.timely;
  p.segment = 0_B;
  p.alpha = 0.875;                           // TimelyAlpha
  p.delta = 40_Mbps, p.min_rate = 100_Mbps;  // RATE_AI, MIN_RATE
  return preset;
}

CcPreset aimd_rfc() {
  return {"rfc5681", "RFC 5681; begins with the BDP: Mittal, 4.3.1", config_of(CcKind::kAimd), {}};
}

// TCP as Mittal's own baseline (2.5: New Reno with SACK, initial window 4) sets it; 4.3.6 names no values.
CcPreset aimd_tcp() {
  CcPreset preset{
      "tcp", "RFC 5681; Mittal, chapter 2, baseline TCP: initial window 4", aimd_rfc().config, {}};
  preset.config.aimd.slow_start = true;
  preset.config.aimd.initial_window = 4;
  return preset;
}

// K = 65 packets of 1,500 bytes at 10 Gb/s.
CcPreset dctcp_paper() {
  return {"paper",
          "Alizadeh et al., SIGCOMM 2010, 3.4 and 4.1 (K for 10 Gb/s); Mittal, 3.5.1",
          config_of(CcKind::kDctcp),
          {97'500_B, 97'500_B, 1}};
}

// 3.4: K > C x RTT / 7; 40 Gb/s and the 24 us of the default fat-tree are 17.1 KB.
CcPreset dctcp_fat_tree() {
  return {"irn-fat-tree",
          "SIGCOMM 2010, 3.4: K > C RTT / 7 for 40 Gb/s and 24 us",
          config_of(CcKind::kDctcp),
          {18_KB, 18_KB, 1}};
}

// The names stand for the congestion points' values, which the runner has (emu/runner/rocc_reader.cc); the
// reaction points of all three are alike.
CcPreset rocc(std::string_view name, std::string_view source) {
  return {name, source, config_of(CcKind::kRocc), {}};
}

CcPreset hpcc_paper() {
  return {"paper",
          "Li et al., SIGCOMM 2019, 5.1: eta 95 %, maxStage 5, W_AI for 100 flows",
          config_of(CcKind::kHpcc),
          {}};
}

}  // namespace

std::vector<CcPreset> cc_presets(CcKind kind) {
  switch (kind) {
    case CcKind::kDcqcn:
      return {dcqcn_paper(), dcqcn_irn_paper(), dcqcn_connectx(), dcqcn_conweave()};
    case CcKind::kTimely:
      return {timely_paper(), timely_64kb(), timely_packets(), timely_conweave()};
    case CcKind::kAimd:
      return {aimd_rfc(), aimd_tcp()};
    case CcKind::kDctcp:
      return {dctcp_paper(), dctcp_fat_tree()};
    case CcKind::kRocc:
      return {rocc("paper", "Menikkumbura, 3.5, system parameters"),
              rocc("dpdk-testbed", "Menikkumbura, 3.5.2"), rocc("p4-testbed", "Menikkumbura, 3.5.3")};
    case CcKind::kHpcc:
      return {hpcc_paper()};
    case CcKind::kNone:
      break;
  }
  return {};
}

}  // namespace rocelab
