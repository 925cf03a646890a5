#include "tests/fuzz/responder/responder_session.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/wire/aeth.h"
#include "irn_provider/cc/aimd.h"

namespace rocelab::fuzz {

SessionOutcome run_responder_session(std::span<const std::uint8_t> bytes) {
  return ResponderSession(bytes).run();
}

// --- memory

void CheckedMemory::check(std::uint64_t addr, std::uint32_t length, std::uint32_t any_of) const {
  const auto allows = [&](const std::vector<Region>& all, std::uint32_t rights) {
    return std::any_of(all.begin(), all.end(), [&](const Region& r) {
      const bool allowed = rights == 0 || (r.access & rights) != 0;
      return allowed && addr >= r.addr && addr + length <= r.addr + r.length;
    });
  };
  const bool by_window = any_of != 0 && allows(regions, kAccessMwBind) && allows(windows, any_of);
  RL_CHECK(length == 0 || allows(regions, any_of) || by_window);
}

void CheckedMemory::write(std::uint64_t addr, const std::byte* bytes, std::uint32_t length) {
  check(addr, length, kAccessLocalWrite | kAccessRemoteWrite);
  placed += length;
  if (length > 0) std::memcpy(bytes_.data() + (addr - kBase), bytes, length);
}
void CheckedMemory::read(std::uint64_t addr, std::byte* bytes, std::uint32_t length) {
  check(addr, length, 0);
  if (length > 0) std::memcpy(bytes, bytes_.data() + (addr - kBase), length);
}

std::uint64_t CheckedMemory::exchange(std::uint64_t addr, std::uint64_t value,
                                      std::optional<std::uint64_t> only_if) {
  RL_CHECK(addr % kAtomicBytes == 0);
  check(addr, kAtomicBytes, kAccessRemoteAtomic);
  std::uint64_t original = 0;
  std::memcpy(&original, bytes_.data() + (addr - kBase), sizeof original);
  if (!only_if || *only_if == original) std::memcpy(bytes_.data() + (addr - kBase), &value, sizeof value);
  return original;
}
std::uint64_t CheckedMemory::compare_swap(std::uint64_t addr, std::uint64_t compare, std::uint64_t swap) {
  return exchange(addr, swap, compare);
}
std::uint64_t CheckedMemory::fetch_add(std::uint64_t addr, std::uint64_t add) {
  std::uint64_t original = 0;
  read(addr, reinterpret_cast<std::byte*>(&original), sizeof original);
  return exchange(addr, original + add, std::nullopt);
}

// --- set-up

ResponderSession::ResponderSession(std::span<const std::uint8_t> bytes) : in_(bytes) {
  config_.mode = in_.one_in(8) ? TransportMode::kRoce : TransportMode::kIrn;
  constexpr std::uint32_t kCaps[] = {110, 1, 4, 16, 0};
  config_.irn.bdp_cap = kCaps[in_.u8() % 5];
  config_.irn.bitmap_packets = 64;
  config_.irn.go_back_n = in_.one_in(8);
  config_.irn.sack = !in_.one_in(8);
  config_.irn.nack_threshold = in_.one_in(4) ? 3 : 1;
  config_.recovery_timers = !in_.one_in(8);
  if (in_.one_in(4)) use_rc3();
  nic_.emplace(config_, Qpn{0x11}, Rng(1), pool_, memory_, trace_);
  pd_ = nic_->alloc_pd();
  cq_ = *nic_->create_cq(64);
  windows_ = {*nic_->alloc_mw(pd_, MwType::k1), *nic_->alloc_mw(pd_, MwType::k2)};
  for (int i = 0; i < 2; ++i) change_memory();
  connect();
}

void ResponderSession::use_rc3() {
  config_.mode = TransportMode::kIrn;
  IrnConfig& irn = config_.irn;
  irn.sack = irn.tcp = true, irn.go_back_n = false, irn.bdp_cap = 0;
  config_.rc3 = {4, {config_.roce_dscp, 16, 8, 0}, {1, 3, 5, 7}};
  AimdParams& aimd = config_.cc.use<Aimd>();
  aimd.initial_window = 2, aimd.slow_start = true;
}

void ResponderSession::connect() {
  QpInit init;
  init.pd = pd_, init.send_cq = init.recv_cq = cq_;
  init.caps = {16, 16, 4, 4, 64};
  qp_ = *nic_->create_qp(init);
  attr_.path_mtu = kMtu;
  attr_.dest_qpn = Qpn{0x999};
  attr_.access_flags = in_.one_in(8)
                           ? kAccessLocalWrite
                           : kAccessLocalWrite | kAccessRemoteWrite | kAccessRemoteRead | kAccessRemoteAtomic;
  attr_.timeout = in_.u8() % 16;
  attr_.retry_cnt = in_.u8() % 8, attr_.rnr_retry = in_.u8() % 8;
  attr_.max_rd_atomic = in_.u8() % 5, attr_.max_dest_rd_atomic = in_.u8() % 5;
  reconnect();
}

void ResponderSession::reconnect() {
  poll();
  attr_.rq_psn = in_.one_in(2) ? 0xfffff0 : in_.u32() & Psn::kMask;
  attr_.sq_psn = in_.one_in(2) ? 0xfffff0 : in_.u32() & Psn::kMask;
  for (QpState state : {QpState::kReset, QpState::kInit, QpState::kRtr, QpState::kRts}) {
    attr_.state = state;
    RL_CHECK(nic_->modify_qp(qp_, attr_, now_));
  }
  peer_ = PeerView{attr_.rq_psn, attr_.sq_psn, attr_.sq_psn, attr_.rq_psn, 0, 0};
}

void ResponderSession::change_memory() {
  if (memory_.regions.size() >= 4) {
    const std::size_t i = in_.u8() % memory_.regions.size();
    const bool bound = nic_->mr_has_windows(memory_.regions[i].key);
    RL_CHECK(nic_->dereg_mr(memory_.regions[i].key) != bound);
    if (bound) return;
    memory_.regions.erase(memory_.regions.begin() + static_cast<std::ptrdiff_t>(i));
    return;
  }
  CheckedMemory::Region r;
  r.addr = CheckedMemory::kBase + in_.u16() % (CheckedMemory::kBytes / 2);
  r.length = in_.u16() % (CheckedMemory::kBytes / 2);
  r.access = in_.one_in(4) ? in_.u8() & 31u
                           : kAccessLocalWrite | kAccessRemoteWrite | kAccessRemoteRead |
                                 kAccessRemoteAtomic | kAccessMwBind;
  const auto key = nic_->reg_mr(pd_, r.addr, r.length, r.addr, r.access);
  if (!key) return;  // rights that contradict each other
  r.key = *key;
  memory_.regions.push_back(r);
}

// --- the session

SessionOutcome ResponderSession::run() {
  while (!in_.empty()) step();
  drain(64);
  poll();
  outcome_.placed = memory_.placed;
  outcome_.foreign = nic_->counters().rx_wrong_peer;
  return outcome_;
}

void ResponderSession::step() {
  if (nic_->query_qp(qp_)->state == QpState::kErr && in_.one_in(2)) reconnect();
  const std::uint8_t choice = in_.u8();
  if (choice < 130) return send_request();
  if (choice < 160) return send_answer();
  if (choice < 170) return send_noise();
  if (choice < 195) return post_receive();
  if (choice < 210) return post_send();
  if (choice < 230) return drain(1 + choice % 8);
  if (choice < 245) return pass_time();
  if (choice < 250) return poll();
  if (choice < 252) return change_memory();
  if (choice == 252) return void(nic_->on_pfc(PfcFrame{in_.u8(), {1, 1, 1, in_.u8(), 1, 1, 1, 1}}, now_));
  const QpAttr* attr = nic_->query_qp(qp_);
  if (choice == 253) return reconnect();
  QpAttr other = *attr;
  other.state = choice == 254 ? QpState::kSqd : QpState::kErr;
  nic_->modify_qp(qp_, other, now_);
}

void ResponderSession::pass_time() {
  now_ = now_ + Duration::from_ps(std::int64_t{in_.u16()} * 10'000);
  if (nic_->next_timeout() <= now_) nic_->on_timeout(now_);
}

const CheckedMemory::Region& ResponderSession::region() {
  static constexpr CheckedMemory::Region kNone{};
  return memory_.regions.empty() ? kNone : memory_.regions[in_.u8() % memory_.regions.size()];
}

Sge ResponderSession::sge() {
  const CheckedMemory::Region& r = region();
  Sge s{r.addr, in_.u16() % 2048, r.key};
  s.addr += in_.u8();
  if (in_.one_in(64)) s.addr = in_.u64();
  if (in_.one_in(64)) s.length = in_.u32();
  if (in_.one_in(64)) s.lkey = RKey{in_.u32()};
  return s;
}

void ResponderSession::post_receive() {
  RecvWqe w;
  w.num_sge = in_.u8() % 4;
  for (int i = 0; i < w.num_sge; ++i) w.sge[static_cast<std::size_t>(i)] = sge();
  nic_->post_recv(qp_, w, now_);
}

void ResponderSession::post_send() {
  SendWqe w;
  w.opcode = static_cast<WrOpcode>(in_.u8() % 10);
  w.signaled = !in_.one_in(4);
  w.fence = in_.one_in(8);
  w.num_sge = in_.u8() % 4;
  for (int i = 0; i < w.num_sge; ++i) w.sge[static_cast<std::size_t>(i)] = sge();
  w.remote_addr = in_.u64();
  w.rkey = RKey{in_.u32()};
  if (is_atomic(w.opcode)) w.remote_addr &= ~std::uint64_t{7};
  if (is_local(w.opcode) && !in_.one_in(64)) w.num_sge = 0;
  if (w.opcode == WrOpcode::kLocalInvalidate) w.imm = in_.one_in(16) ? in_.u32() : windows_[1].value;
  if (w.opcode == WrOpcode::kBindMw) set_binding(w, binding());
  nic_->post_send(qp_, w, now_);
}

// Mostly what can be bound. Whether it will be is the NIC's to say; what it would allow is noted.
MwBinding ResponderSession::binding() {
  RKey& window = windows_[in_.u8() % 2];
  const CheckedMemory::Region& r = region();
  MwBinding b{window, RKey{(window.value & ~0xffu) | in_.u8()}, r.key, r.addr, r.length, in_.u8() & 15u};
  if (in_.one_in(4)) b.addr += in_.u8(), b.length = in_.u16() % 2048;
  if (in_.one_in(8)) b.access |= kAccessZeroBased;
  if (in_.one_in(64)) b.window = RKey{in_.u32()};
  if (in_.one_in(64)) b.region = RKey{in_.u32()};
  if (in_.one_in(64)) b.addr = in_.u64(), b.length = in_.u64();
  memory_.windows.push_back({b.key, b.addr, b.length, b.access});
  window = b.key;
  return b;
}

void ResponderSession::drain(int packets) {
  for (; packets > 0 && nic_->has_more(); --packets) {
    const PacketRef packet = nic_->poll_transmit(now_);
    if (!packet) return;
    const auto bytes = std::make_unique<std::byte[]>(packet->payload_length);
    nic_->gather(*packet, {bytes.get(), packet->payload_length});
    learn(*packet);
  }
}

void ResponderSession::learn(const Packet& packet) {
  const RoceHeaders& h = packet.roce;
  const OpcodeInfo& info = opcode_info(h.opcode);
  RL_CHECK(info.known() && h.dest == attr_.dest_qpn);
  if (info.is_request()) {
    peer_.sent_psn = std::max(peer_.sent_psn, unwrap(h.psn, peer_.sent_psn) + 1);
  } else if (info.is_read_response() || info.operation == Operation::kAtomicAck) {
    ++outcome_.read_responses;
    peer_.read_psn = std::max(peer_.read_psn, unwrap(h.psn, peer_.read_psn) + 1);
  } else if (info.is_response()) {
    if (!is_ack(h.syndrome)) ++outcome_.naks;
    const bool names_last = info.transport == TransportClass::kRc && is_ack(h.syndrome);
    peer_.request_psn = unwrap(h.psn, peer_.request_psn) + (names_last ? 1 : 0);
  } else if (info.role == Role::kReadAck) {
    peer_.response_psn = unwrap(h.psn, peer_.response_psn);
  }
}

void ResponderSession::poll() {
  while (const auto cqe = nic_->poll_cq(cq_)) {
    if (cqe->status != WcStatus::kSuccess) ++outcome_.errors;
    if (cqe->status == WcStatus::kSuccess && cqe->opcode == WcOpcode::kBindMw) ++outcome_.binds;
    if (cqe->has_invalidated) ++outcome_.invalidated;
    const bool receive = cqe->opcode == WcOpcode::kRecv || cqe->opcode == WcOpcode::kRecvWriteImm;
    if (!receive || cqe->status != WcStatus::kSuccess) continue;
    ++outcome_.receive_cqes;
    ++peer_.receive_sn;
  }
}

}  // namespace rocelab::fuzz
