// What moves: operations, immediate data, gathering and scattering, inline data.
#include <arpa/inet.h>

#include <algorithm>

#include "tests/probes/verbs/loopback.h"

namespace rocelab::probe {
namespace {

void number(std::vector<unsigned char>& memory, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) memory[i] = static_cast<unsigned char>(i * 7 + 1);
}

TEST(DataProbe, SendGathersAndScattersAndCarriesImmediateData) {
  Loopback l;
  l.connect();
  number(l.memory, 3000);
  ASSERT_EQ(l.receive({l.sge(10'000, 1), l.sge(20'000, 2999)}, 77), 0);
  ASSERT_EQ(l.send(IBV_WR_SEND_WITH_IMM, {l.sge(0, 1000), l.sge(1000, 1999), l.sge(2999, 1)}), 0);
  const ibv_wc received = l.wait(l.recv_cq), sent = l.wait(l.send_cq);
  EXPECT_EQ(received.status, IBV_WC_SUCCESS);
  EXPECT_EQ(received.opcode, IBV_WC_RECV);
  EXPECT_EQ(received.wr_id, 77u);
  EXPECT_EQ(received.byte_len, 3000u);
  EXPECT_EQ(received.qp_num, l.b->qp_num);
  EXPECT_EQ(received.wc_flags, static_cast<unsigned>(IBV_WC_WITH_IMM));
  EXPECT_EQ(ntohl(received.imm_data), 0x01020304u);
  EXPECT_EQ(sent.opcode, IBV_WC_SEND);
  EXPECT_EQ(sent.qp_num, l.a->qp_num);
  EXPECT_EQ(l.memory[10'000], l.memory[0]);
  EXPECT_TRUE(std::equal(l.memory.begin() + 1, l.memory.begin() + 3000, l.memory.begin() + 20'000));
}

TEST(DataProbe, WriteAndReadMoveBytesAndOnlyImmediateDataIsNoticed) {
  Loopback l;
  l.connect();
  number(l.memory, 5000);
  ASSERT_EQ(l.receive({}, 5), 0);
  ASSERT_EQ(l.send(IBV_WR_RDMA_WRITE, {l.sge(0, 5000)}, 10'000), 0);
  EXPECT_EQ(l.wait(l.send_cq).opcode, IBV_WC_RDMA_WRITE);
  EXPECT_TRUE(std::equal(l.memory.begin(), l.memory.begin() + 5000, l.memory.begin() + 10'000));
  ASSERT_EQ(l.send(IBV_WR_RDMA_READ, {l.sge(20'000, 2500), l.sge(30'000, 2500)}, 10'000), 0);
  EXPECT_EQ(l.wait(l.send_cq).opcode, IBV_WC_RDMA_READ);
  EXPECT_TRUE(std::equal(l.memory.begin(), l.memory.begin() + 2500, l.memory.begin() + 20'000));
  EXPECT_TRUE(std::equal(l.memory.begin() + 2500, l.memory.begin() + 5000, l.memory.begin() + 30'000));
  ibv_wc wc{};
  EXPECT_EQ(ibv_poll_cq(l.recv_cq, 1, &wc), 0);
  ASSERT_EQ(l.send(IBV_WR_RDMA_WRITE_WITH_IMM, {l.sge(0, 8)}, 40'000), 0);
  wc = l.wait(l.recv_cq);
  EXPECT_EQ(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
  EXPECT_EQ(wc.wr_id, 5u);
  EXPECT_EQ(wc.byte_len, 8u);
  l.wait(l.send_cq);
}

TEST(DataProbe, InlineDataMayBeReusedAtOnceThroughManyRoundsOfTheQueue) {
  Loopback l;
  l.connect();
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 4; ++i) {
      ASSERT_EQ(l.receive({l.sge(1'000 + static_cast<std::size_t>(i) * 64, 64)}), 0);
      unsigned char bytes[24];
      std::fill(std::begin(bytes), std::end(bytes), static_cast<unsigned char>(round + i));
      // Inline buffers need no key.
      const auto at = reinterpret_cast<std::uintptr_t>(bytes);
      ASSERT_EQ(l.send(IBV_WR_SEND, {{at, 20, 0}, {at + 20, 4, 0}}, 0,
                       IBV_SEND_INLINE | (i == 3 ? IBV_SEND_SIGNALED : 0)),
                0);
      std::fill(std::begin(bytes), std::end(bytes), 0xee);
    }
    l.wait(l.send_cq);
    for (int i = 0; i < 4; ++i) {
      ASSERT_EQ(l.wait(l.recv_cq).byte_len, 24u);
      const auto* first = l.memory.data() + 1'000 + i * 64;
      ASSERT_TRUE(std::all_of(first, first + 24,
                              [&](unsigned char c) { return c == static_cast<unsigned char>(round + i); }));
    }
  }
  EXPECT_EQ(l.send(IBV_WR_SEND, {l.sge(0, 65)}, 0, IBV_SEND_INLINE), EINVAL);
  EXPECT_EQ(l.send(IBV_WR_RDMA_READ, {l.sge(0, 8)}, 0, IBV_SEND_INLINE), EINVAL);
}

TEST(DataProbe, UnsignaledRequestsCompleteSilentlyUnlessTheQueuePairSignalsAll) {
  for (const bool all : {false, true}) {
    Loopback l({.sq_sig_all = all});
    l.connect();
    ASSERT_EQ(l.send(IBV_WR_RDMA_WRITE, {l.sge(0, 8)}, 100, 0), 0);
    ASSERT_EQ(l.send(IBV_WR_RDMA_WRITE, {l.sge(0, 8)}, 100, IBV_SEND_SIGNALED), 0);
    for (int expected = all ? 2 : 1; expected > 0; --expected) l.wait(l.send_cq);
    ibv_wc wc{};
    EXPECT_EQ(ibv_poll_cq(l.send_cq, 1, &wc), 0);
  }
}

// As with Linux rxe; adapters' libraries free it when the completion is polled.
TEST(DataProbe, ASlotOfTheSendQueueIsFreeOnceItsRequestIsComplete) {
  Loopback l;
  l.connect();
  const auto write = [&] { return l.send(IBV_WR_RDMA_WRITE, {l.sge(0, 8)}, 4096); };
  int posted = 0;
  while (posted < 100 && write() == 0) ++posted;
  EXPECT_GE(posted, 32) << "max_send_wr; in real time some end meanwhile";
  ibv_wc wc{};
  int error = ENOMEM;
  for (int i = 0; i < 1'000'000 && error == ENOMEM; ++i) {  // time passes while another queue is polled
    EXPECT_EQ(ibv_poll_cq(l.recv_cq, 1, &wc), 0);
    error = write();
  }
  EXPECT_EQ(error, 0);
  for (int i = 0; i < posted + 1; ++i) EXPECT_EQ(l.wait(l.send_cq).status, IBV_WC_SUCCESS);
}

TEST(DataProbe, AccessOutsideTheRegionFailsTheRequestAndTheRestIsFlushed) {
  Loopback l;
  l.connect();
  ASSERT_EQ(l.send(IBV_WR_RDMA_WRITE, {l.sge(0, 8)}, l.memory.size() - 4), 0);
  ASSERT_EQ(l.send(IBV_WR_RDMA_WRITE, {l.sge(0, 8)}, 0), 0);
  EXPECT_EQ(l.wait(l.send_cq).status, IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(l.wait(l.send_cq).status, IBV_WC_WR_FLUSH_ERR);
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  ASSERT_EQ(ibv_query_qp(l.a, &attr, IBV_QP_STATE, &init), 0);
  EXPECT_EQ(attr.qp_state, IBV_QPS_ERR);
}

// As from Linux rxe: a longer list is taken, and only its first eight bytes are written.
TEST(DataProbe, AnAtomicNeedsEightBytesAndWritesNoMore) {
  Loopback l;
  l.connect();
  const auto add = [&](const std::vector<ibv_sge>& into) {
    std::vector<ibv_sge> parts = into;
    ibv_send_wr wr{}, *bad = nullptr;
    wr.sg_list = parts.data(), wr.num_sge = static_cast<int>(parts.size());
    wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.atomic = {.remote_addr = l.sge(4'096, 8).addr, .compare_add = 3, .swap = 0, .rkey = l.mr->rkey};
    return ibv_post_send(l.a, &wr, &bad);
  };
  l.memory[4'096] = 5;
  l.memory[8] = 0xee;
  EXPECT_EQ(add({l.sge(0, 7)}), EINVAL);
  ASSERT_EQ(add({l.sge(0, 9)}), 0);
  EXPECT_EQ(l.wait(l.send_cq).status, IBV_WC_SUCCESS);
  EXPECT_EQ(l.memory[0], 5) << "what was there";
  EXPECT_EQ(l.memory[8], 0xee);
  ASSERT_EQ(add({l.sge(100, 3), l.sge(200, 5)}), 0);
  EXPECT_EQ(l.wait(l.send_cq).status, IBV_WC_SUCCESS);
  EXPECT_EQ(l.memory[100], 8);
  EXPECT_EQ(l.memory[4'096], 11);
}

// ibv_reg_mr(3): IBV_ACCESS_ZERO_BASED, at either end; an address of 0 given to ibv_reg_mr_iova is the same.
TEST(DataProbe, AZeroBasedRegionIsAddressedFromItsFirstByte) {
  constexpr int kRights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  constexpr std::size_t kAt = 4'100, kLength = 1'000;
  for (const bool by_flag : {true, false}) {
    Loopback l;
    l.connect();
    number(l.memory, 8);
    char* const at = reinterpret_cast<char*>(l.memory.data()) + kAt;
    ibv_mr* mr = by_flag ? ibv_reg_mr(l.pd, at, kLength, kRights | IBV_ACCESS_ZERO_BASED)
                         : ibv_reg_mr_iova(l.pd, at, kLength, 0, kRights);
    ASSERT_NE(mr, nullptr);
    EXPECT_EQ(mr->addr, at);
    const auto post = [&](ibv_wr_opcode opcode, ibv_sge part, std::uint64_t to, std::uint32_t rkey) {
      ibv_send_wr wr{}, *bad = nullptr;
      wr.sg_list = &part, wr.num_sge = 1, wr.opcode = opcode, wr.send_flags = IBV_SEND_SIGNALED;
      wr.wr.rdma = {.remote_addr = to, .rkey = rkey};
      EXPECT_EQ(ibv_post_send(l.a, &wr, &bad), 0);
      return l.wait(l.send_cq).status;
    };
    EXPECT_EQ(post(IBV_WR_RDMA_WRITE, l.sge(0, 8), kLength - 8, mr->rkey), IBV_WC_SUCCESS);
    EXPECT_TRUE(std::equal(at + kLength - 8, at + kLength, reinterpret_cast<char*>(l.memory.data())));
    const ibv_sge local{.addr = kLength - 8, .length = 8, .lkey = mr->lkey};
    EXPECT_EQ(post(IBV_WR_RDMA_WRITE, local, l.sge(100, 8).addr, l.mr->rkey), IBV_WC_SUCCESS);
    EXPECT_TRUE(std::equal(l.memory.begin(), l.memory.begin() + 8, l.memory.begin() + 100));
    if (by_flag) {
      EXPECT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, at + 8, kLength - 8, 0), 0);
      EXPECT_EQ(post(IBV_WR_RDMA_READ, l.sge(200, 8), kLength - 16, mr->rkey), IBV_WC_SUCCESS);
      EXPECT_TRUE(std::equal(l.memory.begin(), l.memory.begin() + 8, l.memory.begin() + 200));
    }
    EXPECT_EQ(post(IBV_WR_RDMA_WRITE, l.sge(0, 8), reinterpret_cast<std::uintptr_t>(at), mr->rkey),
              IBV_WC_REM_ACCESS_ERR)
        << "where the program has it";
    EXPECT_EQ(ibv_dereg_mr(mr), 0);
  }
}

}  // namespace
}  // namespace rocelab::probe
