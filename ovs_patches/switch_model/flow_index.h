// FlowIndex: which frames of one FIFO belong to which flow, so that the first of a flow is found without
// going through the queue. It knows the frames from the head up to known_to(); the queue's owner adds those
// behind it when somebody asks (each once) and says which leave. Nobody asks without Escape's tokens, and an
// index whose frames have all left costs nothing. Frames are named by their node in the owner's slab.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/check.h"
#include "base/ring.h"

namespace rocelab {

class FlowIndex {
 public:
  static constexpr std::uint32_t kNil = 0xffffffff;
  // Of a frame that an index knows. Nodes belong to one queue at a time: all indexes share one block.
  struct Links {
    std::uint32_t before = kNil;        // the node ahead of it in the queue
    std::uint32_t next_of_flow = kNil;  // the next one of its flow
  };
  using Key = std::optional<std::uint64_t>;  // null: a frame of no flow

  std::uint32_t known_to() const { return last_; }  // kNil: no frame is known
  std::uint32_t first(std::uint64_t flow) const {   // kNil: none of the known frames
    if (flows_.empty()) return kNil;
    const Flow& found = flows_[slot_of(flow)];
    return found.taken ? found.first : kNil;
  }
  // The frame behind known_to().
  void add(std::vector<Links>& links, std::uint32_t node, Key flow) {
    links[node] = {last_, kNil};
    last_ = node;
    if (!flow) return;
    Flow& at = flow_at(*flow);
    if (at.first == kNil) {
      at.first = node;
      if (keeps_turns_ && !at.listed) list(at);
    } else {
      links[at.last].next_of_flow = node;
    }
    at.last = node;
  }
  // Whose turn it is among the flows of known frames: first those that have begun to wait since they had one,
  // then each in turn. Its first frame; kNil: none waits. Turns are kept from the first call on.
  std::uint32_t next_turn() {
    if (!keeps_turns_) {
      keeps_turns_ = true;
      for (Flow& flow : flows_)
        if (flow.taken && flow.first != kNil) list(flow);
    }
    while (!new_.empty() || !turns_.empty()) {
      Flow& flow = flows_[slot_of((new_.empty() ? turns_ : new_).take_front())];
      flow.listed = flow.first != kNil;
      if (!flow.listed) continue;
      turns_.push_back(flow.key);
      return flow.first;
    }
    return kNil;
  }
  // A known frame leaves, the first of its flow; `next` stands behind it in the queue. The node ahead of it.
  std::uint32_t remove(std::vector<Links>& links, std::uint32_t node, std::uint32_t next, Key flow) {
    if (flow) {
      Flow& at = flows_[slot_of(*flow)];
      RL_CHECK(at.first == node);
      at.first = links[node].next_of_flow;
    }
    const std::uint32_t before = links[node].before;
    if (node == last_) {
      last_ = before;
    } else {
      links[next].before = before;
    }
    return before;
  }

 private:
  struct Flow {
    std::uint64_t key = 0;
    std::uint32_t first = kNil, last = kNil;
    bool taken = false;
    bool listed = false;  // in new_ or turns_, once
  };
  void list(Flow& flow) {
    flow.listed = true;
    new_.push_back(flow.key);
  }
  // Where the flow stands in the table, or would: linear probing over a power of two that is at most half
  // full.
  std::size_t slot_of(std::uint64_t flow) const {
    const std::size_t mask = flows_.size() - 1;
    std::size_t at = (flow * 0x9e3779b97f4a7c15u >> 32) & mask;
    while (flows_[at].taken && flows_[at].key != flow) at = (at + 1) & mask;
    return at;
  }
  Flow& flow_at(std::uint64_t flow) {
    if (2 * (taken_ + 1) > flows_.size()) rebuild();
    Flow& at = flows_[slot_of(flow)];
    if (!at.taken) {
      at = {flow, kNil, kNil, true, false};
      ++taken_;
    }
    return at;
  }
  // Flows without frames stay in the table until it is full: one that is asked for comes back.
  void rebuild() {
    std::vector<Flow> old;
    old.swap(flows_);
    std::erase_if(old, [](const Flow& flow) { return flow.first == kNil && !flow.listed; });
    std::size_t size = 16;
    while (size < 4 * old.size()) size *= 2;
    flows_.resize(size);
    for (const Flow& flow : old) flows_[slot_of(flow.key)] = flow;
    taken_ = old.size();
  }

  std::vector<Flow> flows_;
  std::size_t taken_ = 0;
  std::uint32_t last_ = kNil;
  Ring<std::uint64_t> new_, turns_;  // flows by key
  bool keeps_turns_ = false;
};

}  // namespace rocelab
