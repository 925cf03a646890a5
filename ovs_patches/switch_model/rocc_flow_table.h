// RoccFlowTable: which flows of a congestion point get its feedback. Source: Menikkumbura, 3.3.4: the paper
// leaves the table open, so that it is a strategy here: flows in the queue (its default, 1), age-bounded (2),
// ElephantTrap (4). The port by which a flow's last frame came is the way back to its source. No clock, no
// queue: both come in.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/ids.h"
#include "base/packet.h"
#include "base/rng.h"
#include "base/units.h"
#include "ovs_patches/switch_model/switch_flow.h"

namespace rocelab {

enum class RoccFlowTableKind : std::uint8_t { kQueue, kAge, kElephantTrap };

struct RoccFlowTableParams {
  RoccFlowTableKind kind = RoccFlowTableKind::kQueue;
  std::uint32_t entries = 0;   // kAge: 0 = F_max / F_min (3.3.4, 2). kElephantTrap: 0 = 64
  Duration max_age = 120_us;   // kAge: a flow leaves after so long without a frame; the paper gives none
  double sampling = 1.0 / 32;  // kElephantTrap: share of frames that are looked at
};

// A set of keys that is emptied often: open addressing, a stamp per slot.
class RoccFlowSet {
 public:
  void clear();
  // False: it is there already, which it mostly is, and mostly where it is looked for first.
  bool insert(std::uint64_t key) {
    const Slot& first = slots_[begin_of(key) & mask_];
    return (first.key != key || first.stamp != stamp_) && insert_beyond(key);
  }

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t stamp = 0;
  };
  static constexpr std::size_t kFirstSize = 64;  // a power of two, as all of them
  static std::size_t begin_of(std::uint64_t key) { return (key * 0x9e3779b97f4a7c15) >> 32; }
  bool insert_beyond(std::uint64_t key);
  bool place(std::uint64_t key);
  void grow();
  std::vector<Slot> slots_ = std::vector<Slot>(kFirstSize);
  std::size_t mask_ = kFirstSize - 1;
  std::uint32_t stamp_ = 1;
  std::size_t used_ = 0;
};

class RoccFlowTable {
 public:
  virtual ~RoccFlowTable() = default;
  virtual bool wants_frames() const = 0;  // on_frame() of every frame that joins the queue
  virtual bool wants_queue() const = 0;   // on_queued() of every frame that stands in it, before take()
  virtual void on_frame(const SwitchFlow& /*flow*/, Time /*now*/) {}
  virtual void on_queued(const SwitchFlow& /*flow*/) {}
  // At the end of a period: the flows to tell, each once, in an order of the table's own. Valid until the
  // next call.
  virtual const std::vector<SwitchFlow>& take(Time now) = 0;
};

// `most`: F_max / F_min of the congestion point; `rng`: a stream of its own.
std::unique_ptr<RoccFlowTable> make_rocc_flow_table(const RoccFlowTableParams& params, std::uint32_t most,
                                                    Rng rng);

}  // namespace rocelab
