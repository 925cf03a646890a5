#include "ovs_patches/switch_model/switch_policy.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "ovs_patches/switch_model/switch_config.h"

namespace rocelab {

SwitchPolicy::SwitchPolicy(std::shared_ptr<const PolicyProgram> first, const Rng& rng) : rng_(rng) {
  runs_.reserve(kMostDraining + 2);
  history_.push_back({Time::zero(), first, false});
  add(std::move(first));
}

SwitchPolicy::Run& SwitchPolicy::add(std::shared_ptr<const PolicyProgram> program) {
  const std::uint32_t serial = serials_++;
  runs_.emplace_back(std::move(program), serial, rng_.fork(std::to_string(serial)));
  note_moves();
  return runs_.back();
}

const PolicyInstance& SwitchPolicy::among_several(std::uint32_t node) const {
  const std::uint32_t serial = serial_of_[node];
  for (const Run& run : runs_)
    if (run.serial == serial) return run.instance;
  RL_CHECK(false && "a frame of a policy that is gone");
}

void SwitchPolicy::arrive(std::uint32_t node, const PolicyPacket& packet, Time now, PolicyOutcome& outcome) {
  if (node >= serial_of_.size()) serial_of_.resize(node + node / 4 + 16);
  serial_of_[node] = runs_.back().serial;
  runs_.back().instance.arrive(node, packet, now, outcome);
}

std::optional<std::uint32_t> SwitchPolicy::pick(PortId egress, TcMask paused, Time now) {
  for (Run& run : runs_)
    if (const auto node = run.instance.pick(egress.value, paused, now)) return node;
  return std::nullopt;
}

void SwitchPolicy::leave(std::uint32_t node, std::int64_t held, Time now, PolicyOutcome& outcome) {
  of(node).leave(node, held, now, outcome);
  processing_ = of(node).packet(node).processing;
  gone(node, of(node).packet(node));
}

void SwitchPolicy::remove(std::uint32_t node, Time now) {
  of(node).remove(node, now);
  gone(node, of(node).packet(node));
}

void SwitchPolicy::gone(std::uint32_t node, const PolicyPacket& packet) {
  if (runs_.size() == 1) return;
  uncount(packet, serial_of_[node]);
  forget_drained();
}

// Memory is not promised twice: what waits by an older policy counts in the buffers of the newer ones.
void SwitchPolicy::uncount(const PolicyPacket& packet, std::uint32_t serial) {
  for (Run& run : runs_)
    if (run.serial > serial)
      run.instance.carry(packet.out, Bytes::from_count(-std::int64_t{packet.size}), -1);
}

void SwitchPolicy::forget_drained() {
  std::erase_if(runs_, [&](const Run& run) { return &run != &runs_.back() && run.instance.frames() == 0; });
  note_moves();
}

std::uint64_t SwitchPolicy::change(const PolicyChange& change, Time now) {
  std::uint64_t requeued = 0;
  if (runs_.size() > kMostDraining) requeued += requeue(0, 1, now);
  forget_drained();
  add(change.program);
  history_.push_back({now, change.program, change.by_hand});
  for (std::size_t old = 0; old + 1 < runs_.size(); ++old)
    for (const std::uint32_t node : runs_[old].instance.in_order()) {
      const PolicyPacket& packet = runs_[old].instance.packet(node);
      runs_.back().instance.carry(packet.out, Bytes::from_count(packet.size), 1);
    }
  if (change.requeue)
    for (std::size_t old = 0; old + 1 < runs_.size(); ++old) requeued += requeue(old, runs_.size() - 1, now);
  forget_drained();
  return requeued;
}

// All that waits by one policy joins a newer one, in the order of its admission. No condition is asked.
std::uint64_t SwitchPolicy::requeue(std::size_t from, std::size_t to, Time now) {
  PolicyInstance& old = runs_[from].instance;
  const std::vector<std::uint32_t> nodes = old.in_order();
  for (const std::uint32_t node : nodes) {
    const PolicyPacket packet = old.packet(node);
    old.give_up(node, now);
    for (std::size_t later = from + 1; later <= to; ++later)
      runs_[later].instance.carry(packet.out, Bytes::from_count(-std::int64_t{packet.size}), -1);
    serial_of_[node] = runs_[to].serial;
    runs_[to].instance.adopt(node, packet, now);
  }
  return nodes.size();
}

void SwitchPolicy::note_moves() {
  moves_ = std::any_of(runs_.begin(), runs_.end(), [](const Run& run) { return run.instance.moves(); });
}

Time SwitchPolicy::next_move() const {
  Time next = Time::never();
  for (const Run& run : runs_) next = std::min(next, run.instance.next_move());
  return next;
}

bool SwitchPolicy::move(Time now, PolicyInstance::Move& what) {
  for (Run& run : runs_) {
    if (!run.instance.move(now, what)) continue;
    for (const std::uint32_t node : what.outcome.evicted) uncount(run.instance.packet(node), run.serial);
    if (what.outcome.refused) uncount(run.instance.packet(what.node), run.serial);
    return true;
  }
  return false;
}

std::string problem_of_policies(const SwitchConfig& config) {
  if (config.input_buffered) return "a switch that is buffered at its inputs has no place for one";
  if (config.queue_order != QueueOrder::kFifo)
    return "the program gives the order of queues, not queue_order";
  if (config.port_buffer > 0_B) return "the program limits ports, not port_buffer";
  for (const ClassConfig& of_class : config.classes) {
    if (of_class.order != QueueOrder::kFifo) return "the program gives the order of queues, not a class";
    if (of_class.full != FullRule::kRefuse) return "the program says what a full queue does, not a class";
    if (of_class.preempt) return "frames of a program are not preempted";
  }
  return {};
}

}  // namespace rocelab
