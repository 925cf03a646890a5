// SwitchScript: bytes as a switch of any rules (orders, full rules, preemption, buffers, PFC) and as work on
// it: frames for no, one and several outputs, pauses, time. It aborts (RL_CHECK) where a frame or a byte is
// in no book, where a lossless class gives way to another frame, and where anything is left when all has
// drained. The fuzzer and a random test run it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bfc.h"
#include "base/check.h"
#include "base/wire/controls.h"
#include "ovs_patches/switch_model/mechanisms/mechanisms.h"
#include "ovs_patches/switch_model/switch_node.h"

namespace rocelab {

class SwitchScript {
 public:
  static constexpr std::array kOrders = {QueueOrder::kFifo,   QueueOrder::kLifo,       QueueOrder::kRandom,
                                         QueueOrder::kFair,   QueueOrder::kRanked,     QueueOrder::kLevels,
                                         QueueOrder::kSpPifo, QueueOrder::kRankedFlows};

  explicit SwitchScript(std::span<const std::uint8_t> bytes) : bytes_(bytes) { configure(); }

  // Empty: run() has a switch to work on.
  std::string problem() const { return problem_of(config_, ports()); }
  std::uint64_t drops(SwitchDropReason reason) const { return drops_[static_cast<std::size_t>(reason)]; }

  bool by_queue() const { return by_queue_; }  // BFC

  void run() {
    node_.emplace(config_, ports(), Rng(take()), pool_, log_, &owner_);
    while (!bytes_.empty()) {
      const std::uint8_t step = take();
      if (step < 176) {
        send(PortId{static_cast<std::uint16_t>(step % kPorts)});
      } else if (step < 208) {
        const PortId in{static_cast<std::uint16_t>(step % kPorts)};
        by_queue_&& step % 8 >= kPorts ? pause_queues(in, take()) : pause(in);
      } else {
        now_ = now_ + Duration::from_ps((1 + take()) * std::int64_t{1'000});
        advance(now_);
        check_books(now_);
      }
    }
    for (std::uint16_t p = 0; by_queue_ && p < kPorts; ++p) pause_queues(PortId{p}, 0);  // none
    advance(Time::never());
    check_books(node_->last_event());
    check_empty();
  }

 private:
  static constexpr std::uint16_t kPorts = 4;
  static constexpr std::size_t kReasons = 32;
  static std::vector<PortConfig> ports() { return std::vector<PortConfig>(kPorts, {.delay = 200_ns}); }

  struct Log final : TraceSink {
    explicit Log(SwitchScript& script) : TraceSink(bit(TraceKind::kDrop)), of(script) {}
    void on_record(const TraceRecord& r) override { of.dropped(r); }
    SwitchScript& of;
  };
  struct Owner final : FrameOwner {
    void release(std::uint32_t slot) override { RL_CHECK(references[slot]-- > 0); }
    std::uint32_t share(std::uint32_t slot) override {
      if (slot % 16 == 15) return kNoFrame;  // now and then there is no room for a copy
      ++references[slot];
      return slot;
    }
    std::vector<int> references;
  };

  std::uint8_t take() {
    if (bytes_.empty()) return 0;
    const std::uint8_t byte = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return byte;
  }

  enum class Buffers : std::uint8_t { kByQueue, kByInput, kPool, kByPort, kByPortAndClass };

  // Settings that exclude each other are left out here as far as that is simple; problem() names the rest.
  void configure() {
    const std::uint8_t is = take(), has = take();
    buffers_ = static_cast<Buffers>(is % 5);
    config_.max_frame = 1098_B;
    config_.ingress_buffer = 12_KB;
    config_.egress_limit = 8_KB;
    config_.input_buffer = 20_KB;
    config_.pfc.enabled = (is & 32) != 0;
    config_.input_buffered = buffers_ == Buffers::kByInput;
    const bool rotates = (is & 192) == 192 && buffers_ != Buffers::kByPortAndClass;
    if (config_.input_buffered || rotates) config_.queue_order = QueueOrder::kRoundRobin;
    if (buffers_ == Buffers::kPool) config_.shared_pool = 60_KB;
    if (buffers_ == Buffers::kPool && (is & 128) != 0) config_.alpha_lossy = 0;
    if (buffers_ >= Buffers::kByPort) config_.port_buffer = 5_KB;
    if (buffers_ == Buffers::kByPortAndClass) config_.port_rule = PortRule::kPushOutLower;
    config_.classes = {};
    const bool all_fifo = (has & 64) != 0;  // as some mechanisms want it
    for (std::size_t tc = 0; tc < 4; ++tc) configure(config_.classes[tc], all_fifo);
    const bool fifo = std::ranges::all_of(config_.classes, [](const ClassConfig& c) {
      return c.order == QueueOrder::kFifo && c.full == FullRule::kRefuse;
    });
    if ((has & 1) != 0) config_.mechanisms.of<WatchdogMechanism>() = {5_us, WatchdogAction::kDrop};
    config_.mechanisms.of<EscapeMechanism>().enabled = (has & 2) != 0 && fifo && config_.pfc.enabled;
    by_queue_ = (has & 48) == 48 && fifo && (has & 3) == 0 && buffers_ != Buffers::kByPortAndClass &&
                config_.queue_order == QueueOrder::kFifo;
    config_.mechanisms.of<BfcMechanism>().enabled = by_queue_;
    config_.mechanisms.of<BfcMechanism>().queues = 1 + has % 5;
    config_.mechanisms.of<TelemetryMechanism>().enabled = (has & 4) != 0;
    config_.mechanisms.of<SlackMechanism>() = {
        !by_queue_, (has & 8) != 0 ? SlackRank::kInitial : SlackRank::kLeastSlack, {}};
  }
  void configure(ClassConfig& c, bool fifo) {
    const std::uint8_t queue = take(), more = take();
    c.lossless = queue >= 192;
    if (config_.queue_order == QueueOrder::kFifo && !fifo) c.order = kOrders[queue % kOrders.size()];
    const bool by_queue = !config_.input_buffered && (buffers_ != Buffers::kPool || config_.alpha_lossy == 0);
    if (by_queue && !c.lossless && !fifo && config_.queue_order == QueueOrder::kFifo)
      c.full = static_cast<FullRule>(queue / 8 % 3);
    c.preempt =
        c.order == QueueOrder::kRanked && !c.lossless && buffers_ < Buffers::kByPort && (more & 8) != 0;
    c.selection = (more & 1) != 0 ? Selection::kStrict : Selection::kEts;
    c.weight = static_cast<std::uint16_t>(1 + (more >> 1 & 3));
    if ((more & 16) != 0) c.egress_max = 9_KB;
    c.ecn = {.enabled = (more & 32) != 0,
             .k_min = 2_KB,
             .k_max = 6_KB,
             .p_max = 0.5,
             .average = (more & 64) != 0 ? 0.25 : 1};
  }

  // The next frame of a port ends when the last one has, and the frame itself is over.
  Time due(PortId in, Bytes frame) {
    Time& free = free_[in.value];
    return free = std::max(free, now_) + wire_time(frame, PortConfig{}.rate);
  }
  void send(PortId in) {
    const std::uint8_t to = take(), size = take(), rank = take();
    const Bytes frame = Bytes::from_count(60 + size * 5);
    const Tc tc{static_cast<std::uint8_t>(to >> 4 & 3)};
    PacketRef packet = pool_.make();
    packet->frame_length = static_cast<std::uint32_t>(frame.count());
    packet->payload_length = packet->frame_length - 58;
    packet->roce.dscp = static_cast<std::uint8_t>(tc.value << 3);
    packet->tc = tc;
    packet->ecn = (rank & 1) != 0 ? Ecn::kEct0 : Ecn::kNotEct;
    packet->flow = rank % 5;
    packet->roce.psn = Psn(static_cast<std::uint32_t>(class_of_.size()));
    packet->frame_slot = static_cast<std::uint32_t>(owner_.references.size());
    if (rank > 15) PacketPool::put_slack(*packet, {(rank - 128) * 10'000, (rank - 128) * 10'000, 0});
    if (by_queue_ && rank % 8 != 0) put_bfc_queue(*packet, rank);
    owner_.references.push_back(1);
    class_of_.push_back(tc);
    std::array<PortId, kPorts> outs;
    std::size_t n = 0;
    for (std::uint16_t p = 0; p < kPorts; ++p)
      if ((to >> p & 1) != 0) outs[n++] = PortId{p};
    node_->deliver(in, std::span(outs).first(n), std::move(packet), due(in, frame));
  }
  void pause(PortId in) {
    PfcFrame pause;
    const std::uint8_t tc = take() % 4;
    pause.class_enable = bit_of(Tc{tc});
    pause.time[tc] = static_cast<std::uint16_t>(take() * 4);
    PacketRef packet = pool_.make();
    put_control(*packet, pause);
    node_->deliver(in, {}, std::move(packet), due(in, 60_B));
  }
  // BFC's, of the queues whose bits are set.
  void pause_queues(PortId in, std::uint8_t queues) {
    BfcPause pause{Tc{static_cast<std::uint8_t>(config_.mechanisms.of<BfcMechanism>().tc)}, {}};
    pause.queues.set_word(0, queues);
    PacketRef packet = pool_.make();
    put_control(*packet, pause);
    node_->deliver(in, {}, std::move(packet), due(in, 60_B));
  }
  void advance(Time limit) {
    node_->run_until(limit, [&](PortId, PacketRef packet, Time departed, Time due) {
      RL_CHECK(packet->due == due && departed < limit);
      if (packet->frame_slot == kNoFrame) return;
      ++left_;
      owner_.release(packet->frame_slot);
    });
  }

  void dropped(const TraceRecord& r) {
    const auto reason = static_cast<SwitchDropReason>(r.mark);
    RL_CHECK(r.mark < kReasons && r.psn < class_of_.size());
    ++drops_[r.mark];
    if (!config_.pfc.enabled || !config_.classes[class_of_[r.psn].value].lossless) return;
    RL_CHECK(reason != SwitchDropReason::kEgressLimit && reason != SwitchDropReason::kInputBuffer &&
             reason != SwitchDropReason::kPushedOut && reason != SwitchDropReason::kPortBuffer &&
             reason != SwitchDropReason::kDisplaced);
  }

  void check_books(Time now) {
    const Switch& model = node_->model();
    std::uint64_t in = 0, out = 0, drops = 0, bytes_in = 0, bytes_out = 0, waiting = 0, by_reason = 0;
    for (std::uint16_t p = 0; p < kPorts; ++p) {
      const SwitchPortCounters c = model.counters(PortId{p}, now);
      in += c.rx_frames + c.replicated_frames;
      out += c.tx_frames;
      drops += c.drops;
      bytes_in += c.rx_bytes + c.replicated_bytes;
      bytes_out += c.tx_bytes + c.dropped_bytes;
      for (std::uint8_t tc = 0; tc < kTrafficClasses; ++tc) {
        const Bytes queued = model.queue_bytes(PortId{p}, Tc{tc});
        RL_CHECK(queued >= 0_B && model.ingress_bytes(PortId{p}, Tc{tc}) >= 0_B);
        waiting += static_cast<std::uint64_t>(queued.count());
      }
    }
    for (const std::uint64_t n : drops_) by_reason += n;
    RL_CHECK(in == out + drops + model.queued_frames());
    RL_CHECK(drops == by_reason && out == left_);
    RL_CHECK(bytes_in == bytes_out + waiting);
    RL_CHECK(model.shared_pool_used() >= 0_B && model.shared_pool_used() <= config_.shared_pool);
  }
  void check_empty() {
    const Switch& model = node_->model();
    RL_CHECK(model.queued_frames() == 0 && model.shared_pool_used() == 0_B && pool_.in_use() == 0);
    RL_CHECK(node_->next_event().is_never());
    for (std::uint16_t p = 0; p < kPorts; ++p)
      for (std::uint8_t tc = 0; tc < kTrafficClasses; ++tc)
        RL_CHECK(model.ingress_bytes(PortId{p}, Tc{tc}) == 0_B && !model.is_pausing(PortId{p}, Tc{tc}));
    RL_CHECK(std::ranges::all_of(owner_.references, [](int n) { return n == 0; }));
  }

  std::span<const std::uint8_t> bytes_;
  Buffers buffers_{};
  bool by_queue_ = false;
  SwitchConfig config_;
  PacketPool pool_;
  Owner owner_;
  Log log_{*this};
  std::optional<SwitchNode> node_;
  Time now_;
  std::array<Time, kPorts> free_{};
  std::vector<Tc> class_of_;  // by PSN: each frame has its own
  std::array<std::uint64_t, kReasons> drops_{};
  std::uint64_t left_ = 0;
};

}  // namespace rocelab
