// TelemetryEcho: the INT of received packets whose acknowledgements have not left yet, in their order, so
// that each acknowledgement brings back what its packet collected (HPCC, SIGCOMM 2019, 3.1: "the receiver
// copies all the meta-data recorded by the switches into the ACK"). Costs nothing unless the NIC runs HPCC.
#pragma once

#include "base/packet.h"
#include "base/ring.h"

namespace rocelab {

class TelemetryEcho {
 public:
  explicit TelemetryEcho(bool on) : on_(on) {}

  void on_packet(const Packet& packet) {  // the packet in hand, which the next answers are about
    if (!on_) return;
    const Telemetry* found = PacketPool::telemetry_of(packet);
    in_hand_ = found != nullptr ? *found : Telemetry{};
  }
  void on_answer() {
    if (on_) waiting_.push_back(in_hand_);
  }
  void replace_newest() {  // one acknowledgement stands for the newest and the one before it
    if (on_) waiting_.back() = in_hand_;
  }
  void drop_oldest() {
    if (on_) waiting_.pop_front();
  }
  // Into the acknowledgement of the oldest answer, complete but for this. It grows by the shim.
  void put(Packet& ack) {
    if (!on_) return;
    const Telemetry telemetry = waiting_.take_front();
    if (telemetry.hops == 0) return;
    PacketPool::telemetry(ack) = telemetry;
    ack.roce.telemetry_hops = telemetry.hops;
    ack.frame_length += Telemetry::shim_bytes(telemetry.hops);
  }
  void clear() { waiting_.clear(); }

 private:
  bool on_;
  Telemetry in_hand_;
  Ring<Telemetry> waiting_;
};

}  // namespace rocelab
