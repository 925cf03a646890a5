// Nic: one RNIC with all its QPs as a state machine: no I/O, no clock, no thread.
// Contract for each driver (virtual-time host, live loop, test pair, fuzzer):
//  1. `now` never decreases; equal values are legal.
//  2. After any input or pull, ask has_more() / next_timeout() again: a pull may arm a timer, an input may
//  open the port.
//  3. Pull a packet only when the port can send it at once: no hidden queue in a driver. Paused classes are
//  skipped inside.
//  4. At next_timeout() call on_timeout(); it may be early, and early or repeated calls change nothing.
//  5. A packet that was pulled refers to the program's memory: call gather() (or drop the packet) before the
//  next input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/packet.h"
#include "base/rng.h"
#include "base/trace.h"
#include "base/wire/pfc.h"
#include "irn_provider/nic/link_state.h"
#include "irn_provider/transport/async_events.h"
#include "irn_provider/transport/counters.h"
#include "irn_provider/transport/memory.h"
#include "irn_provider/transport/nic_config.h"
#include "irn_provider/transport/verbs_types.h"

namespace rocelab {

class ReplayPort;

class Nic {
 public:
  // `memory` places and gathers payload (irn_provider/transport/memory.h); a null one in virtual time.
  // `first_qpn`: QPNs of this engine are first_qpn .. first_qpn + max_qps - 1 (virtual functions of one host
  // get disjoint ranges). `pool`, `memory` and `trace` outlive the Nic.
  Nic(const NicConfig& config, Qpn first_qpn, Rng rng, PacketPool& pool, Memory& memory, TraceSink& trace);
  ~Nic();

  // --- inputs
  void on_packet(PacketRef packet, Time now);  // untrusted: bad input is counted and dropped
  void on_pfc(const PfcFrame& frame, Time now);
  void on_timeout(Time now);  // RTO, RNR, pacing, and changes of the link that are expected
  // The port's link has failed or come back; the same again changes nothing. Its programs get an
  // asynchronous event.
  void on_link(bool up, Time now);
  // Changes of the link that are known before, in the order of time: then on_link() is not needed. Those at
  // or before `now` pass without an event.
  void expect_link_changes(std::vector<LinkChange> changes, Time now);

  // --- resources; handles are never reused within 2^16 allocations
  static constexpr std::uint32_t kMaxPds = 0xffff, kMaxXrcds = 0xffff, kMaxAhs = 0xffff, kMaxSrqs = 0xffff;
  Pdn alloc_pd();        // 0: no more, and no handle: every use of it fails
  bool free_pd(Pdn pd);  // false: still used or unknown
  std::optional<RKey> reg_mr(Pdn pd, std::uint64_t addr, std::uint64_t length, std::uint64_t iova,
                             std::uint32_t access);
  // What is not given stays as it is, and so does the key. False: unknown, windows are bound to it, or what
  // reg_mr() would refuse; nothing has changed.
  bool rereg_mr(RKey key, std::optional<Pdn> pd, std::optional<MrBounds> bounds,
                std::optional<std::uint32_t> access);
  bool dereg_mr(RKey key);              // false: windows are bound to it, or unknown
  bool mr_has_windows(RKey key) const;  // that are bound to it
  static constexpr std::uint32_t kMaxMws = 65'536;
  std::optional<RKey> alloc_mw(Pdn pd, MwType type);  // not bound; binding is a work request
  bool dealloc_mw(RKey key);  // bound or not, whatever the low byte of its key; false: unknown
  std::optional<Ahn> create_ah(Pdn pd, const PathAddress& path);
  bool destroy_ah(Ahn ah);
  bool ah_in_use(Ahn ah) const;  // datagrams that have not left go by it: they would be lost
  std::optional<Cqn> create_cq(std::uint32_t entries);
  bool destroy_cq(Cqn cq);
  bool resize_cq(Cqn cq, std::uint32_t entries);  // false: more CQEs wait, or unknown
  std::optional<Srqn> create_srq(Pdn pd, const SrqAttr& attr);
  Xrcdn alloc_xrcd();          // as alloc_pd()
  bool free_xrcd(Xrcdn xrcd);  // false: still used or unknown
  std::optional<Srqn> create_xrc_srq(Pdn pd, const SrqAttr& attr, Xrcdn xrcd, Cqn cq);
  bool destroy_srq(Srqn srq);                        // false: a QP takes from it, or unknown
  bool resize_srq(Srqn srq, std::uint32_t max_wr);   // false: more WQEs wait, or unknown
  bool arm_srq(Srqn srq, std::uint32_t limit);       // false: unknown
  const SrqAttr* query_srq(Srqn srq) const;          // null: unknown
  std::optional<Qpn> create_qp(const QpInit& init);  // with init.gsi the QPN is 1
  // QPNs are given out in turn. A NIC that takes over from an earlier one goes on behind its last (next_qp()
  // of that one, counted from first_qpn): peers keep dead connections' QPNs for a while (the timewait state
  // of a connection manager).
  void set_first_qpn(std::uint32_t slot);  // before the first QP
  std::uint32_t next_qp() const;
  bool destroy_qp(Qpn qpn);
  // Moves the QP and sets attributes that `attr` carries for that transition (the verbs layer has checked the
  // mask). Leaving for RESET drops all work, for ERR flushes it into the CQs.
  bool modify_qp(Qpn qpn, const QpAttr& attr, Time now);
  const QpAttr* query_qp(Qpn qpn) const;  // null: unknown; state is the current one
  std::optional<QpProgress> progress_of(Qpn qpn) const;

  // Multicast groups (IBTA 10.5.2): datagrams to `group`, a GID, reach every member. Only UD QPs join;
  // joining twice is joining once.
  static constexpr std::size_t kMaxGroups = 8'192, kMaxGroupMembers = 256;
  enum class GroupResult : std::uint8_t { kOk, kBadQp, kNoMember, kTooMany };
  GroupResult join_group(Qpn qpn, const GroupAddress& group);
  GroupResult leave_group(Qpn qpn, const GroupAddress& group);
  std::size_t groups_of(Qpn qpn) const;   // which it is a member of; they end with the QP
  std::size_t group_memberships() const;  // of all QPs

  // --- work
  PostResult post_send(Qpn qpn, const SendWqe& wqe, Time now);
  PostResult post_recv(Qpn qpn, const RecvWqe& wqe, Time now);
  PostResult post_srq_recv(Srqn srq, const RecvWqe& wqe);
  // What posting all of them to the QP would be refused for; kOk: none would be.
  PostResult check_sends(Qpn qpn, std::span<const SendWqe> wqes) const;

  // --- outputs
  // Null: nothing may leave before next_timeout() or an input. `of`: only frames of these classes; an arbiter
  // between the NICs of a port has chosen them, and ends the turn itself.
  PacketRef poll_transmit(Time now, TcMask of = kAllClasses);
  // Other NICs send through the same port (virtual functions of a host): from now on its classes take these
  // turns, which must outlive the NIC. `ready_elsewhere`: classes of which the others have something to send.
  void share_port(ClassTurns& turns, TcMask ready_elsewhere);
  // All that the QP sends is one flow of so many packets, in however many messages (datagrams): slack by size
  // goes by it. A QP of which nothing is said sends a flow with each message.
  void announce_flow(Qpn qpn, std::uint32_t packets);
  // Told of data that leaves and arrives, from now on. Outlives the NIC.
  void use_replay(ReplayPort& port);
  bool has_more() const;  // something could leave now
  // Copies the payload of a packet just pulled into `out` (payload_length bytes). False: the program's memory
  // is gone; send nothing.
  bool gather(const Packet& packet, std::span<std::byte> out) const;
  const PathAddress* path_of(const Packet& packet) const;  // addresses for a packet just pulled
  bool link_up() const;
  std::optional<Cqe> poll_cq(Cqn cq);
  std::size_t cq_depth(Cqn cq) const;  // CQEs that wait
  bool cq_overrun(Cqn cq) const;
  std::uint64_t cq_made(Cqn cq) const;  // CQEs since its creation
  // The number, from 1, of the last CQE that is solicited or an error; 0: none.
  std::uint64_t cq_last_solicited(Cqn cq) const;
  std::optional<AsyncEvent> poll_event();
  // CQEs and asynchronous events made so far, over all CQs: grows when a driver should look.
  std::uint64_t completions() const;
  // Send requests taken so far, over all queue pairs.
  std::uint64_t posts() const;
  // Makes completions() grow once, for a driver that stops for more than CQEs. Called from a TraceSink.
  void wake_driver();
  Time next_timeout() const;  // cached, O(1), may be early; Time::never() when idle
  const NicCounters& counters() const;

 private:
  friend class NicPort;  // looks at the state itself: it is the hot path of every driver
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rocelab
