#include "verbs_app/flows/transfer.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "verbs_app/flows/pattern.h"

namespace rocelab::app {
namespace {

constexpr std::uint64_t kWindowBytes = 16u << 20;  // a buffer that does not hold the whole flow
constexpr int kSignalsPerQueue = 4;

// wr_id: slot (20 bits), lane (12), ordinal of the message in its lane (32).
constexpr int kOrdinalBits = 32, kLaneBits = 12;

std::size_t lane_of(const ibv_wc& wc) { return (wc.wr_id >> kOrdinalBits) & ((1u << kLaneBits) - 1); }
std::uint64_t ordinal_of(const ibv_wc& wc) { return wc.wr_id & 0xffffffff; }

// Start PSNs differ by flow, lane and direction; near the top often enough that wrapping is a daily affair.
std::uint32_t first_psn(std::uint32_t flow, std::size_t lane, bool source) {
  const std::uint32_t x =
      (flow * 2654435761u) ^ (static_cast<std::uint32_t>(lane) * 40503u) ^ (source ? 0u : 0x5a5a5a5au);
  return (x >> 8) & 0xffffff;
}

[[noreturn]] void refuse(const char* call, const Flow& flow, int error) {
  throw std::runtime_error("flow " + std::to_string(flow.id) + ": " + call + ": " + std::strerror(error));
}

}  // namespace

std::uint64_t buffer_bytes(const Flow& flow, bool whole) {
  if (whole) return flow.size;
  const std::uint64_t window =
      std::max<std::uint64_t>(1, kWindowBytes / flow.message_size) * flow.message_size;
  return std::min(flow.size, window);
}

Transfer::Transfer(const Flow& flow, bool is_source, std::uint32_t slot, const TransferOptions& options,
                   std::byte* buffer, std::uint64_t buffer_size)
    : flow_(flow),
      is_source_(is_source),
      slot_(slot),
      options_(options),
      buffer_(buffer),
      buffer_size_(buffer_size) {}

// --- geometry: message m of the flow is message m / lanes of lane m % lanes

std::uint64_t Transfer::wr_id(std::size_t lane, std::uint64_t ordinal) const {
  return (std::uint64_t{slot_} << (kOrdinalBits + kLaneBits)) | (std::uint64_t{lane} << kOrdinalBits) |
         ordinal;
}

std::uint64_t Transfer::offset(std::size_t lane, std::uint64_t ordinal) const {
  return (ordinal * lanes_.size() + lane) * flow_.message_size;
}

std::uint32_t Transfer::length(std::uint64_t offset) const {
  return static_cast<std::uint32_t>(std::min(flow_.message_size, flow_.size - offset));
}

ibv_sge Transfer::sge(std::uint64_t offset) const {
  return {.addr = reinterpret_cast<std::uintptr_t>(buffer_) + offset % buffer_size_,
          .length = length(offset),
          .lkey = lkey_};
}

std::uint64_t Transfer::receives(const Lane& lane) const {
  return flow_.op == Op::kSend ? lane.messages : flow_.op == Op::kWrite ? 1 : 0;
}

// --- setting up

int Transfer::cq_entries(const Flow& flow, const TransferOptions& options) {
  return static_cast<int>(flow.lanes()) * std::max(options.depth, options.recv_depth);
}

void Transfer::create_lanes(Rdma& rdma) {
  lkey_ = rdma.lkey();
  const std::uint32_t count = flow_.lanes();
  for (std::size_t i = 0; i < count; ++i) {
    Lane lane;
    lane.messages = (flow_.messages() - i + count - 1) / count;
    const auto at_most = [&](int depth, std::uint64_t n) {
      return static_cast<int>(std::min<std::uint64_t>(static_cast<std::uint64_t>(depth), n));
    };
    QueueDepths depths;
    depths.send = is_requester() ? at_most(options_.depth, lane.messages) : 1;
    depths.recv = is_requester() ? 1 : at_most(options_.recv_depth, receives(lane));
    lane.qp = rdma.create_qp(depths);
    lane.local = rdma.endpoint(*lane.qp, first_psn(flow_.id, i, is_source_));
    lane.local.addr = reinterpret_cast<std::uintptr_t>(buffer_);
    lane.local.rkey = rdma.rkey();
    lanes_.push_back(std::move(lane));
  }
}

std::string Transfer::local_endpoints() const {
  std::string bytes;
  for (const Lane& lane : lanes_) bytes.append(reinterpret_cast<const char*>(&lane.local), sizeof lane.local);
  return bytes;
}

void Transfer::connect(Rdma& rdma, const std::string& remote_endpoints) {
  if (remote_endpoints.size() != lanes_.size() * sizeof(Endpoint))
    throw std::runtime_error("flow " + std::to_string(flow_.id) + ": the peer has another number of QPs");
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    std::memcpy(&lanes_[i].remote, remote_endpoints.data() + i * sizeof(Endpoint), sizeof(Endpoint));
    if (!is_requester()) fill(i);  // before the peer can send
    rdma.connect(*lanes_[i].qp, lanes_[i].local, lanes_[i].remote);
  }
}

std::vector<std::uint32_t> Transfer::local_qpns() const {
  std::vector<std::uint32_t> qpns;
  for (const Lane& lane : lanes_) qpns.push_back(lane.local.qpn);
  return qpns;
}

std::vector<std::uint32_t> Transfer::remote_qpns() const {
  std::vector<std::uint32_t> qpns;
  for (const Lane& lane : lanes_) qpns.push_back(lane.remote.qpn);
  return qpns;
}

// --- posting

void Transfer::post_send(std::size_t index) {
  static constexpr ibv_wr_opcode kOpcodes[] = {IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ};
  Lane& lane = lanes_[index];
  const std::uint64_t at = offset(index, lane.posted);
  const bool last = lane.posted + 1 == lane.messages;
  const auto interval = static_cast<std::uint64_t>(std::max(1, options_.depth / kSignalsPerQueue));
  ibv_sge part = sge(at);
  ibv_send_wr wr{};
  wr.wr_id = wr_id(index, lane.posted);
  wr.sg_list = &part;
  wr.num_sge = 1;
  wr.opcode = kOpcodes[static_cast<std::size_t>(flow_.op)];
  wr.send_flags = last || (lane.posted + 1) % interval == 0 ? IBV_SEND_SIGNALED : 0;
  if (flow_.op != Op::kSend) {
    wr.wr.rdma.remote_addr = lane.remote.addr + at % buffer_size_;
    wr.wr.rdma.rkey = lane.remote.rkey;
  }
  if (flow_.op == Op::kWrite && last) {
    wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    wr.imm_data = htonl(flow_.id);
  }
  ibv_send_wr* bad = nullptr;
  if (const int error = ibv_post_send(lane.qp.get(), &wr, &bad); error != 0)
    refuse("ibv_post_send", flow_, error);
  ++lane.posted;
}

void Transfer::post_recv(std::size_t index) {
  Lane& lane = lanes_[index];
  ibv_sge part{};
  ibv_recv_wr wr{};
  wr.wr_id = wr_id(index, lane.posted);
  if (flow_.op == Op::kSend) {
    part = sge(offset(index, lane.posted));
    wr.sg_list = &part;
    wr.num_sge = 1;
  }
  ibv_recv_wr* bad = nullptr;
  if (const int error = ibv_post_recv(lane.qp.get(), &wr, &bad); error != 0)
    refuse("ibv_post_recv", flow_, error);
  ++lane.posted;
}

void Transfer::fill(std::size_t index) {
  Lane& lane = lanes_[index];
  if (is_requester()) {
    const auto depth = static_cast<std::uint64_t>(options_.depth);
    while (lane.posted < lane.messages && lane.posted - lane.done < depth) post_send(index);
  } else {
    const auto depth = static_cast<std::uint64_t>(options_.recv_depth);
    while (lane.posted < receives(lane) && lane.posted - lane.done < depth) post_recv(index);
  }
}

// --- running

void Transfer::start(std::int64_t now) {
  record_.posted = now;
  for (std::size_t i = 0; i < lanes_.size(); ++i) fill(i);
}

bool Transfer::all_lanes_done() const {
  return std::all_of(lanes_.begin(), lanes_.end(), [this](const Lane& lane) {
    return lane.done == (is_requester() ? lane.messages : receives(lane));
  });
}

void Transfer::request_done(std::size_t index, std::uint64_t ordinal, std::int64_t now) {
  lanes_[index].done = ordinal + 1;  // RC completes in order: the unsignaled ones before it are done too
  if (all_lanes_done()) {
    record_.cqe = now;
    record_.bytes = flow_.size;
    record_.status = "ok";
    if (!is_source_) record_.placed = now;  // READ: the data is here
    return;
  }
  fill(index);
}

void Transfer::receive_done(std::size_t index, const ibv_wc& wc, std::int64_t now) {
  ++lanes_[index].done;
  if (flow_.op == Op::kWrite && ((wc.wc_flags & IBV_WC_WITH_IMM) == 0 || ntohl(wc.imm_data) != flow_.id))
    return fail("the immediate data is not this flow's id");
  if (flow_.op == Op::kSend) record_.bytes += wc.byte_len;
  if (all_lanes_done()) {
    if (flow_.op == Op::kWrite) record_.bytes = flow_.size;
    record_.placed = now;
    record_.status = record_.bytes == flow_.size ? "ok" : "short";
    return;
  }
  fill(index);
}

void Transfer::on_completion(const ibv_wc& wc, std::int64_t now) {
  if (record_.over()) return;  // what is flushed after a failure
  if (wc.status != IBV_WC_SUCCESS) return fail(ibv_wc_status_str(wc.status));
  if (is_requester()) {
    request_done(lane_of(wc), ordinal_of(wc), now);
  } else {
    receive_done(lane_of(wc), wc, now);
  }
}

void Transfer::fail(const std::string& why) {
  if (!record_.over()) record_.status = why;
}

void Transfer::finish_passive() {
  if (record_.over()) return;
  record_.status = "ok";
  record_.bytes = flow_.size;
}

void Transfer::verify() {
  const std::optional<std::uint64_t> wrong = find_mismatch(flow_.id, {buffer_, flow_.size});
  record_.verified = !wrong;
  if (wrong) record_.status = "payload differs at byte " + std::to_string(*wrong);
}

}  // namespace rocelab::app
