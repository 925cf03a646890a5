#include "ovs_patches/switch_model/headroom.h"

#include <algorithm>

#include "base/wire/pfc.h"

namespace rocelab {

Bytes headroom_for(const PortConfig& link, Bytes max_frame, Duration response_time) {
  const Bytes pfc_frame = Bytes::from_count(PfcFrame::kSize);
  const Duration frame_time = wire_time(max_frame, link.rate);
  const Duration window =
      2 * link.delay + frame_time + wire_time(pfc_frame, link.rate) + response_time - 2_ps;  // X
  const std::int64_t passed = bytes_in(window, link.rate).count();                           // B
  const std::int64_t on_wire = wire_bytes(max_frame).count();
  const std::int64_t overhead = wire_bytes(0_B).count();
  const Bytes between = max_frame * (passed / on_wire) +
                        Bytes::from_count(std::max<std::int64_t>(0, passed % on_wire - overhead));
  return max_frame + between + max_frame;
}

Duration response_time_of(const SwitchConfig& config, const PortConfig& link) {
  return config.pfc.response_time == kOneMaxFrame ? wire_time(config.max_frame, link.rate)
                                                  : config.pfc.response_time;
}

PfcThresholds thresholds_for(const SwitchConfig& config, const PortConfig& link) {
  const PfcConfig& pfc = config.pfc;
  PfcThresholds t;
  if (pfc.headroom != kComputed) {
    t.headroom = pfc.headroom;
  } else if (pfc.xoff != kComputed) {
    t.headroom = config.ingress_buffer - pfc.xoff;
  } else {
    t.headroom = headroom_for(link, config.max_frame, response_time_of(config, link));
    for (const MechanismType& type : mechanism_types())
      t.headroom += type.headroom(config.mechanisms.of(type), config, link);
  }
  t.xoff = pfc.xoff != kComputed ? pfc.xoff : config.ingress_buffer - t.headroom;
  t.xon = pfc.xon != kComputed ? pfc.xon : t.xoff - config.max_frame * pfc.xon_frames;
  return t;
}

Bytes least_ingress_buffer(const SwitchConfig& config, const PortConfig& link) {
  const PfcConfig& pfc = config.pfc;
  if (pfc.xoff != kComputed) return pfc.xoff + (pfc.headroom != kComputed ? pfc.headroom : 0_B);
  const Bytes least_xoff = pfc.xon != kComputed ? pfc.xon : config.max_frame * pfc.xon_frames;
  return thresholds_for(config, link).headroom + least_xoff;
}

}  // namespace rocelab
