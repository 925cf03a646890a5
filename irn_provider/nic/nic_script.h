// NicScript, for fuzzing: bytes become a sequence of API calls, losses, pauses and forged packets between two
// Nics, each with two connected QPs. What must hold for every script: nothing crashes or breaks an invariant
// (RL_CHECK, ASan, UBSan), nobody writes outside registered memory, each WQE that was accepted completes at
// most once, frames are as long as their paths make them, what is forged from elsewhere than the QP's peer
// changes nothing but a counter, and after the script the pair comes to rest. Each side has two memory
// windows, whose R_Keys the steps guess among few.
#pragma once

#include <array>
#include <cstring>
#include <deque>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/wire/controls.h"
#include "base/wire/frame.h"
#include "base/wire/opcode.h"
#include "base/wire/rocc_cnp.h"
#include "base/wire/roce_packet.h"
#include "base/wire/shim_parts.h"
#include "irn_provider/cc/aimd.h"
#include "irn_provider/cc/bfc.h"
#include "irn_provider/cc/p4qcn_rp.h"
#include "irn_provider/cc/qcn_rp.h"
#include "irn_provider/cc/rcp.h"
#include "irn_provider/cc/rocc_rp.h"
#include "irn_provider/nic/nic.h"
#include "irn_provider/nic/nic_port.h"

namespace rocelab {

class NicScript {
 public:
  struct Tally {  // of requests that succeeded
    unsigned bound = 0, invalidated = 0, through_windows = 0;
    unsigned foreign = 0;  // and packets that were refused for where they came from
  };
  // `bytes` drives everything; the first one chooses the mode. Returns a complaint, or nothing.
  static std::string run(std::span<const std::byte> bytes, Tally* tally = nullptr) {
    NicScript script(bytes);
    script.play();
    if (tally != nullptr) {
      tally->bound += script.tally_.bound, tally->invalidated += script.tally_.invalidated;
      tally->through_windows += script.tally_.through_windows;
      for (const Side& s : script.sides_)
        tally->foreign += static_cast<unsigned>(s.nic.counters().rx_wrong_peer);
    }
    return script.complaint_;
  }

 private:
  static constexpr std::size_t kGuard = 4096, kRegion = 16'384;
  static constexpr std::uint32_t kMtu = 256, kAccess = 15 | kAccessMwBind;
  static constexpr int kQps = 2, kWindows = 2;  // of type 1, and of type 2
  static constexpr std::array<std::uint8_t, 16> kPeer = {0, 0, 0,    0,    0, 0, 0, 0,
                                                         0, 0, 0xff, 0xff, 1, 1, 1, 1};

  struct Side {
    Side(const NicConfig& config, Qpn first)
        : memory_bytes(kRegion + 2 * kGuard),
          nic(config, first, Rng(1), pool, memory, trace),
          port(nic, config.link_rate, config.link_delay) {
      pd = nic.alloc_pd();
      cq = *nic.create_cq(64);
      key = *nic.reg_mr(pd, base(), kRegion, base(), kAccess);
      for (std::size_t i = 0; i < kWindows; ++i) windows[i] = *nic.alloc_mw(pd, type_of(i));
      for (std::size_t i = 0; i < kGuard; ++i)
        memory_bytes[i] = memory_bytes[kGuard + kRegion + i] = std::byte{0x5a};
    }
    static MwType type_of(std::size_t window) { return window == 0 ? MwType::k1 : MwType::k2; }
    std::uint64_t base() const { return reinterpret_cast<std::uint64_t>(memory_bytes.data() + kGuard); }
    bool guards_intact() const {
      for (std::size_t i = 0; i < kGuard; ++i)
        if (memory_bytes[i] != std::byte{0x5a} || memory_bytes[kGuard + kRegion + i] != std::byte{0x5a})
          return false;
      return true;
    }
    std::vector<std::byte> memory_bytes;
    PacketPool pool;
    ProcessMemory memory;
    NullTrace trace;
    Nic nic;
    NicPort port;
    Pdn pd;
    Cqn cq;
    RKey key;
    std::array<RKey, kWindows> windows;  // as the last bind is to have named them
    std::array<Qpn, kQps> qps;
    std::set<std::uint64_t> completed;  // wr_ids
    Packet last;                        // sent last: copies and forgeries start from it
  };

  explicit NicScript(std::span<const std::byte> bytes)
      : bytes_(bytes), config_(make_config(byte())), sides_{Side(config_, Qpn{16}), Side(config_, Qpn{64})} {
    for (std::size_t i = 0; i < kQps; ++i)
      for (Side& s : sides_) s.qps[i] = create_qp(s);
    for (std::size_t i = 0; i < kQps; ++i) bring_up(0, i), bring_up(1, i);
  }

  static void use_feedback(CcConfig& cc, std::uint8_t choice) {
    const CcLimiter limiter = (choice & 16) != 0 ? CcLimiter::kHosts : CcLimiter::kConnection;
    if ((choice & 128) == 0)
      cc.use<RoccRp>();
    else if ((choice & 2) == 0)
      cc.use<P4qcnRp>().limiter = limiter;
    else
      cc.use<QcnRp>().limiter = limiter;
  }
  static NicConfig make_config(std::uint8_t choice) {
    NicConfig config;
    config.mode = (choice & 1) != 0 ? TransportMode::kIrn : TransportMode::kRoce;
    if ((choice & 2) != 0) config.roce_rto = 50_us;
    config.recovery_timers = (choice & 4) == 0;
    config.irn.sack = (choice & 8) == 0;
    config.irn.go_back_n = (choice & 16) != 0;
    config.irn.bdp_cap = (choice & 32) != 0 ? 0 : 5;
    config.irn.bitmap_packets = 16;
    if ((choice & 64) != 0)
      use_feedback(config.cc, choice);
    else if ((choice & 128) != 0)
      (choice & 8) != 0 ? void(config.cc.use<Bfc>()) : void(config.cc.use<Rcp>());
    if ((choice & 25) == 25) use_rc3(config);
    return config;
  }
  // Few packets a level, and messages longer than what both ends keep account of.
  static void use_rc3(NicConfig& config) {
    IrnConfig& irn = config.irn;
    irn.sack = true, irn.go_back_n = false, irn.tcp = true, irn.bdp_cap = 0;
    irn.rto_high = 100_us;
    config.rc3 = {4, {config.roce_dscp, 16, 8, 0}, {1, 3, 5, 7}};
    AimdParams& aimd = config.cc.use<Aimd>();
    aimd.initial_window = 2, aimd.slow_start = true;
  }
  Qpn create_qp(Side& s) {
    QpInit init;
    init.pd = s.pd, init.send_cq = init.recv_cq = s.cq, init.caps = {8, 8, 3, 3, 64};
    return *s.nic.create_qp(init);
  }
  void bring_up(std::size_t side, std::size_t i) {
    QpAttr attr;
    attr.path_mtu = kMtu, attr.access_flags = kAccess, attr.max_rd_atomic = attr.max_dest_rd_atomic = 2;
    attr.timeout = 4, attr.retry_cnt = 3, attr.rnr_retry = 2,
    attr.min_rnr_timer = 1;  // 65 us, 10 us: scripts come to rest soon
    attr.dest_qpn = sides_[1 - side].qps[i];
    attr.path.dst_gid = kPeer;
    attr.sq_psn = attr.rq_psn = 0xfffffe;
    for (QpState state : {QpState::kInit, QpState::kRtr, QpState::kRts}) {
      attr.state = state;
      sides_[side].nic.modify_qp(sides_[side].qps[i], attr, now_);
    }
  }

  std::uint8_t byte() { return next_ < bytes_.size() ? static_cast<std::uint8_t>(bytes_[next_++]) : 0; }
  std::uint32_t word() { return static_cast<std::uint32_t>(byte()) << 8 | byte(); }

  void play() {
    while (next_ < bytes_.size() && complaint_.empty()) step();
    lose_mask_ = 0;
    for (int i = 0; i < 4000 && complaint_.empty(); ++i) {
      const Time t = next_event();
      if (t.is_never()) break;
      advance(t + 1_ps);
      if (i == 3999) complain("still busy after the script");
    }
    for (const Side& s : sides_)
      if (!s.guards_intact()) complain("wrote outside registered memory");
  }
  void complain(const char* what) {
    if (complaint_.empty()) complaint_ = what;
  }

  void step() {
    const std::uint8_t op = byte();
    const std::size_t side = op & 1, qp = op >> 1 & 1;
    Side& s = sides_[side];
    switch (op >> 2 & 15) {
      case 0:
      case 1:
      case 2:
        windowed_ = op >= 128;
        if (windowed_ && (op >> 2 & 15) == 2) {
          post_local(s, qp);
        } else {
          post_send(s, qp);
        }
        break;
      case 3:
      case 4:
        if (op < 128) {
          post_recv(s, qp);
        } else {
          open_window(s, qp);
        }
        break;
      case 5:
      case 6:
        advance(now_ + Duration::from_ps(std::int64_t{byte()} * 100'000));
        break;
      case 7:
        lose_mask_ = byte();
        break;
      case 8:
      case 9:
        windowed_ = op >= 128;
        foreign_ = (op & 64) != 0;
        forge(s, qp);
        break;
      case 10:
        foreign_ = (op & 64) != 0;
        repeat(side);
        break;
      case 11:
        pause(s);
        break;
      case 12:
        advance(next_event() + 1_ps);
        break;
      case 13:
        change_state(side, qp);
        break;
      case 14:
        if (op < 128) {
          change_region(s);
        } else {
          replace_window(s);
        }
        break;
      default:
        replace_qp(side, qp);
        break;
    }
  }

  Sge piece(const Side& s) {
    const std::uint8_t how = byte();
    Sge sge{s.base() + word() % kRegion, word() % 1500, s.key};
    if (sge.addr + sge.length > s.base() + kRegion && how > 8) sge.addr = s.base();
    if (how == 1) sge.lkey.value ^= 0x10001;
    return sge;
  }
  void post_send(Side& s, std::size_t qp) {
    const Side& peer = &s == &sides_[0] ? sides_[1] : sides_[0];
    const std::uint8_t how = byte();
    SendWqe w;
    w.wr_id = ++wr_id_;
    w.opcode = static_cast<WrOpcode>(how % 8);
    w.fence = (how & 32) != 0, w.solicited = (how & 64) != 0;
    w.num_sge = static_cast<std::uint8_t>(how >> 3 & 3);
    for (std::size_t i = 0; i < w.num_sge; ++i) w.sge[i] = piece(s);
    w.remote_addr = peer.base() + word() % (kRegion - 3000), w.rkey = key_of(peer);
    w.compare_add = how & 3, w.swap = how;
    if (w.opcode == WrOpcode::kSendInvalidate) w.imm = w.rkey.value;
    if (how < 128) w.remote_addr &= ~std::uint64_t{7};
    if (how == 255) w.remote_addr += kRegion;
    if (windowed_ && w.rkey != peer.key && w.opcode >= WrOpcode::kWrite) by_window_.insert(w.wr_id);
    s.nic.post_send(s.qps[qp], w, now_);
    drain(s);
  }
  // The R_Key by which `of` is reached: its region's, or where windows are meant one that a window may have.
  RKey key_of(const Side& of) {
    if (!windowed_) return of.key;
    const std::uint8_t which = byte();
    if (which == 255) return of.key;
    const RKey last = of.windows[which % kWindows];
    return which < 192 ? last : RKey{(last.value & ~0xffu) | (which >> 1 & 3)};
  }
  // Binds a window, to what is sometimes the region, or invalidates one.
  void post_local(Side& s, std::size_t qp) {
    SendWqe w;
    w.wr_id = ++wr_id_;
    const std::uint8_t how = byte();
    w.fence = (how & 1) != 0;
    w.opcode = (how & 6) != 0 ? WrOpcode::kBindMw : WrOpcode::kLocalInvalidate;
    const RKey named = key_of(s);
    if (w.opcode == WrOpcode::kBindMw) {
      const RKey next{(named.value & ~0xffu) | (how >> 3 & 3)};
      const RKey region = how < 0xf8 ? s.key : RKey{s.key.value ^ 0x10001};
      set_binding(w,
                  {named, next, region, s.base() + word() % kRegion, word() % kRegion,
                   (how & 32) != 0 ? std::uint32_t{byte()} : kAccess & ~kAccessMwBind & ~kAccessLocalWrite});
    } else {
      w.imm = named.value;
    }
    const bool posted = s.nic.post_send(s.qps[qp], w, now_) == PostResult::kOk;
    if (posted && w.opcode == WrOpcode::kBindMw)
      for (RKey& window : s.windows)
        if (window.value >> 8 == named.value >> 8) window.value = (named.value & ~0xffu) | (how >> 3 & 3);
    drain(s);
  }
  // What a SEND that invalidates needs: a window of type 2 of that QP, and room for the message.
  void open_window(Side& s, std::size_t qp) {
    RKey& window = s.windows[1];
    const RKey named = window, next{(named.value & ~0xffu) | (byte() & 3)};
    SendWqe bind;
    bind.wr_id = ++wr_id_, bind.opcode = WrOpcode::kBindMw;
    set_binding(bind, {named, next, s.key, s.base(), kRegion, kAccessRemoteWrite | kAccessRemoteRead});
    if (s.nic.post_send(s.qps[qp], bind, now_) == PostResult::kOk) window = next;
    RecvWqe receive;
    receive.wr_id = ++wr_id_;
    receive.num_sge = 1, receive.sge[0] = {s.base(), kRegion / 2, s.key};
    s.nic.post_recv(s.qps[qp], receive, now_);
    drain(s);
  }
  void replace_window(Side& s) {
    const std::size_t which = byte() % kWindows;
    s.nic.dealloc_mw(s.windows[which]);
    s.windows[which] = *s.nic.alloc_mw(s.pd, Side::type_of(which));
  }
  void post_recv(Side& s, std::size_t qp) {
    RecvWqe w;
    w.wr_id = ++wr_id_;
    w.num_sge = byte() & 3;
    for (std::size_t i = 0; i < w.num_sge; ++i) w.sge[i] = piece(s);
    s.nic.post_recv(s.qps[qp], w, now_);
    drain(s);
  }
  // A packet of any opcode of the class, near what the QP expects, with fields that are sometimes right.
  void forge(Side& s, std::size_t qp) {
    const Side& peer = &s == &sides_[0] ? sides_[1] : sides_[0];
    PacketRef p = s.pool.clone(peer.last);
    RoceHeaders& h = p->roce;
    const std::uint8_t how = byte();
    if (how >= 0xf0) return forge_feedback(s, qp, how);
    if ((how & 1) != 0)
      h.opcode = static_cast<std::uint8_t>((config_.mode == TransportMode::kIrn ? 0xc0 : 0) | byte() % 31);
    if ((how & 2) != 0)
      h.psn = Psn(h.psn.value() + static_cast<std::uint32_t>(static_cast<std::int8_t>(byte())));
    if ((how & 4) != 0) h.syndrome = byte();
    if ((how & 8) != 0)
      h.sack = Psn(h.psn.value() + static_cast<std::uint32_t>(static_cast<std::int8_t>(byte())));
    if ((how & 16) != 0)
      h.wqe_sn = (h.wqe_sn + static_cast<std::uint32_t>(static_cast<std::int8_t>(byte()))) & 0xffffff,
      h.offset = byte() % 8;
    if ((how & 32) != 0)
      h.va = s.base() + word(), h.rkey = key_of(s), h.imm = h.rkey.value, h.dma_length = word();
    if ((how & 64) != 0) p->payload_length = word() % 600;
    if ((how & 128) != 0) h.msn = Msn{byte()}, h.opcode = byte();
    if (opcode_info(h.opcode).has(Header::kIrnBlocks)) forge_blocks(h);
    if (config_.rc3.levels > 0) h.dscp = config_.rc3.dscp[byte() % 4];
    if (config_.cc.needs().path_rate && (how & 3) == 3) put_rcp(*p, {1'000'000 + word(), word()});
    h.dest = s.qps[qp];
    h.ack_req = true;
    p->payload_length = std::min<std::uint32_t>(p->payload_length, sizeof(forged_payload_));
    p->payload = forged_payload_.data(), p->frame_length = 60;
    deliver(s, std::move(p));
  }
  // Near the cumulative value: some true, some that overlap, are empty or reversed, or name what was never
  // sent.
  void forge_blocks(RoceHeaders& h) {
    IrnBlocks said;
    const auto near = [&] {
      return Psn(h.psn.value() + static_cast<std::uint32_t>(static_cast<std::int8_t>(byte()) / 8));
    };
    said.trigger = near();
    for (IrnBlocks::Block& block : said.blocks) block = {near(), near()};
    put_irn_blocks(h, said);
  }
  // Feedback of a switch, with fields that are sometimes right.
  void forge_feedback(Side& s, std::size_t qp, std::uint8_t how) {
    const Side& peer = &s == &sides_[0] ? sides_[1] : sides_[0];
    if (config_.cc.get<Bfc>() != nullptr) return forge_pause(s, how);
    if (!config_.cc.chosen() || config_.cc.get<RoccRp>() != nullptr) return forge_fair_rate(s, qp, how);
    PacketRef p = s.pool.make();
    const std::uint32_t cp = (how & 4) != 0 ? word() << 16 : kCpNetwork + (how & 3);
    const bool is_cnm = (byte() & 1) != 0;
    Cnm cnm;
    cnm.cp = cp, cnm.feedback = byte() & 63, cnm.dest = peer.qps[qp];
    P4qcnFbp fbp{cp, word(), peer.qps[qp]};
    if ((how & 8) != 0) {
      cnm.dest = fbp.dest = Qpn{word()};
      p->src = NodeId{static_cast<std::uint16_t>(word())};
    }
    is_cnm ? put_control(*p, cnm) : put_control(*p, fbp);
    deliver(s, std::move(p));
  }
  // Of the queues of some queue pairs, and of others.
  void forge_pause(Side& s, std::uint8_t how) {
    PacketRef p = s.pool.make();
    BfcPause pause{Tc{byte()}, {}};
    if ((how & 4) != 0) pause.queues.set_word(1, ~std::uint64_t{0});
    for (std::size_t i = 0; i < kQps; ++i) pause.queues.set(bfc_queue_of(s.qps[i]), (how >> i & 1) != 0);
    put_control(*p, pause);
    s.nic.on_packet(std::move(p), now_);
    drain(s);
  }
  void forge_fair_rate(Side& s, std::size_t qp, std::uint8_t how) {
    const Side& peer = &s == &sides_[0] ? sides_[1] : sides_[0];
    PacketRef p = s.pool.make();
    RoccFeedback f{kCpNetwork + (how & 3), 10 + word(), peer.qps[qp]};
    if ((how & 4) != 0) f.cp = word() << 16 | word(), f.rate = word() << 16 | word();
    if ((how & 8) != 0) f.dest = Qpn{word()}, p->src = NodeId{static_cast<std::uint16_t>(word())};
    put_control(*p, f);
    deliver(s, std::move(p));
  }
  void repeat(std::size_t side) {  // the network sends a copy
    PacketRef p = sides_[side].pool.clone(sides_[1 - side].last);
    if (p->frame_length == 0) return;
    p->payload = forged_payload_.data();
    p->payload_length = std::min<std::uint32_t>(p->payload_length, sizeof(forged_payload_));
    deliver(sides_[side], std::move(p));
  }
  void deliver(Side& s, PacketRef p) {
    if (!is_feedback(p->kind) && foreign_) return deliver_foreign(s, std::move(p));
    s.nic.on_packet(std::move(p), now_);
    drain(s);
  }
  // From, or to, another address than the connection's; sometimes a frame between the right ones.
  void deliver_foreign(Side& s, PacketRef p) {
    const std::uint8_t how = byte();
    FrameGids ends{kPeer, {}};
    if ((how & 3) == 0) p->src = NodeId{static_cast<std::uint16_t>(1 + how)};
    if ((how & 3) == 1) ends.src[how % 16] ^= how;
    if ((how & 3) == 2) ends.dst[how % 16] ^= how;
    if ((how & 3) != 0) PacketPool::put_gids(*p, ends);
    const bool good = (how & 3) == 3;
    const NicCounters before = s.nic.counters();
    const std::uint64_t completions = s.nic.completions();
    const Time timeout = s.nic.next_timeout();
    const bool more = s.nic.has_more();
    const std::vector<std::byte> memory = good ? std::vector<std::byte>() : s.memory_bytes;
    s.nic.on_packet(std::move(p), now_);
    const bool same = s.nic.counters().rx_packets == before.rx_packets &&
                      s.nic.completions() == completions && s.nic.next_timeout() == timeout &&
                      s.nic.has_more() == more && s.memory_bytes == memory;
    if (!good && !same) complain("a packet from elsewhere changed something");
    drain(s);
  }
  void pause(Side& s) {
    PfcFrame frame;
    frame.class_enable = 8;
    frame.time[3] = byte();
    s.nic.on_pfc(frame, now_);
  }
  void change_state(std::size_t side, std::size_t qp) {
    Side& s = sides_[side];
    QpAttr attr = *s.nic.query_qp(s.qps[qp]);
    const std::uint8_t how = byte();
    attr.state = static_cast<QpState>(how % 7);
    if (how >= 128) attr.path.dst_gid[10] ^= 0xff;  // of the other IP family; else another class
    if (how >= 64) attr.path.traffic_class = static_cast<std::uint8_t>(how << 1);
    if (how >= 192) attr.max_rd_atomic = attr.max_dest_rd_atomic = how & 3;
    s.nic.modify_qp(s.qps[qp], attr, now_);
    drain(s);
    if (attr.state == QpState::kReset) bring_up(side, qp);
  }
  void change_region(Side& s) {
    s.nic.dereg_mr(s.key);
    if (byte() % 2 == 0) s.key = *s.nic.reg_mr(s.pd, s.base(), kRegion, s.base(), kAccess);
  }
  void replace_qp(std::size_t side, std::size_t qp) {
    Side& s = sides_[side];
    s.nic.destroy_qp(s.qps[qp]);
    s.qps[qp] = create_qp(s);
    if (byte() % 2 != 0) bring_up(side, qp);
  }

  Time next_event() const { return std::min(sides_[0].port.next_event(), sides_[1].port.next_event()); }
  void advance(Time limit) {
    if (limit.is_never()) return;
    for (Time t = next_event(); t < limit && complaint_.empty(); t = next_event())
      for (std::size_t side = 0; side < 2; ++side) run_side(side, t + 1_ps);
    now_ = std::max(now_, limit);
    for (Side& s : sides_) s.port.advance_to(now_);
  }
  void run_side(std::size_t side, Time limit) {
    Side& s = sides_[side];
    auto out = [&](PacketRef packet, Time, Time due) { transfer(side, std::move(packet), due); };
    while (s.port.run_until(limit, out) == StopReason::kCompletion) drain(s);
  }
  void transfer(std::size_t side, PacketRef packet, Time due) {
    Side& to = sides_[1 - side];
    sides_[side].last = *packet;
    const PathAddress* path = sides_[side].nic.path_of(*packet);
    if (path == nullptr ||
        packet->frame_length !=
            frame_length(packet->roce, packet->payload_length, path->is_ipv4()) + shim_bytes_of(*packet))
      complain("a frame is not as long as its path makes it");
    std::vector<std::byte> payload(packet->payload_length);
    const bool lost = (lose_mask_ >> (sent_++ % 8) & 1) != 0;
    if (!sides_[side].nic.gather(*packet, payload) || lost) return;
    in_flight_.push_back(std::move(payload));
    if (in_flight_.size() > 4096) in_flight_.pop_front();
    PacketRef copy = to.pool.clone(*packet);
    copy->payload = in_flight_.back().data();
    to.port.deliver(std::move(copy), due);
  }
  void drain(Side& s) {
    while (const auto cqe = s.nic.poll_cq(s.cq)) {
      if (cqe->wr_id == 0 || cqe->wr_id > wr_id_ || !s.completed.insert(cqe->wr_id).second)
        complain("a CQE for no WQE, or a second one");
      count(*cqe);
    }
  }

  void count(const Cqe& cqe) {
    if (cqe.status != WcStatus::kSuccess) return;
    if (cqe.opcode == WcOpcode::kBindMw) ++tally_.bound;
    if (cqe.has_invalidated) ++tally_.invalidated;
    if (by_window_.contains(cqe.wr_id)) ++tally_.through_windows;
  }

  std::span<const std::byte> bytes_;
  std::size_t next_ = 0;
  NicConfig config_;
  std::array<Side, 2> sides_;
  Time now_;
  std::uint64_t wr_id_ = 0;
  std::uint8_t lose_mask_ = 0;
  bool windowed_ = false;              // the step is about windows
  bool foreign_ = false;               // its packet may come from elsewhere
  std::set<std::uint64_t> by_window_;  // wr_ids of requests that name one
  Tally tally_;
  unsigned sent_ = 0;
  std::array<std::byte, 600> forged_payload_{};
  std::deque<std::vector<std::byte>> in_flight_;
  std::string complaint_;
};

}  // namespace rocelab
