// Ucma: what stands behind /dev/infiniband/rdma_cm: the commands that librdmacm writes (rdma/rdma_user_cm.h),
// on a ConnectionManager and QP1 of each NIC and the hosts of the run. One of a process.
//
// A command's function returns 0 or an errno. All run under the lock of the LiveProcess but get_event, which
// waits. cdev.cc decodes; ucma_address.cc, ucma_connection.cc, ucma_multicast.cc, ucma_events.cc hold the
// functions.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "irn_provider/cm/connection_manager.h"
#include "irn_provider/live/live_process.h"
#include "irn_provider/verbs/rdma_cm/gsi.h"
#include "irn_provider/verbs/rdma_cm/port_bindings.h"
#include "irn_provider/verbs/rdma_cm/ucma_objects.h"

namespace rocelab::verbs {

// What this host may agree on with another of ours (kEceIrn, kEceRc3).
std::uint32_t ece_options(const HostEntry& host);

class Ucma {
 public:
  // The process's own; made, with QP1, by the first call. Null: the NIC has no room for QP1. A forked child's
  // is another one than its parent's.
  static Ucma* open(LiveProcess& process);
  static Ucma* opened();  // null: not yet

  LiveProcess& process() { return process_; }

  // --- files
  int open_file();                               // its descriptor, or -1: none is left
  bool close_file(int fd);                       // with all its identifiers; false: there is none
  void close_all();                              // the process ends
  std::shared_ptr<UcmaFile> file(int fd) const;  // null: none

  // --- commands. `now`: of the caller.
  struct Caller {
    UcmaFile& file;
    Time now;
  };
  int create_id(Caller& c, const rdma_ucm_create_id& cmd, rdma_ucm_create_id_resp& out);
  int destroy_id(Caller& c, const rdma_ucm_destroy_id& cmd, rdma_ucm_destroy_id_resp& out);
  int migrate_id(Caller& c, const rdma_ucm_migrate_id& cmd, rdma_ucm_migrate_resp& out);
  int set_option(Caller& c, const rdma_ucm_set_option& cmd);
  int bind_ip(Caller& c, const rdma_ucm_bind_ip& cmd);
  int resolve_ip(Caller& c, const rdma_ucm_resolve_ip& cmd);
  int resolve_route(Caller& c, const rdma_ucm_resolve_route& cmd);
  int query_route(Caller& c, const rdma_ucm_query& cmd, rdma_ucm_query_route_resp& out);
  int listen(Caller& c, const rdma_ucm_listen& cmd);
  int connect(Caller& c, const rdma_ucm_connect& cmd);
  int accept(Caller& c, const rdma_ucm_accept& cmd);
  int reject(Caller& c, const rdma_ucm_reject& cmd);
  int disconnect(Caller& c, const rdma_ucm_disconnect& cmd);
  int notify(Caller& c, const rdma_ucm_notify& cmd);
  int init_qp_attr(Caller& c, const rdma_ucm_init_qp_attr& cmd, ib_uverbs_qp_attr& out);
  int join_ip(Caller& c, const rdma_ucm_join_ip_mcast& cmd, rdma_ucm_create_id_resp& out);
  int join_address(Caller& c, const rdma_ucm_join_mcast& cmd, rdma_ucm_create_id_resp& out);
  int leave(Caller& c, const rdma_ucm_destroy_id& cmd, rdma_ucm_destroy_id_resp& out);
  int write_event(Caller& c, const WriteCmEvent& cmd);
  int get_event(UcmaFile& file, rdma_ucm_event_resp& out);  // takes the lock itself

  // What the ends of the connection to that QP have agreed on; null: no connection of ours goes there.
  std::optional<std::uint32_t> agreed(const Gid& peer, Qpn qpn) const;

 private:
  struct Port {  // of one NIC
    Port(LiveProcess& process, std::size_t number, Nic& nic, Time now);
    Nic& nic;
    cm::ConnectionManager manager;
    std::unique_ptr<Gsi> gsi;
  };
  explicit Ucma(LiveProcess& process);
  void run(std::size_t nic, Time now);  // LiveProcess's resident
  void settle(Time now);                // what the managers have to send and to tell
  Time next_timeout() const;
  void publish_counters();  // into the first NIC's slot
  void serve();             // from here on datagrams to QP1 come here
  cm::ConnectionManager& manager(const UcmaId& id) { return ports_of_nics_[id.nic]->manager; }
  const cm::ConnectionManager& manager(const UcmaId& id) const { return ports_of_nics_[id.nic]->manager; }
  const HostEntry& host(const UcmaId& id) const { return process_.host(id.nic); }
  std::optional<std::size_t> own_nic(const cm::Address& address) const;  // that has it
  bool is_ours(const cm::CmMad& mad) const;

  UcmaId& add_id(UcmaFile& file);
  UcmaId* find(Caller& c, std::uint32_t number, int& error);
  void destroy(UcmaId& id, Time now);
  void push(UcmaFile& file, const UcmaEvent& event);
  void tell(UcmaId& id, std::uint32_t event, int status);

  static int set_reuse(UcmaId& id, bool on);
  static int set_family_only(UcmaId& id, bool on);
  int bind(UcmaId& id, const cm::Address& address);
  bool take_source(UcmaId& id, const cm::Address& source, const cm::Address& peer, int& error);
  cm::ConnectParams connect_params(const UcmaId& id, const rdma_ucm_connect& cmd) const;

  int join(Caller& c, const Membership& wanted, const std::optional<cm::Address>& address,
           rdma_ucm_create_id_resp& out);
  void on_event(std::size_t nic, const cm::Event& event);
  void on_request(std::size_t nic, const cm::Event& event);
  UcmaEvent event_of(const UcmaId& id, std::uint32_t kind, int status) const;

  LiveProcess& process_;
  lockstep::PortRegistry registry_;
  PortBindings ports_;
  std::vector<std::unique_ptr<Port>> ports_of_nics_;
  const cm::CmCounters earlier_;  // of programs that had this VF before
  std::map<int, std::shared_ptr<UcmaFile>> files_;
  std::map<std::uint32_t, std::unique_ptr<UcmaId>> ids_;
  std::map<std::pair<std::size_t, std::uint32_t>, std::uint32_t> by_handle_;  // of a NIC's manager
  std::map<std::uint32_t, Membership> memberships_;                           // numbered with the identifiers
  std::uint32_t next_id_ = 1;
};

// --- ucma_address.cc
// What a program's sockaddr says; null: neither IPv4 nor IPv6.
std::optional<cm::Address> address_of(const sockaddr_in6& from);
sockaddr_in6 sockaddr_of(const cm::Address& address);
Gid gid_of(const cm::Address& address);

}  // namespace rocelab::verbs
