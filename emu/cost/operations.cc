#include "emu/cost/operations.h"

#include <optional>
#include <vector>

#include "base/check.h"
#include "irn_provider/transport/irn_receiver.h"
#include "irn_provider/transport/irn_sender.h"
#include "ovs_patches/switch_model/escape.h"
#include "ovs_patches/switch_model/queue.h"
#include "ovs_patches/switch_model/rocc_cp.h"
#include "ovs_patches/switch_model/rocc_flow_table.h"

namespace rocelab {
namespace {

constexpr std::uint64_t kOperations = 1 << 16;
constexpr Duration kStep = 210_ns;  // a packet of 1,024 bytes at 40 Gb/s

// With the receiver's bitmaps of the paper's cap: of 16 packets two arrive in the wrong order.
class ReceiveData final : public CostLoop {
 public:
  void prepare() override { receiver_.emplace(IrnConfig(), 0); }
  std::uint64_t run() override {
    constexpr std::uint64_t kBlock = 16;
    for (std::uint64_t i = 0; i < kOperations; ++i) {
      const std::uint64_t in_block = i % kBlock;
      const std::uint64_t swapped = in_block == 8 ? i + 1 : in_block == 9 ? i - 1 : i;
      const auto psn = static_cast<UnwrappedPsn>(swapped);
      RL_CHECK(receiver_->classify(psn) <= Arrival::kOutOfOrder);
      receiver_->accept(psn, in_block == kBlock - 1);
    }
    return kOperations;
  }

 private:
  std::optional<IrnReceiver> receiver_;
};

// Senders whose bitmap reaches over kWindow packets; what differs is what they are asked.
class OfSenders : public CostLoop {
 public:
  void prepare() override {
    IrnConfig config;
    config.bdp_cap = 0;  // the bitmap is the window
    config.bitmap_packets = kWindow;
    senders_.clear();
    for (std::uint64_t i = 0; i < kOperations / kWindow; ++i) senders_.emplace_back(config, true, 0);
    begin();
  }

 protected:
  static constexpr std::uint32_t kWindow = 128;
  virtual void begin() {}
  void send_all() {
    for (IrnSender& sender : senders_)
      for (std::uint32_t i = 0; i < kWindow; ++i) sender.pull(kWindow, now_ = now_ + kStep);
  }
  std::vector<IrnSender> senders_;
  Time now_;
};

class TxFree final : public OfSenders {
 public:
  std::uint64_t run() override {
    send_all();
    return kOperations;
  }
};

// Cumulative acknowledgements, but of the eight packets behind a lost one in each window: these are NACKed.
class ReceiveAck final : public OfSenders {
 public:
  void begin() override { send_all(); }
  std::uint64_t run() override {
    constexpr UnwrappedPsn kLost = 64, kNacked = 8;
    for (IrnSender& sender : senders_) {
      for (UnwrappedPsn psn = 0; psn < kWindow; ++psn) {
        now_ = now_ + kStep;
        if (psn == kLost)
          sender.on_ack(kLost, now_);  // again: nothing new
        else if (psn > kLost && psn <= kLost + kNacked)
          sender.on_nack(kLost, psn, now_);
        else
          sender.on_ack(psn + 1, now_);
      }
    }
    return kOperations;
  }
};

// RTO_low has passed with more than N packets in flight: the timer is extended to RTO_high.
class Timeout final : public OfSenders {
 public:
  void begin() override {
    for (IrnSender& sender : senders_)
      for (std::uint32_t i = 0; i < kInFlight; ++i) sender.pull(kInFlight, Time::zero());
  }
  std::uint64_t run() override {
    const Time due = Time::zero() + IrnConfig().rto_low;
    for (IrnSender& sender : senders_) RL_CHECK(sender.on_timeout(due) == TimeoutKind::kNone);
    return senders_.size();
  }

 private:
  static constexpr std::uint32_t kInFlight = 8;
};

// Once per T, from a queue that rises and falls around Q_ref.
class FairRate final : public CostLoop {
 public:
  void prepare() override { cp_.emplace(RoccSettings().params(40_Gbps)); }
  std::uint64_t run() override {
    const Bytes middle = cp_->params().q_ref;
    for (std::uint64_t i = 0; i < kOperations; ++i)
      sum_ += cp_->update(middle + Bytes::from_count(static_cast<std::int64_t>(i * 7919 % 20'000) - 10'000));
    RL_CHECK(sum_ > 0);
    return kOperations;
  }

 private:
  std::optional<RoccCp> cp_;
  std::uint64_t sum_ = 0;
};

// The table bounded by age (3.3.4, 2) with 1,024 flows, of which each frame is of another.
class FlowTable final : public CostLoop {
 public:
  void prepare() override {
    table_ = make_rocc_flow_table({RoccFlowTableKind::kAge, kFlows}, kFlows, Rng(1));
    now_ = Time::zero();
    for (std::uint32_t i = 0; i < kFlows; ++i) table_->on_frame(flow(i), now_);
  }
  std::uint64_t run() override {
    for (std::uint64_t i = 0; i < kOperations; ++i)
      table_->on_frame(flow(static_cast<std::uint32_t>(i * 769 % kFlows)), now_);
    return kOperations;
  }

 private:
  static constexpr std::uint32_t kFlows = 1024;
  static SwitchFlow flow(std::uint32_t number) { return {NodeId{1}, NodeId{2}, Qpn{number + 1}, PortId{0}}; }
  std::unique_ptr<RoccFlowTable> table_;
  Time now_;
};

// A queue of a port, with the index by which frames are extracted.
class OfQueue : public CostLoop {
 public:
  void prepare() override {
    queues_.emplace(1, QueueOrder::kFifo);
    for (std::uint32_t i = 0; i < kDepth; ++i) push(0);
    push(1);
    RL_CHECK(extract(1));  // from now on there is an index
  }

 protected:
  static constexpr std::uint32_t kDepth = 128;
  void push(std::uint32_t flow) {
    PacketRef packet = pool_.make();
    packet->frame_length = 1098;
    packet->roce.dest = Qpn{flow};
    queues_->push(PortId{0}, Tc{3}, {std::move(packet), PortId{0}});
  }
  bool extract(std::uint32_t flow) {
    return queues_->extract(PortId{0}, Tc{3}, SwitchFlow{{}, {}, Qpn{flow}, {}}.key()).has_value();
  }
  PacketPool pool_;  // outlives the queues
  std::optional<EgressQueues> queues_;
};

// Two operations, an enqueue and a dequeue, behind 128 frames.
class Queue final : public OfQueue {
 public:
  std::uint64_t run() override {
    for (std::uint64_t i = 0; i < kOperations / 2; ++i) {
      push(0);
      RL_CHECK(queues_->pop(PortId{0}, Tc{3}).packet->frame_length > 0);
    }
    return kOperations;
  }
};

// The frames of one flow are taken out behind those of another; all are there before.
class Extract final : public OfQueue {
 public:
  void prepare() override {
    OfQueue::prepare();
    for (std::uint64_t i = 0; i < kOperations; ++i) push(1);
    RL_CHECK(extract(1));
    push(1);
  }
  std::uint64_t run() override {
    for (std::uint64_t i = 0; i < kOperations; ++i) RL_CHECK(extract(1));
    return kOperations;
  }
};

constexpr CostOperation kOperationsOf[] = {
    {"receiveData", "irn", "a packet arrives: expected PSN and bitmaps; two of 16 in the wrong order", 45.45,
     "table 4.9"},
    {"txFree", "irn", "which packet leaves next", 47.17, "table 4.9"},
    {"receiveAck", "irn", "an acknowledgement, or one of eight NACKs in 128", 46.99, "table 4.9"},
    {"timeout", "irn", "RTO_low passes, the timer is extended to RTO_high", 318.47, "table 4.9"},
    {"fairRate", "rocc", "F of a congestion point, once per T", 370,
     "3.5: the congestion point's clock in MHz, an update a cycle"},
    {"flowTable", "rocc", "a frame is noted in a table of 1,024 flows", 200.56,
     "3.5, 4.5.2: II of 1 at 200.56 MHz"},
    {"queue", "escape", "a frame joins or leaves a queue with an index of flows", 226.7, "4.5.2"},
    {"extract", "escape", "the first frame of a flow is taken out of a queue", 75.7, "4.5.2: 13.23 ns"},
};

}  // namespace

std::span<const CostOperation> cost_operations() { return kOperationsOf; }

std::unique_ptr<CostLoop> make_cost_loop(std::string_view name) {
  if (name == "receiveData") return std::make_unique<ReceiveData>();
  if (name == "txFree") return std::make_unique<TxFree>();
  if (name == "receiveAck") return std::make_unique<ReceiveAck>();
  if (name == "timeout") return std::make_unique<Timeout>();
  if (name == "fairRate") return std::make_unique<FairRate>();
  if (name == "flowTable") return std::make_unique<FlowTable>();
  if (name == "queue") return std::make_unique<Queue>();
  if (name == "extract") return std::make_unique<Extract>();
  return nullptr;
}

}  // namespace rocelab
