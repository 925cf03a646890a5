// PathEcho: what switches have written into received packets whose acknowledgements have not left yet, in
// their order, so that each acknowledgement brings back what its packet collected: INT (HPCC, SIGCOMM
// 2019, 3.1: "the receiver copies all the meta-data recorded by the switches into the ACK"), and RCP's header
// (Dukkipati, 2007: the receiver copies the rate into the acknowledgement). Costs nothing unless the NIC runs
// HPCC or RCP.
#pragma once

#include <optional>

#include "base/packet.h"
#include "base/rcp.h"
#include "base/ring.h"
#include "base/wire/shim_rcp.h"
#include "irn_provider/cc/cc_needs.h"

namespace rocelab {

// `Form` says how a packet carries a Form::Value, if it carries one.
template <class Form>
class EchoOf {
 public:
  explicit EchoOf(bool on) : on_(on) {}

  void on_packet(const Packet& packet) {
    if (on_) in_hand_ = Form::of(packet);
  }
  void on_answer() {
    if (on_) waiting_.push_back(in_hand_);
  }
  void replace_newest() {
    if (on_) waiting_.back() = in_hand_;
  }
  void drop_oldest() {
    if (on_) waiting_.pop_front();
  }
  void put(Packet& ack) {
    if (on_) ack.frame_length += Form::put(ack, waiting_.take_front());
  }
  void clear() { waiting_.clear(); }

 private:
  bool on_;
  typename Form::Value in_hand_;
  Ring<typename Form::Value> waiting_;
};

struct EchoedInt {
  using Value = Telemetry;
  static Value of(const Packet& packet) {
    const Telemetry* found = PacketPool::telemetry_of(packet);
    return found != nullptr ? *found : Telemetry{};
  }
  static std::uint32_t put(Packet& ack, const Value& telemetry) {  // the bytes of the shim
    if (telemetry.hops == 0) return 0;
    PacketPool::telemetry(ack) = telemetry;
    ack.roce.telemetry_hops = telemetry.hops;
    return Telemetry::shim_bytes(telemetry.hops);
  }
};

struct EchoedRcp {
  using Value = std::optional<RcpHeader>;
  static Value of(const Packet& packet) { return rcp_of(packet); }
  static std::uint32_t put(Packet& ack, const Value& header) {
    if (!header) return 0;
    put_rcp(ack, *header);
    return kRcpShimBytes;
  }
};

class PathEcho {
 public:
  explicit PathEcho(const CcNeeds& needs) : telemetry_(needs.telemetry), rcp_(needs.path_rate) {}

  void on_packet(const Packet& packet) {  // the packet in hand, which the next answers are about
    telemetry_.on_packet(packet), rcp_.on_packet(packet);
  }
  void on_answer() { telemetry_.on_answer(), rcp_.on_answer(); }
  void replace_newest() {  // one acknowledgement stands for the newest and the one before it
    telemetry_.replace_newest(), rcp_.replace_newest();
  }
  void drop_oldest() { telemetry_.drop_oldest(), rcp_.drop_oldest(); }
  // Into the acknowledgement of the oldest answer, complete but for this. It grows by the shim.
  void put(Packet& ack) { telemetry_.put(ack), rcp_.put(ack); }
  void clear() { telemetry_.clear(), rcp_.clear(); }

 private:
  EchoOf<EchoedInt> telemetry_;
  EchoOf<EchoedRcp> rcp_;
};

}  // namespace rocelab
