// The engine against Linux rxe: the same operations, between two Nics, give the packets that the kernel's
// driver sent when the captures of tests/data/captures were recorded: opcodes, PSNs, AckReq, solicited,
// lengths, pad, frame length, AETH syndrome and MSN, per direction and in order. Not compared: MigReq (rxe
// clears it, hardware sets it), addresses, keys, immediate data, payload bytes.
#include <gtest/gtest.h>

#include "base/wire/pcap.h"
#include "base/wire/test_frames.h"
#include "irn_provider/nic/pair_fixture.h"

namespace rocelab {
namespace {

struct Case {
  const char* file;
  WrOpcode opcode;
  std::uint32_t size;
  int count;
  // What the capture's command line or its loss rule says otherwise.
  bool batch = false, solicited = false, bad_key = false;
  QpType type = QpType::kRc;
  std::uint32_t mtu = 1024, psn = 0x100000, access = Endpoint::kAllAccess;
  // (side, PSN - first PSN, how many times) that the link loses.
  int lose_side = -1;
  std::uint32_t lose_psn = 0;
  int lose_times = 0;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.file; }

// Fields of a packet that must agree, as text.
std::string line(const RoceHeaders& h, std::uint32_t payload, std::uint32_t frame, bool restarted_read) {
  const OpcodeInfo& info = opcode_info(h.opcode);
  std::string text(info.name);
  // After a repeated READ request rxe goes on with MIDDLE where the standard begins with FIRST
  // (IBTA 9.7.5.1.3).
  if (restarted_read && info.operation == Operation::kReadResponseFirst)
    text = "RC_RDMA_READ_RESPONSE_MIDDLE", frame -= 4;
  text += " psn " + std::to_string(h.psn.value()) + " payload " + std::to_string(payload) + " pad " +
          std::to_string(h.pad) + " frame " + std::to_string(frame);
  if (h.ack_req) text += " AckReq";
  if (h.solicited) text += " solicited";
  if (info.has(Header::kReth)) text += " dma " + std::to_string(h.dma_length);
  if (info.has(Header::kAeth) && text.find("MIDDLE") == std::string::npos)
    text += " syndrome " + std::to_string(h.syndrome) + " msn " + std::to_string(h.msn.value);
  return text;
}

// The capture's packets from the client (0) or the server (1); the client sends first.
std::vector<std::string> captured(const char* file, int side) {
  const auto bytes = test::read_file(test::own_captures() / file);
  auto reader = PcapReader::open(bytes);
  std::vector<std::string> lines;
  std::optional<Gid> client;
  while (const auto frame = reader->next()) {
    const auto parsed = parse_frame(frame->bytes);
    EXPECT_TRUE(parsed);
    if (!client) client = parsed->address.src_gid;
    if ((parsed->address.src_gid == *client) == (side == 0))
      lines.push_back(line(parsed->roce, static_cast<std::uint32_t>(parsed->payload.size()),
                           parsed->layout.length, false));
  }
  return lines;
}

std::vector<std::string> ours(const NicPair& pair, int side, std::uint32_t first_psn) {
  std::vector<std::string> lines;
  for (const Departure& d : pair.log) {
    const bool restarted = d.packet.roce.psn != Psn(first_psn) && d.packet.retransmission;
    if (d.side == side)
      lines.push_back(line(d.packet.roce, d.packet.payload_length, d.packet.frame_length, restarted));
  }
  return lines;
}

class CaptureTest : public testing::TestWithParam<Case> {};

constexpr auto kSend = WrOpcode::kSend, kSendImm = WrOpcode::kSendImm, kWrite = WrOpcode::kWrite,
               kWriteImm = WrOpcode::kWriteImm, kRead = WrOpcode::kRead,
               kCompareSwap = WrOpcode::kCompareSwap, kFetchAdd = WrOpcode::kFetchAdd;
constexpr std::uint32_t kNoRemoteWrite = kAccessLocalWrite | kAccessRemoteRead;

INSTANTIATE_TEST_SUITE_P(
    Rxe, CaptureTest,
    testing::Values(
        Case{.file = "rc_send.pcap", .opcode = kSend, .size = 64, .count = 3},
        Case{.file = "rc_send_multi.pcap", .opcode = kSend, .size = 5000, .count = 2, .psn = 0x300000},
        Case{.file = "rc_send_pad.pcap", .opcode = kSend, .size = 61, .count = 1},
        Case{.file = "rc_send_zero.pcap", .opcode = kSend, .size = 0, .count = 1},
        Case{.file = "rc_send_imm.pcap", .opcode = kSendImm, .size = 64, .count = 2},
        Case{.file = "rc_send_solicited.pcap", .opcode = kSend, .size = 16, .count = 1, .solicited = true},
        Case{.file = "rc_write.pcap", .opcode = kWrite, .size = 8000, .count = 2},
        Case{.file = "rc_write_only.pcap", .opcode = kWrite, .size = 64, .count = 2},
        Case{.file = "rc_write_zero.pcap", .opcode = kWrite, .size = 0, .count = 1},
        Case{.file = "rc_write_imm.pcap", .opcode = kWriteImm, .size = 3000, .count = 2},
        Case{.file = "rc_write_psnwrap.pcap", .opcode = kWrite, .size = 8000, .count = 1, .psn = 0xfffffc},
        Case{.file = "rc_mtu256.pcap", .opcode = kWrite, .size = 1000, .count = 1, .mtu = 256},
        Case{.file = "rc_mtu4096.pcap", .opcode = kWrite, .size = 10'000, .count = 1, .mtu = 4096},
        Case{.file = "rc_read.pcap", .opcode = kRead, .size = 8000, .count = 2},
        Case{.file = "rc_read_only.pcap", .opcode = kRead, .size = 64, .count = 1},
        Case{.file = "rc_read_pipelined.pcap", .opcode = kRead, .size = 3000, .count = 8, .batch = true},
        Case{.file = "rc_atomic_cas.pcap", .opcode = kCompareSwap, .size = 8, .count = 2},
        Case{.file = "rc_atomic_faa.pcap", .opcode = kFetchAdd, .size = 8, .count = 3},
        Case{.file = "loss_atomic_ack.pcap",
             .opcode = kFetchAdd,
             .size = 8,
             .count = 2,
             .lose_side = 1,
             .lose_psn = 0,
             .lose_times = 1},
        Case{.file = "uc_send.pcap", .opcode = kSend, .size = 3000, .count = 2, .type = QpType::kUc},
        Case{.file = "uc_write.pcap", .opcode = kWrite, .size = 5000, .count = 2, .type = QpType::kUc},
        Case{.file = "ud_send.pcap", .opcode = kSend, .size = 512, .count = 3, .type = QpType::kUd},
        Case{.file = "ud_send_imm.pcap", .opcode = kSendImm, .size = 512, .count = 2, .type = QpType::kUd},
        Case{.file = "loss_write_mid.pcap",
             .opcode = kWrite,
             .size = 8000,
             .count = 1,
             .lose_side = 0,
             .lose_psn = 3,
             .lose_times = 1},
        Case{.file = "loss_send_burst.pcap",
             .opcode = kSend,
             .size = 64,
             .count = 6,
             .batch = true,
             .lose_side = 0,
             .lose_psn = 2,
             .lose_times = 1},
        Case{.file = "loss_ack_write.pcap",
             .opcode = kWrite,
             .size = 64,
             .count = 2,
             .lose_side = 1,
             .lose_psn = 0,
             .lose_times = 1},
        Case{.file = "loss_read_resp_mid.pcap",
             .opcode = kRead,
             .size = 8000,
             .count = 1,
             .lose_side = 1,
             .lose_psn = 3,
             .lose_times = 1},
        Case{.file = "err_bad_rkey_write.pcap", .opcode = kWrite, .size = 64, .count = 1, .bad_key = true},
        Case{.file = "err_no_remote_write.pcap",
             .opcode = kWrite,
             .size = 64,
             .count = 1,
             .access = kNoRemoteWrite},
        Case{.file = "err_retry_exceeded.pcap",
             .opcode = kWrite,
             .size = 64,
             .count = 3,
             .lose_side = 0,
             .lose_psn = 1,
             .lose_times = 100}),
    [](const auto& one) {
      const std::string name = one.param.file;
      return name.substr(0, name.find('.'));
    });

TEST_P(CaptureTest, TheSamePacketsAsTheKernel) {
  const Case& c = GetParam();
  NicPair pair;
  pair.attr.path_mtu = c.mtu, pair.attr.access_flags = c.access;
  pair.attr.timeout = 12, pair.attr.retry_cnt = 3;
  pair.type = c.type;
  pair.connect(c.psn);
  const Ahn ah = *pair.a.nic.create_ah(pair.a.pd, pair.attr.path);
  int times = 0;
  pair.lose = [&](const Departure& d) {
    return d.side == c.lose_side && d.packet.roce.psn == Psn(c.psn + c.lose_psn) && times++ < c.lose_times;
  };
  int posted = 0;
  const auto post = [&] {
    SendWqe w = pair.wqe(c.opcode, 0, 0, c.size, static_cast<std::uint64_t>(++posted));
    w.solicited = c.solicited;
    if (c.type == QpType::kUd) w.ah = ah, w.remote_qpn = pair.b.qp;
    if (c.bad_key) w.rkey.value += 0x10000;
    ASSERT_EQ(pair.post(w), PostResult::kOk);
  };
  pair.on_cqe = [&](NicPair& p, Endpoint& e, const Cqe& cqe) {
    const bool next = &e == &p.a && cqe.status == WcStatus::kSuccess;
    if (next && posted < c.count) post();
  };
  const bool receives = c.opcode == kSend || c.opcode == kSendImm || c.opcode == kWriteImm;
  for (int i = 0; i < c.count && receives; ++i) pair.post_receive(0, kGrhBytes + c.size);
  for (int i = 0; i < (c.batch ? c.count : 1); ++i) post();
  pair.run();
  ASSERT_FALSE(captured(c.file, 0).empty());
  ASSERT_EQ(captured(c.file, 1).empty(), c.type != QpType::kRc);
  EXPECT_EQ(ours(pair, 0, c.psn), captured(c.file, 0));
  EXPECT_EQ(ours(pair, 1, c.psn), captured(c.file, 1));
}

}  // namespace
}  // namespace rocelab
