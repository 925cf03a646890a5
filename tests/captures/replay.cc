#include "tests/captures/replay.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "base/check.h"

namespace rocelab::captures {
namespace {

constexpr Duration kPatience = 1000_s;  // for retries after the last frame

PathAddress path_to(const EndSpec& peer, const EndSpec& mine) {
  PathAddress path;
  path.dst_mac = peer.mac;
  path.src_gid = mine.gid, path.dst_gid = peer.gid;
  path.udp_src_port = mine.udp_port;
  return path;
}

[[noreturn]] void refuse(const Sidecar& sidecar, const std::string& what) {
  throw std::runtime_error(sidecar.path.string() + ": our NIC refuses " + what);
}

void fill(Block& block, const Content& content, const std::vector<Frame>& frames, const Sidecar& sidecar) {
  const std::size_t length = block.bytes().size();
  const test::ByteVector bytes = bytes_of(content, length, frames);
  if (bytes.size() != length)
    throw std::runtime_error(sidecar.path.string() + ": a \"content\" has " + std::to_string(bytes.size()) +
                             " bytes, and its length is " + std::to_string(length));
  std::ranges::copy(bytes, block.data());
}

}  // namespace

Replay::Replay(const Sidecar& sidecar, const std::vector<Frame>& frames, End ours)
    : sidecar_(sidecar),
      frames_(frames),
      ours_(ours),
      mine_(sidecar.of(ours)),
      peer_(sidecar.of(other(ours))),
      edge_(host_, pool_, trace_) {
  host_.nic.roce_dscp = mine_.dscp;
  host_.nic.max_qps = 1;
  host_.mac = mine_.mac;
  nic_.emplace(host_.nic, mine_.qpn, Rng(1), pool_, memory_, trace_);
  pd_ = nic_->alloc_pd();
  set_up_regions();
  set_up_queue_pair();
  set_up_buffers();
}

void Replay::set_up_regions() {
  for (const Region& region : mine_.regions) {
    Block& block = regions_.emplace_back(region.length, region.va);
    fill(block, region.content, frames_, sidecar_);
    const auto key = nic_->reg_mr(pd_, reinterpret_cast<std::uint64_t>(block.data()), region.length,
                                  region.va, region.access);
    if (!key) refuse(sidecar_, "a region of the " + to_string(ours_));
    region_keys_.push_back(*key);
  }
}

void Replay::set_up_queue_pair() {
  const auto depth = static_cast<std::uint32_t>(mine_.sends.size() + mine_.receives.size() + 1);
  send_cq_ = *nic_->create_cq(depth), receive_cq_ = *nic_->create_cq(depth);
  QpInit init;
  init.type = sidecar_.type, init.pd = pd_;
  init.send_cq = send_cq_, init.recv_cq = receive_cq_;
  init.caps = {depth, depth, 1, 1, 0};
  if (nic_->create_qp(init) != mine_.qpn) refuse(sidecar_, "QPN " + std::to_string(mine_.qpn.value));
  QpAttr attr = mine_.attr;
  attr.dest_qpn = peer_.qpn, attr.sq_psn = mine_.first_psn.value(), attr.rq_psn = peer_.first_psn.value();
  attr.path = path_to(peer_, mine_);
  for (const QpState state : {QpState::kInit, QpState::kRtr, QpState::kRts}) {
    attr.state = state;
    if (!nic_->modify_qp(mine_.qpn, attr, now_))
      refuse(sidecar_, "the attributes of the " + to_string(ours_));
  }
  ah_ = *nic_->create_ah(pd_, attr.path);
}

void Replay::set_up_buffers() {
  for (const Send& send : mine_.sends) {
    send_buffers_.push_back(send.local ? buffer_at(*send.local, send.length)
                                       : buffer_of_its_own(send.length));
    if (!send.local) fill(own_blocks_.back(), send.content, frames_, sidecar_);
  }
  const std::uint32_t grh = sidecar_.type == QpType::kUd ? kGrhBytes : 0;
  for (const Receive& receive : mine_.receives)
    receive_buffers_.push_back(receive.local ? buffer_at(*receive.local, receive.length)
                                             : buffer_of_its_own(grh + receive.length));
}

Replay::Buffer Replay::buffer_at(std::uint64_t va, std::uint32_t length) {
  for (std::size_t i = 0; i < mine_.regions.size(); ++i) {
    const Region& region = mine_.regions[i];
    if (va >= region.va && va - region.va <= region.length && length <= region.length - (va - region.va))
      return {va, length, region_keys_[i], regions_[i].data() + (va - region.va)};
  }
  throw std::runtime_error(sidecar_.path.string() + ": a WQE of the " + to_string(ours_) +
                           " has its data in none of its regions");
}

Replay::Buffer Replay::buffer_of_its_own(std::uint32_t length) {
  Block& block = own_blocks_.emplace_back(length);
  const auto addr = reinterpret_cast<std::uint64_t>(block.data());
  return {addr, length, *nic_->reg_mr(pd_, addr, length, addr, kAccessLocalWrite), block.data()};
}

std::span<const std::byte> Replay::memory_of(bool receive, std::size_t wqe) {
  const Buffer& buffer = (receive ? receive_buffers_ : send_buffers_)[wqe];
  return {buffer.bytes, buffer.length};
}

// --- the exchange

void Replay::run() {
  for (const Frame& frame : frames_) {
    run_timers(frame.at);
    now_ = frame.at;
    post(frame.number);
    if (frame.from != ours_ && !frame.lost) deliver(frame);
    drain();
  }
  post(INT32_MAX);
  drain();
  run_timers(now_ + kPatience);
  ended_ = nic_->next_timeout().is_never();
}

void Replay::post(int frame) {
  while (receives_posted_ < mine_.receives.size() && mine_.receives[receives_posted_].posted_by <= frame)
    post_receive(receives_posted_++);
  while (sends_posted_ < mine_.sends.size() && mine_.sends[sends_posted_].posted_by <= frame)
    post_send(sends_posted_++);
}

void Replay::post_receive(std::size_t place) {
  const Buffer& buffer = receive_buffers_[place];
  RecvWqe wqe;
  wqe.wr_id = mine_.receives[place].wr_id;
  wqe.num_sge = 1;
  wqe.sge[0] = {buffer.addr, buffer.length, buffer.lkey};
  if (nic_->post_recv(mine_.qpn, wqe, now_) != PostResult::kOk)
    refuse(sidecar_, "receive WQE " + std::to_string(place + 1));
}

void Replay::post_send(std::size_t place) {
  const Buffer& buffer = send_buffers_[place];
  SendWqe wqe = mine_.sends[place].wqe;
  wqe.num_sge = buffer.length > 0 ? 1 : 0;
  wqe.sge[0] = {buffer.addr, buffer.length, buffer.lkey};
  wqe.ah = ah_, wqe.remote_qpn = peer_.qpn, wqe.remote_qkey = peer_.attr.qkey;
  if (nic_->post_send(mine_.qpn, wqe, now_) != PostResult::kOk)
    refuse(sidecar_, "send WQE " + std::to_string(place + 1));
}

// A NIC chooses its keys itself: ours stands where the recorded one stood, and the other way round.
void Replay::exchange_keys(RoceHeaders& roce) const {
  for (std::size_t i = 0; i < region_keys_.size(); ++i) {
    const RKey recorded = mine_.regions[i].rkey, own = region_keys_[i];
    if (roce.rkey != recorded && roce.rkey != own) continue;
    roce.rkey = roce.rkey == recorded ? own : recorded;
    return;
  }
}

void Replay::deliver(const Frame& frame) {
  test::ByteVector bytes = frame.bytes;  // a datagram's headers become its GRH
  PacketRef packet = edge_.parse(bytes, packet_kind(frame.roce.opcode), now_);
  RL_CHECK(packet);
  const OpcodeInfo& info = opcode_info(frame.roce.opcode);
  if (info.has(Header::kReth) || info.has(Header::kAtomicEth)) exchange_keys(packet->roce);
  nic_->on_packet(std::move(packet), now_);
}

void Replay::run_timers(Time limit) {
  while (nic_->next_timeout() < limit) {
    now_ = std::max(now_, nic_->next_timeout());
    nic_->on_timeout(now_);
    drain();
  }
}

void Replay::drain() {
  while (nic_->has_more()) {
    const PacketRef packet = nic_->poll_transmit(now_);
    if (!packet) break;
    test::ByteVector bytes(packet->frame_length);
    if (!edge_.write(*nic_, *packet, bytes)) refuse(sidecar_, "to gather a payload");
    const auto parsed = parse_frame(bytes);
    RL_CHECK(parsed);
    sent_.push_back({now_, parsed->address, parsed->roce, {parsed->payload.begin(), parsed->payload.end()}});
  }
  while (const auto cqe = nic_->poll_cq(send_cq_)) send_cqes_.push_back(*cqe);
  while (const auto cqe = nic_->poll_cq(receive_cq_)) receive_cqes_.push_back(*cqe);
}

}  // namespace rocelab::captures
