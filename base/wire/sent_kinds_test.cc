#include "base/wire/sent_kinds.h"

#include <gtest/gtest.h>

namespace rocelab {
namespace {

SentKind kind(TransportClass transport, Operation operation) {
  Packet packet;
  packet.roce.opcode = make_opcode(transport, operation);
  return sent_kind(packet);
}

TEST(SentKinds, AnOpcodeTellsWhatAFrameIsFor) {
  using enum TransportClass;
  for (const TransportClass transport : {kRc, kIrn}) {
    EXPECT_EQ(kind(transport, Operation::kSendOnly), SentKind::k_data);
    EXPECT_EQ(kind(transport, Operation::kReadResponseMiddle), SentKind::k_data);
    EXPECT_EQ(kind(transport, Operation::kReadRequest), SentKind::k_request);
    EXPECT_EQ(kind(transport, Operation::kFetchAdd), SentKind::k_request);
    EXPECT_EQ(kind(transport, Operation::kAck), SentKind::k_ack);
    EXPECT_EQ(kind(transport, Operation::kAtomicAck), SentKind::k_ack);
  }
  EXPECT_EQ(kind(kIrn, Operation::kReadAck), SentKind::k_ack);
  EXPECT_EQ(kind(kIrn, Operation::kNack), SentKind::k_nack);
  EXPECT_EQ(kind(kIrn, Operation::kReadNack), SentKind::k_nack);
  EXPECT_EQ(kind(kCnp, Operation::kNotify), SentKind::k_cnp);
  EXPECT_EQ(kind(kUd, Operation::kSendOnly), SentKind::k_data);
}

TEST(SentKinds, FeedbackHasNoOpcodeAndLinkLocalFramesAreToldByTheirKind) {
  const auto check = []<class T>(std::type_identity<T>) {
    Packet packet;
    packet.roce.opcode = make_opcode(TransportClass::kRc, Operation::kSendOnly);
    T body;
    put_control(packet, body);
    if (is_feedback(packet.kind))
      EXPECT_EQ(sent_kind(packet), SentKind::k_feedback);
    else
      EXPECT_NE(link_local_kind(packet.kind), SentKind::k_other);
  };
  [&]<class... T>(TypeList<T...>) { (check(std::type_identity<T>()), ...); }(Controls());
  EXPECT_EQ(link_local_kind(PacketKind::kEscapeAnnouncement), SentKind::k_escape_announcement);
}

}  // namespace
}  // namespace rocelab
