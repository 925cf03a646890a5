// ConnectionManager: the communication manager of IBTA Vol 1, chapter 12, with the RDMA IP CM service (annex
// A11), as a state machine: no I/O, no clock. Datagrams of QP1 go in, datagrams and events come out; one for
// each process, with communication IDs of its own (CmConfig). Interoperates with Linux ib_cm, whose timeouts
// and habits it has where the specification leaves a choice; alternate paths are not offered.
//
// Contract: as irn_provider/nic/nic.h: `now` never decreases; after any input or call take poll_transmit()
// and poll_event() until they are empty and ask next_timeout() again; on_timeout() may be early. What comes
// in is untrusted: it is answered as the specification says, or counted and dropped.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "base/rng.h"
#include "irn_provider/cm/cm_types.h"
#include "irn_provider/cm/endpoint.h"

namespace rocelab::cm {

class ConnectionManager {
 public:
  // `rng` draws starting PSNs, and the first communication ID: one that a process has after another that had
  // the same range must not look like that one's.
  ConnectionManager(const CmConfig& config, Rng rng);

  // --- inputs
  // `from`, `to`: GIDs of the ports that the datagram travelled between.
  void on_mad(std::span<const std::byte> mad, const Gid& from, const Gid& to, Time now);
  void on_timeout(Time now);

  // --- the consumer. False: the endpoint is unknown or not in a state for it, or the private data is too
  // long.
  // Several may listen to one IP service if no request is for more than one of their destinations.
  Handle listen(std::uint64_t service_id, unsigned backlog, const Destination& destination = {});
  Handle connect(const ConnectParams& params, Time now);             // value 0: private data too long
  Handle resolve(const ConnectParams& params, Time now);             // datagrams: SIDR
  bool accept(Handle handle, const AcceptParams& params, Time now);  // a request of either kind
  bool establish(Handle handle, Time now);                           // after kReply: RTU
  bool established(Handle handle);  // passive side: data has come ahead of the RTU
  // A request or a reply. Requests for datagrams are refused with SidrStatus::kRejected.
  bool reject(Handle handle, RejReason reason, std::span<const std::uint8_t> private_data, Time now);
  bool disconnect(Handle handle, Time now);  // DREQ, or DREP if the peer asked
  // The consumer has seen a request: it no longer counts for its listener's backlog.
  void fetched(Handle request);
  // Says good-bye by what the state asks for (REJ, DREQ, DREP). No event follows for the handle.
  void destroy(Handle handle, Time now);

  const QpSettings* settings(Handle handle) const;  // null: unknown
  const Endpoint* find(Handle handle) const;        // null: unknown

  // --- outputs
  std::optional<OutgoingMad> poll_transmit();
  std::optional<Event> poll_event();
  Time next_timeout() const { return timers_.empty() ? Time::never() : timers_.begin()->first; }
  const CmCounters& counters() const { return counters_; }
  std::size_t endpoints() const { return endpoints_.size(); }  // those included that only wait for their end

 private:
  using PeerKey = std::pair<std::uint64_t, std::uint32_t>;  // CA GUID; communication ID, or QPN
  using PeerIndex = std::map<PeerKey, CommId>;

  // --- connection_manager.cc
  Endpoint& add(State state);
  Endpoint* get(Handle handle);
  Endpoint* by_id(CommId id);
  struct Found {
    Endpoint* listener = nullptr;
    bool elsewhere = false;  // there are listeners, for other destinations
  };
  Found listener_of(std::uint64_t service_id, std::span<const std::uint8_t> private_data);
  void arm(Endpoint& e, Time deadline);
  void send(const Endpoint& e, const CmMad& mad);
  void send_again(const Endpoint& e, const CmMad& mad);  // the answer to a duplicate
  void answer(const Gid& from, const Gid& to, std::uint64_t transaction, Message message);
  void await(Endpoint& e, Message message, std::uint32_t modifier, Time now);  // sends with retries
  void say(Endpoint& e, Message message, std::uint32_t modifier = 0);          // sends once, remembers
  void send_rej(Endpoint& e, RejReason reason, std::span<const std::uint8_t> private_data);
  void send_dreq(Endpoint& e, Time now);
  void enter_timewait(Endpoint& e, Time now);
  void end(Endpoint& e);  // idle; gone if nobody owns it
  static void forget(PeerIndex& index, const Endpoint& e, std::uint32_t key);
  void give_back_backlog(Endpoint& e);
  Event& raise(const Endpoint& e, EventKind kind);  // to be filled in
  void give_up(Endpoint& e, Time now);

  // --- cm_calls.cc
  Req make_req(const Endpoint& e, const ConnectParams& params);

  // --- cm_sidr.cc
  bool answer_resolution(Endpoint& e, SidrStatus status, Qpn qpn, std::uint32_t qkey,
                         std::span<const std::uint8_t> private_data);

  // --- cm_receive.cc
  struct Arrival {
    const Gid &from, &to;
    std::uint64_t transaction;
    std::uint32_t modifier;
    Time now;
  };
  void on(const Req& m, const Arrival& a);
  void on(const Mra& m, const Arrival& a);
  void on(const Rej& m, const Arrival& a);
  void on(const Rep& m, const Arrival& a);
  void on(const Rtu& m, const Arrival& a);
  void on(const Dreq& m, const Arrival& a);
  void on(const Drep& m, const Arrival& a);
  void on(const SidrReq& m, const Arrival& a);
  void on(const SidrRep& m, const Arrival& a);
  bool known_request(const Req& m, const Arrival& a);
  std::optional<RejReason> refusal(const Req& m, const Found& found) const;
  void take_request(const Req& m, const Arrival& a, Endpoint& listener);
  Endpoint* partner(CommId local, const Arrival& a);  // null: counted
  Endpoint* rejected(const Rej& m, const Arrival& a);
  void wrong_state() { ++counters_.rx_wrong_state; }

  const CmConfig config_;
  Rng rng_;
  CommId next_offset_;
  std::uint32_t next_handle_ = 1;
  std::map<CommId, std::unique_ptr<Endpoint>> endpoints_;
  std::map<std::uint32_t, CommId> by_handle_;
  PeerIndex by_peer_id_, by_peer_qpn_;  // of connections
  std::set<std::pair<Time, CommId>> timers_;
  std::deque<OutgoingMad> transmit_;
  std::deque<Event> events_;
  Event discarded_;  // an orphan's events are nobody's
  CmCounters counters_;
};

}  // namespace rocelab::cm
