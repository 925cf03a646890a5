// QueueScript: bytes as a script of work on one queue of EgressQueues, held against a plain list of the
// frames that wait. It aborts (RL_CHECK) where the two differ. The fuzzer and a random test run it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "ovs_patches/switch_model/queue.h"
#include "ovs_patches/switch_model/switch_flow.h"

namespace rocelab {

class QueueScript {
 public:
  static constexpr std::array kOrders = {QueueOrder::kFifo,   QueueOrder::kRoundRobin,  QueueOrder::kLifo,
                                         QueueOrder::kRandom, QueueOrder::kFair,        QueueOrder::kRanked,
                                         QueueOrder::kLevels, QueueOrder::kRankedFlows, QueueOrder::kSpPifo};

  explicit QueueScript(std::span<const std::uint8_t> bytes) : bytes_(bytes) {
    order_ = kOrders[take() % kOrders.size()];
    rule_ = static_cast<FullRule>(take() % 3);
    const bool rotates = order_ == QueueOrder::kRoundRobin;
    if (rotates) rule_ = FullRule::kRefuse;
    queues_ = EgressQueues(kPorts, rotates ? order_ : QueueOrder::kFifo);
    if (!rotates) queues_.set_rules(kClass, {order_, rule_}, Rng(take()));
    by_rank_ = queue().ranked != nullptr;
  }

  void run() {
    while (!bytes_.empty()) {
      const std::uint8_t step = take();
      if (step < 128 || frames_.empty()) {
        push(step % 8, PortId{static_cast<std::uint16_t>(step / 8 % kPorts)});
      } else if (step < 208) {
        pop();
      } else if (rule_ != FullRule::kRefuse) {
        push_out();
      } else if (!by_rank_) {
        extract(step % 8);
      } else {
        pop();
      }
      check();
    }
    while (!frames_.empty()) pop();
    check();
    RL_CHECK(pool_.in_use() == 0);
  }

 private:
  static constexpr std::uint16_t kPorts = 4;
  static constexpr PortId kPort{1};
  static constexpr Tc kClass{2};
  struct Waiting {
    std::uint32_t number = 0, flow = 0, length = 0;
    std::int64_t rank = 0;
    PortId in;
  };

  std::uint8_t take() {
    if (bytes_.empty()) return 0;
    const std::uint8_t byte = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return byte;
  }
  EgressQueues::Queue& queue() { return queues_.at(kPort, kClass); }

  void push(std::uint32_t flow, PortId in) {
    const std::uint32_t length = 60 + take() * 8u;
    const std::int64_t rank = is_by_rank(order_) ? take() % 16 - (order_ == QueueOrder::kLevels ? 0 : 8) : 0;
    PacketRef packet = pool_.make();
    packet->frame_length = length;
    packet->tc = kClass;
    packet->roce.dest = Qpn{flow};
    packet->roce.psn = Psn(next_);
    queues_.push(queue(), in, kNoShare, Bytes::from_count(length), std::move(packet), rank);
    frames_.push_back({next_++, flow, length, order_ == QueueOrder::kSpPifo ? level_of(rank) : rank, in});
  }
  // The frame that left, by the list; it must be there.
  Waiting forget(const QueuedFrame& frame) {
    const std::uint32_t number = frame.packet->roce.psn.value();
    const auto at = std::ranges::find(frames_, number, &Waiting::number);
    RL_CHECK(at != frames_.end() && at->in == frame.in && frame.packet->frame_length == at->length);
    const Waiting left = *at;
    frames_.erase(at);
    return left;
  }
  bool is_first_of_its_flow(const Waiting& frame) const {
    return std::ranges::none_of(
        frames_, [&](const Waiting& w) { return w.flow == frame.flow && w.number < frame.number; });
  }

  void pop() {
    const Bytes announced = queues_.head_length(kPort, kClass);
    const std::vector<Waiting> before = frames_;
    const Waiting left = forget(queues_.pop(queue()));
    RL_CHECK(announced == Bytes::from_count(left.length));
    if (order_ == QueueOrder::kFifo) RL_CHECK(left.number == before.front().number);
    if (order_ == QueueOrder::kLifo) RL_CHECK(left.number == before.back().number);
    if (order_ == QueueOrder::kFair) RL_CHECK(is_first_of_its_flow(left));
    if (is_by_rank(order_)) RL_CHECK(left.number == next_by_rank(before).number);
    if (order_ != QueueOrder::kRoundRobin) return;
    RL_CHECK(left.in == next_port(before));
    const auto first = std::ranges::find(before, left.in, &Waiting::in);
    RL_CHECK(first->number == left.number);
    last_ = left.in.value;
  }
  Waiting next_by_rank(const std::vector<Waiting>& before) const {
    const Waiting least = *std::ranges::min_element(before, {}, rank_of);
    if (order_ != QueueOrder::kRankedFlows) return least;
    return *std::ranges::find(before, least.flow, &Waiting::flow);
  }
  // SP-PIFO as its paper writes it: queue 1 is the highest.
  std::int64_t level_of(std::int64_t rank) {
    for (std::size_t i = 8; i >= 1; --i)
      if (rank >= bound_[i]) {
        bound_[i] = rank;
        return static_cast<std::int64_t>(i) - 1;
      }
    const std::int64_t cost = bound_[1] - rank;
    for (std::size_t i = 1; i <= 8; ++i) bound_[i] -= cost;
    return 0;
  }
  static std::pair<std::int64_t, std::uint32_t> rank_of(const Waiting& w) { return {w.rank, w.number}; }
  PortId next_port(const std::vector<Waiting>& before) const {
    for (std::uint16_t step = 1; step <= kPorts; ++step) {
      const PortId port{static_cast<std::uint16_t>((last_ + step) % kPorts)};
      if (std::ranges::find(before, port, &Waiting::in) != before.end()) return port;
    }
    return kPort;
  }

  void push_out() {
    const std::vector<Waiting> before = frames_;
    const Waiting left = forget(queues_.push_out(queue()));
    if (rule_ == FullRule::kPushOutLongest) {
      std::map<std::uint32_t, std::uint64_t> bytes;
      for (const Waiting& w : before) bytes[w.flow] += w.length;
      for (const auto& [flow, length] : bytes) RL_CHECK(length <= bytes[left.flow]);
      return;
    }
    if (order_ == QueueOrder::kFifo) RL_CHECK(left.number == before.back().number);
    if (order_ == QueueOrder::kLifo) RL_CHECK(left.number == before.front().number);
    if (is_by_rank(order_)) RL_CHECK(left.number == std::ranges::max_element(before, {}, rank_of)->number);
  }

  void extract(std::uint32_t flow) {
    const std::uint64_t key = SwitchFlow{{}, {}, Qpn{flow}, {}}.key();
    const bool waits = std::ranges::find(frames_, flow, &Waiting::flow) != frames_.end();
    std::optional<QueuedFrame> frame = queues_.extract(kPort, kClass, key);
    RL_CHECK(frame.has_value() == waits);
    if (!frame) return;
    const Waiting left = forget(*frame);
    RL_CHECK(left.flow == flow);
    if (order_ == QueueOrder::kFifo) RL_CHECK(is_first_of_its_flow(left));
  }

  void check() {
    std::uint64_t bytes = 0, walked = 0;
    for (const Waiting& w : frames_) bytes += w.length;
    queues_.for_each(kPort, kClass, [&](const Packet&, PortId) { ++walked; });
    RL_CHECK(queue().frames == frames_.size() && walked == frames_.size());
    RL_CHECK(queue().bytes == Bytes::from_count(static_cast<std::int64_t>(bytes)));
    RL_CHECK(pool_.in_use() == frames_.size());
  }

  std::span<const std::uint8_t> bytes_;
  QueueOrder order_ = QueueOrder::kFifo;
  FullRule rule_ = FullRule::kRefuse;
  bool by_rank_ = false;
  PacketPool pool_;
  EgressQueues queues_{kPorts, QueueOrder::kFifo};
  std::vector<Waiting> frames_;  // in the order of their arrival
  std::array<std::int64_t, 9> bound_{};
  std::uint32_t next_ = 0;
  std::uint16_t last_ = kPorts - 1;  // ingress port that round robin served last
};

}  // namespace rocelab
