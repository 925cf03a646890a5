#include "ovs_patches/openqueue/fields.h"

namespace rocelab::oq {
namespace {

template <class F>
constexpr std::uint8_t number(F field) {
  return static_cast<std::uint8_t>(field);
}

constexpr Field kPacketFields[] = {
    Field{"arrival", number(PacketField::kArrival), Dim::kTime, true, "instant at which it joined its queue"},
    Field{"size", number(PacketField::kSize), Dim::kBytes, true, "length of the frame"},
    Field{"tx", number(PacketField::kTx), Dim::kTime, true, "its time on the wire of the link out"},
    Field{"class", number(PacketField::kClass), Dim::kNumber, true, "traffic class, 0 to 7"},
    Field{"dscp", number(PacketField::kDscp), Dim::kNumber, true, "0 to 63"},
    Field{"ecn", number(PacketField::kEcn), Dim::kNumber, true,
          "ECN bits of the IP header, 0 to 3, on arrival"},
    Field{"in", number(PacketField::kIn), Dim::kNumber, true, "ingress port"},
    Field{"out", number(PacketField::kOut), Dim::kNumber, true, "egress port"},
    Field{"flow", number(PacketField::kFlow), Dim::kFlow, false, "its flow: only == and !="},
    Field{"slack", number(PacketField::kSlack), Dim::kTime, true, "time that it may still wait"},
    Field{"value", number(PacketField::kValue), Dim::kNumber, true, "by `set value`, and modify"},
    Field{"processing", number(PacketField::kProcessing), Dim::kNumber, true, "cycles, by `set processing`"},
    Field{"held", number(PacketField::kHeld), Dim::kBytes, false,
          "bytes of its ingress port and class in the switch"},
    Field{"xoff", number(PacketField::kXoff), Dim::kBytes, false,
          "where that ingress port and class asks for a pause"},
    Field{"xon", number(PacketField::kXon), Dim::kBytes, false, "where it ends one"},
};
constexpr Field kQueueFields[] = {
    Field{"size", number(QueueField::kSize), Dim::kAny, true, "as declared"},
    Field{"currSize", number(QueueField::kCurrSize), Dim::kAny, false, "what waits, in the unit of size"},
    Field{"bytes", number(QueueField::kBytes), Dim::kBytes, false, "bytes that wait"},
    Field{"packets", number(QueueField::kPackets), Dim::kPackets, false, "packets that wait"},
    Field{"index", number(QueueField::kIndex), Dim::kNumber, true, "within its port, from 0"},
    Field{"strict", number(QueueField::kStrict), Dim::kNumber, true, "as set; 0: not strict"},
    Field{"quantum", number(QueueField::kQuantum), Dim::kAny, true, "as set"},
    Field{"delay", number(QueueField::kDelay), Dim::kTime, false, "time on the wire of what waits"},
    Field{"arrivals", number(QueueField::kArrivals), Dim::kNumber, false,
          "arrivals[packet.in]: frames of that ingress port that it took while it held countAbove or more, "
          "since it last held no more than that"},
};
constexpr Field kBufferFields[] = {
    Field{"size", number(BufferField::kSize), Dim::kAny, true, "as declared"},
    Field{"currSize", number(BufferField::kCurrSize), Dim::kAny, false,
          "what waits in its queues, in the unit of size"},
    Field{"bytes", number(BufferField::kBytes), Dim::kBytes, false, "bytes that wait in its queues"},
    Field{"packets", number(BufferField::kPackets), Dim::kPackets, false, "packets that wait in its queues"},
    Field{"currQueue", number(BufferField::kCurrQueue), Dim::kNumber, false,
          "place in its list of the queue that lost last"},
};
constexpr Field kPortFields[] = {
    Field{"rate", number(PortField::kRate), Dim::kRate, true, "at which its frames leave"},
    Field{"lineRate", number(PortField::kLineRate), Dim::kRate, true, "of its link"},
    Field{"index", number(PortField::kIndex), Dim::kNumber, true, "of the switch's ports, from 0"},
    Field{"currQueue", number(PortField::kCurrQueue), Dim::kNumber, false,
          "index of the queue whose turn it is; without a turn, of the one that sent last"},
};
constexpr StateName kStates[] = {
    StateName{"schedState", kSchedState, true, false, true},
    StateName{"admState", kAdmState, true, true, false},
    StateName{"weightAdm", kWeightAdm, true, false, false},
    StateName{"weightSched", kWeightSched, true, false, false},
};
constexpr Property kProperties[] = {
    Property{"procPrio", ObjectKind::kQueue, "order of service"},
    Property{"dropFirst", ObjectKind::kQueue, "order of dropping: the first is dropped"},
    Property{"admPrio", ObjectKind::kQueue, "the chapter's name of dropFirst"},
    Property{"congestion", ObjectKind::kQueue, "cases asked after each arrival"},
    Property{"congAction", ObjectKind::kQueue, "action of a congestion that is only a predicate"},
    Property{"postAdmAct", ObjectKind::kQueue, "cases for a packet that was stored"},
    Property{"strict", ObjectKind::kQueue, "above 0: served by a port's strict order"},
    Property{"quantum", ObjectKind::kQueue, "what a turn may add: bytes, packets or a number"},
    Property{"countAbove", ObjectKind::kQueue, "bytes from which on arrivals are counted"},
    Property{"dropFrom", ObjectKind::kBuffer, "order of queues: the first loses a packet"},
    Property{"queuePrio", ObjectKind::kBuffer, "order of queues: the last loses a packet"},
    Property{"congestion", ObjectKind::kBuffer, "cases asked after each arrival in one of its queues"},
    Property{"congAction", ObjectKind::kBuffer, "action of a congestion that is only a predicate"},
    Property{"postAdmAct", ObjectKind::kBuffer, "cases for a packet that was stored"},
    Property{"schedPrio", ObjectKind::kPort, "order of queues, turn, or strict .. then .."},
    Property{"postSchedAct", ObjectKind::kPort, "cases for a packet that leaves"},
    Property{"cycle", ObjectKind::kPort, "time per packet.processing before a packet leaves"},
};

}  // namespace

std::span<const Field> packet_fields() { return kPacketFields; }
std::span<const Field> queue_fields() { return kQueueFields; }
std::span<const Field> buffer_fields() { return kBufferFields; }
std::span<const Field> port_fields() { return kPortFields; }
std::span<const Field> fields_of(ObjectKind kind) {
  return kind == ObjectKind::kQueue    ? queue_fields()
         : kind == ObjectKind::kBuffer ? buffer_fields()
                                       : port_fields();
}
std::span<const StateName> chapter_states() { return kStates; }
std::span<const Property> properties() { return kProperties; }

const Field* find_field(std::span<const Field> fields, const std::string& name) {
  for (const Field& field : fields)
    if (name == field.name) return &field;
  return nullptr;
}

}  // namespace rocelab::oq
