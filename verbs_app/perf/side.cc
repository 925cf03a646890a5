#include "verbs_app/perf/side.h"

#include <cstring>
#include <stdexcept>

#include "verbs_app/common/clock.h"

namespace rocelab::app {
namespace {

constexpr std::uint32_t kEndpoints = 1;  // frame type
constexpr std::uint64_t kSendId = 1, kRecvId = 2;
constexpr std::int64_t kLingerNs = kNsPerMs;

Endpoint exchange(Connection& tcp, const Endpoint& mine) {
  tcp.send(kEndpoints, {reinterpret_cast<const char*>(&mine), sizeof mine});
  const Frame frame = tcp.receive();
  Endpoint theirs;
  if (frame.type != kEndpoints || frame.bytes.size() != sizeof theirs)
    throw std::runtime_error("the peer is out of step");
  std::memcpy(&theirs, frame.bytes.data(), sizeof theirs);
  return theirs;
}

}  // namespace

Side::Side(Connection& tcp, const std::string& device, const PathOptions& path, std::uint32_t max_size,
           std::uint32_t psn)
    : buffer_(max_size), rdma_(device, path, kSendDepth + kRecvDepth) {
  rdma_.register_memory(buffer_.data(), buffer_.size());
  qp_ = rdma_.create_qp({.send = kSendDepth, .recv = kRecvDepth});
  Endpoint local = rdma_.endpoint(*qp_, psn);
  local.addr = reinterpret_cast<std::uintptr_t>(buffer_.data());
  local.rkey = rdma_.rkey();
  remote_ = exchange(tcp, local);
  for (int i = 0; i < kRecvDepth; ++i) post_receive();
  rdma_.connect(*qp_, local, remote_);
  exchange(tcp, local);  // both are ready
}

void Side::post_receive() {
  ibv_sge part{.addr = reinterpret_cast<std::uintptr_t>(buffer_.data()),
               .length = static_cast<std::uint32_t>(buffer_.size()),
               .lkey = rdma_.lkey()};
  ibv_recv_wr wr{}, *bad = nullptr;
  wr.wr_id = kRecvId;
  wr.sg_list = &part;
  wr.num_sge = 1;
  if (const int error = ibv_post_recv(qp_.get(), &wr, &bad); error != 0)
    throw std::runtime_error(std::string("ibv_post_recv: ") + std::strerror(error));
}

void Side::post(Op op, std::uint32_t size, bool notify) {
  static constexpr ibv_wr_opcode kOpcodes[] = {IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ};
  while (posted_ - sent_ == kSendDepth) poll();
  ibv_sge part{
      .addr = reinterpret_cast<std::uintptr_t>(buffer_.data()), .length = size, .lkey = rdma_.lkey()};
  ibv_send_wr wr{}, *bad = nullptr;
  wr.wr_id = kSendId;
  wr.sg_list = &part;
  wr.num_sge = size > 0 ? 1 : 0;
  wr.opcode =
      op == Op::kWrite && notify ? IBV_WR_RDMA_WRITE_WITH_IMM : kOpcodes[static_cast<std::size_t>(op)];
  wr.send_flags = IBV_SEND_SIGNALED;
  if (op != Op::kSend) {
    wr.wr.rdma.remote_addr = remote_.addr;
    wr.wr.rdma.rkey = remote_.rkey;
  }
  if (const int error = ibv_post_send(qp_.get(), &wr, &bad); error != 0)
    throw std::runtime_error(std::string("ibv_post_send: ") + std::strerror(error));
  ++posted_;
}

void Side::poll() {
  ibv_wc wc[16];
  const int n = ibv_poll_cq(rdma_.cq(), 16, wc);
  for (int i = 0; i < n; ++i) {
    if (wc[i].status != IBV_WC_SUCCESS) throw std::runtime_error(ibv_wc_status_str(wc[i].status));
    if (wc[i].wr_id == kSendId) {
      ++sent_;
    } else {
      ++received_;
      post_receive();
    }
  }
}

void Side::wait_sent() {
  while (sent_ < posted_) poll();
}

void Side::wait_received(std::uint64_t count) {
  while (received_ < count) poll();
}

void Side::linger() { sleep_until(monotonic_ns() + kLingerNs); }

}  // namespace rocelab::app
