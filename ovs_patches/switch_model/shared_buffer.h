// SharedBuffer: who may still store a frame. It knows bytes, not frames: every frame is charged once to its
// (ingress port, class), however many outputs it has, and given back when its last copy has left.
//  - Lossless class: up to xoff (the reserve), then up to its share of the pool, then into headroom; a frame
//    that exceeds headroom is refused. Headroom in use means XOFF. On the way down headroom empties first;
//    XON is (xoff - xon) below the level where headroom begins.
//  - Lossy class: refused by its egress queue's length (static, or alpha * free pool; with alpha 0 the pool
//    is the lossless classes' own), or with input_buffered by what lossy frames of its input port hold.
// The pool follows Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet switches"
// (1998); without one all thresholds are static.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "ovs_patches/switch_model/headroom.h"
#include "ovs_patches/switch_model/switch_config.h"

namespace rocelab {

class SharedBuffer {
 public:
  SharedBuffer(const SwitchConfig& config, std::span<const PortConfig> ports);

  // Charge a frame, or refuse it and change nothing.
  bool admit_lossless(PortId in, Tc tc, Bytes frame) {
    Ingress& at = ingress_of(in, tc);
    if (in_reserve(at, at.held + frame)) {  // mostly
      at.hold(frame);
      return true;
    }
    const Bytes over = over_threshold(at, frame);
    if (at.in_headroom + over > at.limits.headroom) return false;
    charge(at, frame, over);
    return true;
  }
  // A frame that has its place already (Escape's tokens reserve them): never refused.
  void charge_reserved(PortId in, Tc tc, Bytes frame) {
    Ingress& at = ingress_of(in, tc);
    charge(at, frame, over_threshold(at, frame));
  }
  // Lossy frames are asked for first, then charged once if at least one copy is queued.
  bool egress_takes(Bytes queue, Bytes frame) const {
    if (!lossy_in_pool_) return queue + frame <= egress_limit_;
    const Bytes free = pool_ - pool_used_;
    return frame <= free && queue + frame <= scaled(free, alpha_lossy_);
  }
  bool input_takes(PortId in, Bytes frame) const { return lossy_held_[in.value] + frame <= input_buffer_; }
  void charge_lossy(PortId in, Tc tc, Bytes frame) {
    ingress_of(in, tc).hold(frame);
    lossy_held_[in.value] += frame;
    if (lossy_in_pool_) pool_used_ += frame;
  }

  // A frame that leaves at the instant at which it came: charged and given back in one go, so that only the
  // peak changes. Lossless: false, and nothing has changed, if it would take more than the reserve. Lossy: it
  // has been asked for.
  bool pass_lossless(PortId in, Tc tc, Bytes frame) {
    Ingress& at = ingress_of(in, tc);
    if (!in_reserve(at, at.held + frame)) return false;
    at.hold_for_a_moment(frame);
    return true;
  }
  void pass_lossy(PortId in, Tc tc, Bytes frame) { ingress_of(in, tc).hold_for_a_moment(frame); }

  void release_lossless(PortId in, Tc tc, Bytes frame) {
    Ingress& at = ingress_of(in, tc);
    if (in_reserve(at, at.held)) {
      at.held -= frame;
      return;
    }
    const Bytes shared_before = shared_part(at);
    at.held -= frame;
    at.in_headroom -= std::min(at.in_headroom, frame);
    pool_used_ -= shared_before - shared_part(at);
  }
  void release_lossy(PortId in, Tc tc, Bytes frame) {
    ingress_of(in, tc).held -= frame;
    lossy_held_[in.value] -= frame;
    if (lossy_in_pool_) pool_used_ -= frame;
  }

  bool above_xoff(PortId in, Tc tc) const { return ingress_of(in, tc).in_headroom > 0_B; }
  // An empty class may always go on, also when the pool is so full that its threshold is below the XON
  // distance.
  bool below_xon(PortId in, Tc tc) const {
    const Ingress& at = ingress_of(in, tc);
    return at.in_headroom == 0_B &&
           level(at) <= std::max(0_B, threshold(at) - (at.limits.xoff - at.limits.xon));
  }

  Bytes held(PortId in, Tc tc) const { return ingress_of(in, tc).held; }
  Bytes peak(PortId in, Tc tc) const { return ingress_of(in, tc).peak; }  // of held(), so far
  Bytes pool_used() const { return pool_used_; }
  const PfcThresholds& thresholds(PortId in) const { return ingress_of(in, Tc{0}).limits; }

 private:
  struct Ingress {
    Bytes held;         // all bytes of the class that came in at the port and wait
    Bytes in_headroom;  // of these: admitted above the threshold of their time
    Bytes peak;         // of held
    PfcThresholds limits;
    void hold(Bytes frame) {
      held += frame;
      peak = std::max(peak, held);
    }
    void hold_for_a_moment(Bytes frame) { peak = std::max(peak, held + frame); }
  };
  static Bytes scaled(Bytes free, double alpha) {
    return Bytes::from_count(static_cast<std::int64_t>(static_cast<double>(free.count()) * alpha));
  }
  // `held` bytes would take neither of the pool nor of the headroom.
  static bool in_reserve(const Ingress& at, Bytes held) {
    return at.in_headroom == 0_B && held <= at.limits.xoff;
  }
  static Bytes level(const Ingress& at) { return at.held - at.in_headroom; }
  Bytes shared_part(const Ingress& at) const {
    return pool_ == 0_B ? 0_B : std::max(0_B, level(at) - at.limits.xoff);
  }
  // Where headroom begins: the reserve and what the pool gives. A share is bounded by alpha, and by what is
  // left in the pool.
  Bytes threshold(const Ingress& at) const {
    if (pool_ == 0_B) return at.limits.xoff;
    const Bytes free = pool_ - pool_used_;
    return at.limits.xoff + std::min(scaled(free, alpha_lossless_), shared_part(at) + free);
  }
  // The part of a frame that would lie in headroom.
  Bytes over_threshold(const Ingress& at, Bytes frame) const {
    return frame - std::clamp(threshold(at) - level(at), 0_B, frame);
  }
  void charge(Ingress& at, Bytes frame, Bytes over) {
    const Bytes shared_before = shared_part(at);
    at.hold(frame);
    at.in_headroom += over;
    pool_used_ += shared_part(at) - shared_before;
  }
  Ingress& ingress_of(PortId in, Tc tc) { return ingress_[in.value * kTrafficClasses + tc.value]; }
  const Ingress& ingress_of(PortId in, Tc tc) const {
    return ingress_[in.value * kTrafficClasses + tc.value];
  }

  std::vector<Ingress> ingress_;   // port * 8 + class
  std::vector<Bytes> lossy_held_;  // per ingress port
  Bytes egress_limit_, input_buffer_, pool_;
  double alpha_lossless_, alpha_lossy_;
  bool lossy_in_pool_;
  Bytes pool_used_;
};

}  // namespace rocelab
