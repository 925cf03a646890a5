// Preemption (Mittal, 5.1.2 and A.3; preempt-resume): a frame that arrives with a smaller rank than that of
// its class's frame on the wire stops it at once. The rest keeps its rank and its place among equals, and
// what has been sent is not sent again; nothing is added to either piece, and the peer has the frame with its
// last bit. That is the theory's wire, not that of IEEE 802.1Qbu. SwitchNode has the wires; Switch alone
// sends whole frames.
#include "base/check.h"
#include "ovs_patches/switch_model/switch_path.h"

namespace rocelab {

// The port's wire is free. True: a frame of a preempting class is on it from now on, until OnWire::ends.
// False: another one leaves as a whole, if any does.
bool SwitchCore::begin_piece(PortId port_id, Port& port, const WireClock& clock, Time now, PacketRef& whole) {
  const TcMask sendable = port.sendable();
  if (port.requests.frame_due() || port.urgent || (sendable & preempting_classes) == 0) {
    whole = transmit(port_id, port, now);
    return false;
  }
  const Tc tc = port.scheduler.pick(sendable, [&](Tc c) { return queues.head_length(port_id, c); });
  EgressQueues::Queue& queue = queues.at(port_id, tc);
  if ((preempting_classes & bit_of(tc)) == 0) {
    whole = take(port_id, port, tc, queues.pop(queue), now);
    if (sees_transmit) mechanisms.on_transmit(port_id, *whole, now);
    return false;
  }
  const std::uint32_t node = queues.first(queue);
  const Duration rest = clock.wire_time(queues.length(node)) - queues.sent(node);
  on_wire[port_id.value] = {node, tc, now, now + rest, false};
  return true;
}

// The last bit of the frame on the wire. To mechanisms it began to leave as long ago as it takes in one
// piece: its waiting is all the rest (A.3).
PacketRef SwitchCore::end_piece(PortId port_id, Port& port, const WireClock& clock, Time now) {
  const OnWire ended = std::exchange(on_wire[port_id.value], {});
  RL_CHECK(ended.node != EgressQueues::kNil && ended.ends == now);
  const Duration whole = clock.wire_time(queues.length(ended.node));
  PacketRef packet =
      take(port_id, port, ended.tc, queues.pop_node(queues.at(port_id, ended.tc), ended.node), now);
  if (sees_transmit) mechanisms.on_transmit(port_id, *packet, now - whole);
  return packet;
}

// A frame has joined the class's queue.
void SwitchCore::stop_piece(PortId port_id, Port& port, Tc tc, Time now) {
  OnWire& sent = on_wire[port_id.value];
  if (sent.node == EgressQueues::kNil || sent.tc != tc || sent.ends <= now ||
      queues.first(queues.at(port_id, tc)) == sent.node)
    return;
  queues.sent(sent.node) += now - sent.begun;
  sent = {};
  sent.stopped = true;
  list_ready(port_id, port);
}

}  // namespace rocelab
