#include "ovs_patches/switch_model/rocc_flow_table.h"

#include <algorithm>
#include <utility>

namespace rocelab {
namespace {

constexpr std::uint32_t kTrapEntries = 64;
constexpr std::uint32_t kTrapMostCount = 255;  // of the frequency counter; at it all are halved

// 3.3.4, 1: "a table of the flows currently in the queue": in the order in which their first frames stand.
class FlowsInQueue final : public RoccFlowTable {
 public:
  bool wants_frames() const override { return false; }
  bool wants_queue() const override { return true; }
  void on_queued(const SwitchFlow& flow) override {
    if (seen_.insert(flow.key())) add(flow);
  }
  const std::vector<SwitchFlow>& take(Time /*now*/) override {
    taken_.swap(flows_);
    flows_.clear();
    seen_.clear();
    return taken_;
  }

 private:
  // Few of the frames are the first of their flow: what they need does not burden the others' way.
  [[gnu::noinline]] void add(const SwitchFlow& flow) { flows_.push_back(flow); }

  RoccFlowSet seen_;
  std::vector<SwitchFlow> flows_, taken_;
};

// 3.3.4, 2: at most F_max / F_min flows, "in conjunction with a simple age-based flow eviction mechanism":
// the flow that was silent longest goes when there is no place, and each goes when it is too old.
class AgeBounded final : public RoccFlowTable {
 public:
  AgeBounded(std::size_t entries, Duration max_age) : entries_(entries), max_age_(max_age) {}
  bool wants_frames() const override { return true; }
  bool wants_queue() const override { return false; }
  void on_frame(const SwitchFlow& flow, Time now) override {
    for (Entry& e : table_) {
      if (e.flow.key() != flow.key()) continue;
      e = {flow, now};
      return;
    }
    if (table_.size() < entries_) {
      table_.push_back({flow, now});
      return;
    }
    *std::ranges::min_element(table_, {}, &Entry::last) = {flow, now};
  }
  const std::vector<SwitchFlow>& take(Time now) override {
    std::erase_if(table_, [&](const Entry& e) { return now - e.last > max_age_; });
    taken_.clear();
    for (const Entry& e : table_) taken_.push_back(e.flow);
    return taken_;
  }

 private:
  struct Entry {
    SwitchFlow flow;
    Time last;
  };
  std::size_t entries_;
  Duration max_age_;
  std::vector<Entry> table_;
  std::vector<SwitchFlow> taken_;
};

// ElephantTrap (Lu, Wang, Prabhakar, Bonomi, Hot Interconnects 2007; [60] of Menikkumbura): sampled frames
// count up their flow; a flow that is new takes the place under the hand if that one's counter has run down
// to 0, else the hand moves on and halves what it passes (LFU by a clock). 3.3.4, 4 names the sampling and
// the counter.
class ElephantTrap final : public RoccFlowTable {
 public:
  ElephantTrap(std::size_t entries, double sampling, Rng rng)
      : table_(entries), sampling_(sampling), rng_(rng) {}
  bool wants_frames() const override { return true; }
  bool wants_queue() const override { return false; }
  void on_frame(const SwitchFlow& flow, Time /*now*/) override {
    if (!rng_.bernoulli(sampling_)) return;
    for (Entry& e : table_) {
      if (!e.used || e.flow.key() != flow.key()) continue;
      e.flow.in = flow.in;
      if (++e.count > kTrapMostCount)
        for (Entry& each : table_) each.count /= 2;
      return;
    }
    Entry& under = table_[hand_];
    hand_ = (hand_ + 1) % table_.size();
    if (!under.used || under.count == 0) {
      under = {flow, 1, true};
    } else {
      under.count /= 2;
    }
  }
  const std::vector<SwitchFlow>& take(Time /*now*/) override {
    taken_.clear();
    for (const Entry& e : table_)
      if (e.used) taken_.push_back(e.flow);
    return taken_;
  }

 private:
  struct Entry {
    SwitchFlow flow{};
    std::uint32_t count = 0;
    bool used = false;
  };
  std::vector<Entry> table_;
  std::size_t hand_ = 0;
  double sampling_;
  Rng rng_;
  std::vector<SwitchFlow> taken_;
};

}  // namespace

void RoccFlowSet::clear() {
  used_ = 0;
  if (++stamp_ != 0) return;
  std::ranges::fill(slots_, Slot{});
  stamp_ = 1;
}

bool RoccFlowSet::insert_beyond(std::uint64_t key) {
  if (2 * (used_ + 1) > slots_.size()) grow();
  return place(key);
}

bool RoccFlowSet::place(std::uint64_t key) {
  for (std::size_t at = begin_of(key);; ++at) {
    Slot& slot = slots_[at & mask_];
    if (slot.stamp != stamp_) {
      slot = {key, stamp_};
      ++used_;
      return true;
    }
    if (slot.key == key) return false;
  }
}

void RoccFlowSet::grow() {
  const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
  mask_ = slots_.size() - 1;
  used_ = 0;
  for (const Slot& slot : old)
    if (slot.stamp == stamp_) place(slot.key);
}

std::unique_ptr<RoccFlowTable> make_rocc_flow_table(const RoccFlowTableParams& params, std::uint32_t most,
                                                    Rng rng) {
  const auto or_else = [&](std::uint32_t otherwise) {
    return std::max<std::uint32_t>(1, params.entries != 0 ? params.entries : otherwise);
  };
  switch (params.kind) {
    case RoccFlowTableKind::kAge:
      return std::make_unique<AgeBounded>(or_else(most), params.max_age);
    case RoccFlowTableKind::kElephantTrap:
      return std::make_unique<ElephantTrap>(or_else(kTrapEntries), params.sampling, rng);
    case RoccFlowTableKind::kQueue:
      break;
  }
  return std::make_unique<FlowsInQueue>();
}

}  // namespace rocelab
