// PolicyInstance against the reference under chosen traffic: the same frames are refused, evicted, marked and
// served, at the same instants; nothing costs more than its bound, no lossless frame is dropped, and every
// frame is accounted for.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ovs_patches/openqueue/choices_fixture.h"
#include "ovs_patches/openqueue/random_program_fixture.h"
#include "ovs_patches/openqueue/reference_fixture.h"
#include "ovs_patches/openqueue/stages.h"

namespace rocelab::oq {

// One program, driven until the two differ.
class Comparison {
 public:
  Comparison(const PolicyProgram& program, const Model& model, const Choices& choices, const Rng& draws)
      : program_(program), model_(model), choices_(choices), draws_(draws) {
    change();
  }

  // Empty, or what differs. A fuzzer's bytes end it.
  std::string run(int steps) {
    for (int i = 0; i < steps && !choices_.used_up(); ++i) {
      now_ = now_ + Duration::from_ps(static_cast<std::int64_t>(choices_.below(3) * 200'000));
      std::string wrong = moves();
      if (wrong.empty()) wrong = step();
      if (wrong.empty() && i % 8 == 0) wrong = counts();
      if (!wrong.empty()) return "step " + std::to_string(i) + ": " + wrong;
      for (const auto& [measured, proved] :
           {std::pair{instance_->costs().arrival_instructions, program_.bounds.arrival_instructions},
            {instance_->costs().departure_instructions, program_.bounds.departure_instructions},
            {instance_->costs().evictions, program_.bounds.evictions}})
        if (measured > proved)
          return "step " + std::to_string(i) + ": the bound of " + std::to_string(proved) +
                 " is exceeded by " + std::to_string(measured);
    }
    return "";
  }
  std::uint64_t served = 0, refused = 0, evicted = 0;

 private:
  std::string moves() {
    for (int i = 0; i < 1000; ++i) {
      PolicyInstance::Move one, other;
      const bool a = instance_->move(now_, one), b = reference_->move(now_, other);
      if (a != b) return "a move of one only";
      if (!a) break;
      if (one.node != other.node || one.arrived != other.arrived) return "other moves";
      if (std::string wrong = outcome(one.node, one.outcome, other.outcome); !wrong.empty())
        return "move: " + wrong;
      if (one.outcome.refused) free_.push_back(one.node);
    }
    return instance_->next_move() == reference_->next_move() ? "" : "other instants of the next move";
  }

  std::string outcome(std::uint32_t node, const PolicyOutcome& a, const PolicyOutcome& b) {
    const std::string of = " of frame " + std::to_string(node);
    if (a.refused != b.refused) return "refused" + of;
    if (a.evicted != b.evicted) return "evicted" + of;
    if (a.mark != b.mark) return "mark" + of;
    if (a.notified != b.notified) return "notified" + of;
    if (a.pause_upstream != b.pause_upstream || a.resume_upstream != b.resume_upstream)
      return "upstream" + of;
    if (a.refused && is_lossless(node)) return "lossless refused" + of;
    for (const std::uint32_t gone : a.evicted) {
      if (is_lossless(gone)) return "lossless evicted" + of;
      free_.push_back(gone);
    }
    waiting_ -= a.evicted.size() + (a.refused ? 1 : 0);
    evicted += a.evicted.size();
    refused += a.refused ? 1 : 0;
    return "";
  }

  std::string step() {
    const std::uint64_t kind = choices_.below(40);
    if (kind < 22) return arrive();
    if (kind >= 38) return remove();
    if (kind == 37) return change();
    const auto port = static_cast<std::uint32_t>(choices_.below(kRandomPorts));
    const auto paused = static_cast<TcMask>(choices_.below(4) == 0 ? 1 << 3 : 0);
    const auto a = instance_->pick(port, paused, now_), b = reference_->pick(port, paused, now_);
    if (a != b)
      return "port " + std::to_string(port) + " serves " + (a ? std::to_string(*a) : "nothing") +
             ", and means " + (b ? std::to_string(*b) : "nothing");
    if (!a) return "";
    const auto held = static_cast<std::int64_t>(choices_.below(9000));
    PolicyOutcome one, other;
    instance_->leave(*a, held, now_, one);
    reference_->leave(*a, held, now_, other);
    free_.push_back(*a);
    --waiting_;
    ++served;
    return outcome(*a, one, other);
  }

  std::string arrive() {
    std::uint32_t node = next_;
    if (free_.empty()) {
      ++next_;
    } else {
      node = free_.back();
      free_.pop_back();
    }
    constexpr std::uint8_t kDscpsUsed[] = {0, 1, 8, 10, 24, 34, 46, 63};
    PolicyPacket packet;
    packet.size = static_cast<std::uint32_t>(60 + choices_.below(3) * choices_.below(700));
    packet.dscp = kDscpsUsed[choices_.below(8)];
    packet.tc = ClassMap{}.of(packet.dscp);
    packet.ecn = static_cast<std::uint8_t>(choices_.below(4));
    packet.in = PortId{static_cast<std::uint16_t>(choices_.below(kRandomPorts))};
    packet.out = PortId{static_cast<std::uint16_t>(choices_.below(kRandomPorts))};
    packet.flow = choices_.below(4);
    if (choices_.below(2) == 0) packet.slack = static_cast<std::int64_t>(choices_.below(5'000'000));
    packet.held = static_cast<std::int64_t>(choices_.below(9000));
    packet.xoff = 6000;
    packet.xon = 3000;
    ++waiting_;
    PolicyOutcome one, other;
    instance_->arrive(node, packet, now_, one);
    reference_->arrive(node, packet, now_, other);
    if (instance_->waits(node) != reference_->waits(node)) return "waits";
    if (instance_->waits(node) && instance_->queue_of(node) != reference_->queue_of(node))
      return "joins another queue";
    if (!instance_->waits(node)) free_.push_back(node);
    return outcome(node, one, other);
  }

  std::string remove() {
    if (next_ == 0) return "";
    const auto node = static_cast<std::uint32_t>(choices_.below(next_));
    if (!instance_->waits(node)) return "";
    instance_->remove(node, now_);
    reference_->remove(node, now_);
    --waiting_;
    free_.push_back(node);
    return "";
  }

  // The frames join the same program afresh, as they do where a policy is changed with `requeue`.
  std::string change() {
    std::vector<std::uint32_t> nodes;
    if (instance_ != nullptr) nodes = instance_->in_order();
    for (const std::uint32_t node : nodes)
      if (!reference_->waits(node)) return "frame " + std::to_string(node) + " does not wait";
    auto instance =
        std::make_unique<PolicyInstance>(program_, draws_.fork("instance/" + std::to_string(changes_)));
    auto reference = std::make_unique<ReferencePolicy>(model_, program_.bounds.evictions,
                                                       draws_.fork("instance/" + std::to_string(changes_)));
    ++changes_;
    for (const std::uint32_t node : nodes) {
      const PolicyPacket packet = instance_->packet(node);
      instance->adopt(node, packet, now_);
      reference->adopt(node, packet, now_);
      if (instance->queue_of(node) != reference->queue_of(node)) return "changes to another queue";
    }
    instance_ = std::move(instance);
    reference_ = std::move(reference);
    return "";
  }

  bool is_lossless(std::uint32_t node) const { return instance_->packet(node).tc == Tc{3}; }

  std::string counts() {
    if (instance_->frames() != waiting_) return "frames that wait";
    for (std::uint32_t queue = 0; queue < program_.queues.size(); ++queue)
      if (instance_->counts(queue).bytes != reference_->bytes(queue) ||
          instance_->counts(queue).packets != reference_->packets(queue))
        return "counts of " + program_.queues[queue].name;
    return "";
  }

  const PolicyProgram& program_;
  const Model& model_;
  Choices choices_;
  Rng draws_;
  std::unique_ptr<PolicyInstance> instance_;
  std::unique_ptr<ReferencePolicy> reference_;
  int changes_ = 0;
  std::uint64_t waiting_ = 0;
  Time now_ = Time::zero() + 1_us;
  std::uint32_t next_ = 0;
  std::vector<std::uint32_t> free_;
};

}  // namespace rocelab::oq
