// FrameBank: where every frame of the segment is. A frame is at home (its owner may fill it), in the network
// (this process holds it), or lent to a VF that received it. It has one holder at a time: a frame with
// several outputs is copied, so that a mark or a flipped bit on one branch does not show on the others.
// Owners are VFs; the last range belongs to the switch process, for PFC frames and copies. Indices come from
// other processes: nonsense is refused, not believed.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "lockstep/segment.h"
#include "ovs_patches/switch_model/switch.h"

namespace rocelab {

class FrameBank final : public FrameOwner {
 public:
  explicit FrameBank(const lockstep::Segment& segment);  // the segment outlives it

  // The VF sends one of its frames. False: not its own, or not at home.
  bool take(std::uint32_t vf, std::uint32_t frame);
  void lend(std::uint32_t vf, std::uint32_t frame);  // pushed into the VF's rx ring
  bool give_back(std::uint32_t vf,
                 std::uint32_t frame);  // popped from its returns ring. False: it did not hold it
  std::uint32_t make();                 // a frame of the switch process; kNoFrame: all are in use

  // FrameOwner: a frame in the network goes home, or is copied.
  void release(std::uint32_t frame) override;
  std::uint32_t share(std::uint32_t frame) override;

  // How many bytes of a frame in the network are the shim that switches have put there (0 when it comes from
  // its sender or is made; a copy has its original's). Sets them, and returns what they were.
  std::uint32_t set_shim(std::uint32_t frame, std::uint32_t bytes) {
    return std::exchange(shim_[frame], static_cast<std::uint16_t>(bytes));
  }

  // The VF's process has ended: what it was lent goes home, and nothing is sent to its refill ring any more.
  void abandon(std::uint32_t vf);
  // Another process may have the VF; its rings are new.
  void reopen(std::uint32_t vf);
  std::uint32_t away(std::uint32_t range) const {
    return away_[range];
  }  // frames of this range that are not at home
  std::uint64_t lost_refills() const { return lost_refills_; }

 private:
  static constexpr std::uint16_t kHome = 0xffff, kNetwork = 0xfffe;
  void go_home(std::uint32_t frame);

  const lockstep::Segment& segment_;
  std::vector<std::uint16_t> holder_;        // per frame: kHome, kNetwork or a VF
  std::vector<std::uint16_t> shim_;          // per frame
  std::vector<lockstep::IndexRing> refill_;  // per VF
  std::vector<bool> abandoned_;              // per VF
  std::vector<std::uint32_t> away_;          // per range
  std::vector<std::uint32_t> own_free_;      // LIFO
  std::uint64_t lost_refills_ = 0;
};

}  // namespace rocelab
