#include "ovs_patches/netdev/frame_bank.h"

#include <algorithm>

#include "base/check.h"
#include "base/packet.h"

namespace rocelab {

FrameBank::FrameBank(const lockstep::Segment& segment) : segment_(segment) {
  const auto vfs = static_cast<std::uint32_t>(segment.vfs().size());
  RL_CHECK(vfs < kNetwork);
  const std::uint32_t per_range = segment.header().frames_per_vf;
  holder_.assign(std::size_t{vfs + 1} * per_range, kHome);
  shim_.assign(holder_.size(), 0);
  away_.assign(vfs + 1, 0);
  abandoned_.assign(vfs, false);
  for (std::uint32_t vf = 0; vf < vfs; ++vf) refill_.push_back(segment.refill(vf));
  for (std::uint32_t i = per_range; i-- > 0;) own_free_.push_back(segment.first_frame(vfs) + i);
}

bool FrameBank::take(std::uint32_t vf, std::uint32_t frame) {
  if (!segment_.valid_frame(frame) || segment_.owner_of(frame) != vf || holder_[frame] != kHome) return false;
  holder_[frame] = kNetwork;
  shim_[frame] = 0;
  ++away_[vf];
  return true;
}

void FrameBank::lend(std::uint32_t vf, std::uint32_t frame) {
  RL_CHECK(holder_[frame] == kNetwork);
  holder_[frame] = static_cast<std::uint16_t>(vf);
}

bool FrameBank::give_back(std::uint32_t vf, std::uint32_t frame) {
  if (!segment_.valid_frame(frame) || holder_[frame] != vf) return false;
  go_home(frame);
  return true;
}

std::uint32_t FrameBank::make() {
  if (own_free_.empty()) return kNoFrame;
  const std::uint32_t frame = own_free_.back();
  own_free_.pop_back();
  holder_[frame] = kNetwork;
  shim_[frame] = 0;
  ++away_.back();
  return frame;
}

void FrameBank::release(std::uint32_t frame) {
  RL_CHECK(holder_[frame] == kNetwork);
  go_home(frame);
}

std::uint32_t FrameBank::share(std::uint32_t frame) {
  const std::uint32_t copy = make();
  if (copy == kNoFrame) return kNoFrame;
  std::ranges::copy(segment_.frame(frame), segment_.frame(copy).begin());
  shim_[copy] = shim_[frame];
  return copy;
}

void FrameBank::go_home(std::uint32_t frame) {
  const std::uint32_t range = segment_.owner_of(frame);
  holder_[frame] = kHome;
  --away_[range];
  if (range == refill_.size()) {
    own_free_.push_back(frame);
  } else if (!abandoned_[range] && !refill_[range].push(frame)) {
    ++lost_refills_;  // the ring holds every frame of its VF: only a VF that tampers with it can fill it
  }
}

void FrameBank::abandon(std::uint32_t vf) {
  abandoned_[vf] = true;
  for (std::uint32_t frame = 0; frame < holder_.size(); ++frame)
    if (holder_[frame] == vf) go_home(frame);
}

void FrameBank::reopen(std::uint32_t vf) {
  RL_CHECK(away_[vf] == 0);
  abandoned_[vf] = false;
  refill_[vf] = segment_.refill(vf);
}

}  // namespace rocelab
