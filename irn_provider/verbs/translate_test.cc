#include "irn_provider/verbs/translate.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

namespace rocelab::verbs {
namespace {

QpInit qp() {
  QpInit init;
  init.caps = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 2, .max_recv_sge = 1, .max_inline = 8};
  return init;
}

TEST(TranslateTest, EveryOfferedOpcodeKeepsItsFields) {
  ibv_sge part{.addr = 0x1000, .length = 5, .lkey = 9};
  ibv_send_wr wr{};
  wr.wr_id = 42;
  wr.sg_list = &part;
  wr.num_sge = 1;
  wr.imm_data = htonl(0x11223344);
  wr.wr.rdma = {.remote_addr = 0x2000, .rkey = 7};
  for (const auto& [verbs, nic, imm, remote] : {std::tuple{IBV_WR_SEND, WrOpcode::kSend, false, false},
                                                {IBV_WR_SEND_WITH_IMM, WrOpcode::kSendImm, true, false},
                                                {IBV_WR_RDMA_WRITE, WrOpcode::kWrite, false, true},
                                                {IBV_WR_RDMA_WRITE_WITH_IMM, WrOpcode::kWriteImm, true, true},
                                                {IBV_WR_RDMA_READ, WrOpcode::kRead, false, true}}) {
    wr.opcode = verbs;
    SendWqe wqe;
    ASSERT_EQ(to_wqe(wr, qp(), wqe), 0);
    EXPECT_EQ(wqe.opcode, nic);
    EXPECT_EQ(wqe.wr_id, 42u);
    EXPECT_EQ(wqe.imm, imm ? 0x11223344u : 0u);
    EXPECT_EQ(wqe.remote_addr, remote ? 0x2000u : 0u);
    EXPECT_EQ(wqe.rkey.value, remote ? 7u : 0u);
    EXPECT_EQ(wqe.sge[0].addr, 0x1000u);
    EXPECT_EQ(wqe.sge[0].lkey.value, 9u);
  }
}

TEST(TranslateTest, AtomicsKeepTheirOperands) {
  ibv_sge part{.addr = 0x1000, .length = 8, .lkey = 9};
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
  wr.sg_list = &part;
  wr.num_sge = 1;
  wr.wr.atomic = {.remote_addr = 0x2000, .compare_add = 3, .swap = 4, .rkey = 7};
  SendWqe wqe;
  ASSERT_EQ(to_wqe(wr, qp(), wqe), 0);
  EXPECT_EQ(wqe.opcode, WrOpcode::kCompareSwap);
  EXPECT_EQ(wqe.remote_addr, 0x2000u);
  EXPECT_EQ(wqe.rkey.value, 7u);
  EXPECT_EQ(wqe.compare_add, 3u);
  EXPECT_EQ(wqe.swap, 4u);
  wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
  ASSERT_EQ(to_wqe(wr, qp(), wqe), 0);
  EXPECT_EQ(wqe.opcode, WrOpcode::kFetchAdd);
  wr.send_flags = IBV_SEND_INLINE;
  EXPECT_EQ(to_wqe(wr, qp(), wqe), EINVAL) << "nothing is sent that could be inline";
}

TEST(TranslateTest, FlagsAreKeptAndUnknownOnesIgnored) {
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = IBV_SEND_SOLICITED | IBV_SEND_FENCE;
  SendWqe wqe;
  ASSERT_EQ(to_wqe(wr, qp(), wqe), 0);
  EXPECT_TRUE(wqe.solicited && wqe.fence);
  EXPECT_FALSE(wqe.signaled || wqe.inline_data);
  QpInit all = qp();
  all.sq_sig_all = true;
  ASSERT_EQ(to_wqe(wr, all, wqe), 0);
  EXPECT_TRUE(wqe.signaled);
  wr.send_flags = IBV_SEND_IP_CSUM | 1u << 20;
  EXPECT_EQ(to_wqe(wr, qp(), wqe), 0) << "as adapters' libraries do";
  EXPECT_FALSE(wqe.solicited || wqe.fence || wqe.signaled || wqe.inline_data);
  wr.send_flags = 0;
  wr.opcode = IBV_WR_TSO;
  EXPECT_EQ(to_wqe(wr, qp(), wqe), EOPNOTSUPP);
}

TEST(TranslateTest, BindsAndInvalidatesKeepWhatTheyName) {
  ibv_mr mr{};
  mr.lkey = 9;
  ibv_mw mw{.context = nullptr, .pd = nullptr, .rkey = 0x80000107, .handle = 0, .type = IBV_MW_TYPE_2};
  ibv_send_wr wr{};
  wr.wr_id = 42;
  wr.opcode = IBV_WR_BIND_MW;
  wr.send_flags = IBV_SEND_FENCE;
  wr.bind_mw = {.mw = &mw,
                .rkey = 0x80000108,
                .bind_info = {.mr = &mr, .addr = 1ull << 40, .length = 1ull << 33, .mw_access_flags = 6}};
  SendWqe wqe;
  ASSERT_EQ(to_wqe(wr, qp(), wqe), 0);
  EXPECT_EQ(wqe.opcode, WrOpcode::kBindMw);
  EXPECT_EQ(wqe.wr_id, 42u);
  EXPECT_TRUE(wqe.fence);
  EXPECT_EQ(binding_of(wqe),
            (MwBinding{RKey{0x80000107}, RKey{0x80000108}, RKey{9}, 1ull << 40, 1ull << 33, 6}));
  wr.bind_mw.bind_info.mr = nullptr;
  EXPECT_EQ(to_wqe(wr, qp(), wqe), EINVAL) << "bytes of no region";
  wr.bind_mw.bind_info.mr = &mr;
  mw.type = IBV_MW_TYPE_1;
  EXPECT_EQ(to_wqe(wr, qp(), wqe), EINVAL) << "ibv_bind_mw binds type 1";
  wr.bind_mw.mw = nullptr;
  EXPECT_EQ(to_wqe(wr, qp(), wqe), EINVAL);
  wr = {};
  wr.opcode = IBV_WR_LOCAL_INV;
  wr.invalidate_rkey = 0x80000108;
  ASSERT_EQ(to_wqe(wr, qp(), wqe), 0);
  EXPECT_EQ(wqe.opcode, WrOpcode::kLocalInvalidate);
  EXPECT_EQ(wqe.imm, 0x80000108u);
  ibv_sge part{};
  wr.sg_list = &part, wr.num_sge = 1;
  EXPECT_EQ(to_wqe(wr, qp(), wqe), EINVAL) << "no data";
  wr.num_sge = 0, wr.send_flags = IBV_SEND_INLINE;
  EXPECT_EQ(to_wqe(wr, qp(), wqe), EINVAL);
}

TEST(TranslateTest, ListsAreBoundedByTheQueuePairAndMessagesByTheStandard) {
  ibv_sge parts[3] = {{0, 1u << 30, 1}, {0, 1u << 30, 1}, {0, 1, 1}};
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_SEND;
  wr.sg_list = parts;
  SendWqe wqe;
  wr.num_sge = 2;
  EXPECT_EQ(to_wqe(wr, qp(), wqe), 0) << "2^31 bytes";
  parts[1].length += 1;
  EXPECT_EQ(to_wqe(wr, qp(), wqe), EINVAL) << "one more";
  wr.num_sge = 3;
  EXPECT_EQ(to_wqe(wr, qp(), wqe), EINVAL);
  wr.num_sge = -1;
  EXPECT_EQ(to_wqe(wr, qp(), wqe), EINVAL);
  ibv_recv_wr recv{};
  recv.sg_list = parts;
  recv.num_sge = 2;
  RecvWqe recv_wqe;
  EXPECT_EQ(to_wqe(recv, 1, recv_wqe), EINVAL);
}

// libiscsi's lies in a packed struct. (UBSan watches.)
TEST(TranslateTest, AListNeedNotBeAligned) {
  alignas(8) std::byte memory[4 + sizeof(ibv_sge)]{};
  const ibv_sge part{.addr = 0x1000, .length = 7, .lkey = 3};
  std::memcpy(memory + 4, &part, sizeof part);
  ibv_recv_wr wr{};
  wr.sg_list = reinterpret_cast<ibv_sge*>(memory + 4);
  wr.num_sge = 1;
  RecvWqe wqe;
  EXPECT_EQ(to_wqe(wr, 1, wqe), 0);
  EXPECT_EQ(wqe.sge[0].addr, 0x1000u);
  EXPECT_EQ(wqe.sge[0].length, 7u);
  EXPECT_EQ(wqe.sge[0].lkey, RKey{3});
}

TEST(TranslateTest, InlineDataIsGatheredIntoOneCopy) {
  const char text[] = "abcdefgh";
  ibv_sge parts[2] = {{reinterpret_cast<std::uintptr_t>(text), 3, 0},
                      {reinterpret_cast<std::uintptr_t>(text + 3), 5, 0}};
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = IBV_SEND_INLINE;
  wr.sg_list = parts;
  wr.num_sge = 2;
  SendWqe wqe;
  ASSERT_EQ(to_wqe(wr, qp(), wqe), 0);
  std::byte copy[8];
  copy_inline(wqe, copy);
  EXPECT_EQ(std::memcmp(copy, text, 8), 0);
  EXPECT_EQ(wqe.num_sge, 1);
  EXPECT_EQ(wqe.sge[0].length, 8u);
  EXPECT_EQ(wqe.sge[0].addr, reinterpret_cast<std::uintptr_t>(copy));
  parts[1].length = 6;
  EXPECT_EQ(to_wqe(wr, qp(), wqe), EINVAL) << "above max_inline";
}

TEST(TranslateTest, CompletionsKeepTheNumbersOfVerbs) {
  EXPECT_EQ(static_cast<int>(WcStatus::kRetryExcErr), IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(static_cast<int>(WcStatus::kRnrRetryExcErr), IBV_WC_RNR_RETRY_EXC_ERR);
  EXPECT_EQ(static_cast<int>(WcStatus::kRemAccessErr), IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(static_cast<int>(WcStatus::kRemInvReqErr), IBV_WC_REM_INV_REQ_ERR);
  EXPECT_EQ(static_cast<int>(WcStatus::kRemOpErr), IBV_WC_REM_OP_ERR);
  EXPECT_EQ(static_cast<int>(WcStatus::kLocLenErr), IBV_WC_LOC_LEN_ERR);
  EXPECT_EQ(static_cast<int>(WcStatus::kLocQpOpErr), IBV_WC_LOC_QP_OP_ERR);
  EXPECT_EQ(static_cast<int>(WcStatus::kLocProtErr), IBV_WC_LOC_PROT_ERR);
  EXPECT_EQ(static_cast<int>(WcStatus::kWrFlushErr), IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(static_cast<int>(WcStatus::kMwBindErr), IBV_WC_MW_BIND_ERR);
  EXPECT_EQ(static_cast<int>(WcStatus::kBadRespErr), IBV_WC_BAD_RESP_ERR);
  EXPECT_EQ(static_cast<int>(WcStatus::kLocAccessErr), IBV_WC_LOC_ACCESS_ERR);
  EXPECT_EQ(static_cast<int>(WcStatus::kFatalErr), IBV_WC_FATAL_ERR);
  for (int s = IBV_QPS_RESET; s <= IBV_QPS_ERR; ++s) {
    constexpr QpState kStates[] = {QpState::kReset, QpState::kInit, QpState::kRtr, QpState::kRts,
                                   QpState::kSqd,   QpState::kSqe,  QpState::kErr};
    EXPECT_EQ(static_cast<int>(kStates[s]), s);
  }
  ibv_wc wc{};
  to_wc({.wr_id = 3,
         .status = WcStatus::kSuccess,
         .opcode = WcOpcode::kRecvWriteImm,
         .has_imm = true,
         .has_invalidated = false,
         .imm = 0x01020304,
         .byte_len = 6,
         .qpn = Qpn{7},
         .has_grh = true,
         .src_qpn = Qpn{8},
         .time = {}},
        wc);
  EXPECT_EQ(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
  EXPECT_EQ(wc.wc_flags, static_cast<unsigned>(IBV_WC_WITH_IMM) | static_cast<unsigned>(IBV_WC_GRH));
  EXPECT_EQ(wc.imm_data, htonl(0x01020304));
  EXPECT_EQ(wc.qp_num, 7u);
  EXPECT_EQ(wc.src_qp, 8u);
  EXPECT_EQ(wc.sl, 0b1010);
  Cqe cqe;
  cqe.has_grh = cqe.grh_is_ipv6 = true;
  to_wc(cqe, wc);
  EXPECT_EQ(wc.sl, 0b1001);
  to_wc({}, wc);
  EXPECT_EQ(wc.sl, 0);
  cqe = {};
  cqe.opcode = WcOpcode::kRecv, cqe.has_invalidated = true, cqe.imm = 0x80000108;
  to_wc(cqe, wc);
  EXPECT_EQ(wc.wc_flags, static_cast<unsigned>(IBV_WC_WITH_INV));
  EXPECT_EQ(wc.invalidated_rkey, 0x80000108u) << "in the program's order, unlike immediate data";
  for (const auto& [nic, verbs] : {std::pair{WcOpcode::kBindMw, IBV_WC_BIND_MW},
                                   {WcOpcode::kLocalInvalidate, IBV_WC_LOCAL_INV},
                                   {WcOpcode::kFetchAdd, IBV_WC_FETCH_ADD}}) {
    cqe.opcode = nic;
    to_wc(cqe, wc);
    EXPECT_EQ(wc.opcode, verbs);
  }
}

TEST(TranslateTest, PostResultsBecomePositiveErrnos) {
  EXPECT_EQ(to_errno(PostResult::kOk), 0);
  EXPECT_EQ(to_errno(PostResult::kQueueFull), ENOMEM);
  EXPECT_EQ(to_errno(PostResult::kBadState), EINVAL);
  EXPECT_EQ(to_errno(PostResult::kBadOpcode), EOPNOTSUPP);
}

TEST(TranslateTest, MtuCodesAreTheFiveOfTheStandard) {
  EXPECT_EQ(mtu_bytes(IBV_MTU_256), 256u);
  EXPECT_EQ(mtu_bytes(IBV_MTU_4096), 4096u);
  EXPECT_EQ(mtu_bytes(static_cast<ibv_mtu>(0)), 0u);
  EXPECT_EQ(mtu_bytes(static_cast<ibv_mtu>(6)), 0u);
  EXPECT_EQ(mtu_code(1024), IBV_MTU_1024);
  EXPECT_EQ(mtu_code(1500), IBV_MTU_1024);
}

}  // namespace
}  // namespace rocelab::verbs
