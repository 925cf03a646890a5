#include "base/wire/opcode.h"

#include <gtest/gtest.h>

#include <set>

namespace rocelab {
namespace {

// Numbers, names and header lengths as wireshark's and the kernel's tables have them, written down a second
// time by hand for a sample of every class; the whole table is checked by the static_asserts beside it.
TEST(OpcodeTest, KnowsNumbersNamesAndHeaderLengths) {
  struct Want {
    std::uint8_t opcode;
    std::string_view name;
    std::size_t header_bytes;
  };
  for (const auto& [opcode, name, bytes] : {Want{0x00, "RC_SEND_FIRST", 12},
                                            Want{0x03, "RC_SEND_LAST_WITH_IMMEDIATE", 16},
                                            Want{0x06, "RC_RDMA_WRITE_FIRST", 28},
                                            Want{0x09, "RC_RDMA_WRITE_LAST_WITH_IMMEDIATE", 16},
                                            Want{0x0b, "RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE", 32},
                                            Want{0x0c, "RC_RDMA_READ_REQUEST", 28},
                                            Want{0x0d, "RC_RDMA_READ_RESPONSE_FIRST", 16},
                                            Want{0x0e, "RC_RDMA_READ_RESPONSE_MIDDLE", 12},
                                            Want{0x11, "RC_ACKNOWLEDGE", 16},
                                            Want{0x12, "RC_ATOMIC_ACKNOWLEDGE", 24},
                                            Want{0x13, "RC_COMPARE_SWAP", 40},
                                            Want{0x14, "RC_FETCH_ADD", 40},
                                            Want{0x17, "RC_SEND_ONLY_WITH_INVALIDATE", 16},
                                            Want{0x1c, "RC_FLUSH", 32},
                                            Want{0x1d, "RC_ATOMIC_WRITE", 28},
                                            Want{0x2b, "UC_RDMA_WRITE_ONLY_WITH_IMMEDIATE", 32},
                                            Want{0x64, "UD_SEND_ONLY", 20},
                                            Want{0x65, "UD_SEND_ONLY_WITH_IMMEDIATE", 24},
                                            Want{0x81, "CNP", 28},
                                            Want{0xa0, "XRC_SEND_FIRST", 16},
                                            Want{0xaa, "XRC_RDMA_WRITE_ONLY", 32},
                                            Want{0xb1, "XRC_ACKNOWLEDGE", 16},
                                            Want{0xb3, "XRC_COMPARE_SWAP", 44},
                                            Want{0xc0, "IRN_SEND_FIRST", 20},
                                            Want{0xc5, "IRN_SEND_ONLY_WITH_IMMEDIATE", 24},
                                            Want{0xc7, "IRN_RDMA_WRITE_MIDDLE", 28},
                                            Want{0xcb, "IRN_RDMA_WRITE_ONLY_WITH_IMMEDIATE", 36},
                                            Want{0xcc, "IRN_RDMA_READ_REQUEST", 32},
                                            Want{0xd1, "IRN_ACKNOWLEDGE", 16},
                                            Want{0xd7, "IRN_SEND_ONLY_WITH_INVALIDATE", 24},
                                            Want{0xd8, "IRN_NACK", 20},
                                            Want{0xd9, "IRN_READ_ACK", 12},
                                            Want{0xda, "IRN_READ_NACK", 16},
                                            Want{0xdb, "IRN_ACKNOWLEDGE_BLOCKS", 44},
                                            Want{0xde, "IRN_READ_ACK_BLOCKS", 40}}) {
    EXPECT_EQ(opcode_info(opcode).name, name);
    EXPECT_EQ(opcode_info(opcode).header_bytes, bytes) << name;
  }
}

TEST(OpcodeTest, DoesNotKnowWhatNoClassDefines) {
  std::set<unsigned> known;
  for (unsigned opcode = 0; opcode < 256; ++opcode)
    if (opcode_info(static_cast<std::uint8_t>(opcode)).known()) known.insert(opcode);
  EXPECT_EQ(known.size(), 91u);
  for (const unsigned reserved : {0x15u, 0x18u, 0x1eu, 0x2cu, 0x40u, 0x60u, 0x66u, 0x80u, 0x82u, 0xb5u, 0xbcu,
                                  0xd5u, 0xdcu, 0xe0u, 0xffu})
    EXPECT_FALSE(known.contains(reserved)) << reserved;
}

TEST(OpcodeTest, OnlyTheLastPacketOfAMessageCarriesImmediateData) {
  for (const OpcodeInfo& info : kOpcodes)
    if (info.known() && info.has_imm()) {
      EXPECT_TRUE(info.ends_message()) << info.name;
    }
}

TEST(OpcodeTest, IrnAcknowledgesReadResponsesAndRoceDoesNot) {
  for (const auto op : {Operation::kReadResponseFirst, Operation::kReadResponseMiddle,
                        Operation::kReadResponseLast, Operation::kReadResponseOnly}) {
    EXPECT_FALSE(opcode_info(TransportClass::kRc, op).expects_ack);
    EXPECT_TRUE(opcode_info(TransportClass::kIrn, op).expects_ack);
  }
}

}  // namespace
}  // namespace rocelab
