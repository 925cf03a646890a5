// Ucma: opening, files, identifiers, QP1. Commands: ucma_address.cc, ucma_connection.cc; events:
// ucma_events.cc.
#include "irn_provider/verbs/rdma_cm/ucma.h"

#include <infiniband/verbs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <string>

#include "emu/world/host_identity.h"
#include "irn_provider/cm/port_share.h"
#include "irn_provider/verbs/objects.h"
#include "irn_provider/verbs/translate.h"

namespace rocelab::verbs {
namespace {

// Under the lock of the LiveProcess, once it is set. A forked child finds its parent's here: its process is
// another one.
Ucma* g_ucma = nullptr;

cm::CmConfig config_of(const LiveProcess& process, std::size_t nic) {
  cm::CmConfig c;
  for (const std::uint8_t byte : guid_of(process.host(nic).mac)) c.ca_guid = c.ca_guid << 8 | byte;
  c.id_bits = cm::kIdBits;
  c.first_id = cm::first_id_of(process.vf());
  c.max_mtu = static_cast<std::uint8_t>(mtu_code(process.host(nic).nic.active_mtu));
  return c;
}

// A VF that has had another process before must not use that one's communication IDs: time enters.
Rng rng_of(const LiveProcess& process, std::size_t nic, Time now) {
  return Rng(process.seed())
      .fork(process.host(nic).name)
      .fork("cm " + std::to_string(process.vf()))
      .fork(std::to_string(now.ps()));
}

}  // namespace

Ucma::Port::Port(LiveProcess& process, std::size_t number, Nic& own, Time now)
    : nic(own),
      manager(config_of(process, number), rng_of(process, number, now)),
      gsi(Gsi::open(process, number, own, now)) {}

Ucma::Ucma(LiveProcess& process)
    : process_(process),
      registry_(process.share(), process.vf()),
      ports_(registry_),
      earlier_(process.slot().result.cm_counters) {}

Ucma* Ucma::open(LiveProcess& process) {
  static real::Mutex opening;
  const std::lock_guard lock(opening);
  const bool made = process.call([&](Nic&, Time) {
    if (g_ucma != nullptr && &g_ucma->process_ == &process) return false;
    g_ucma = new Ucma(process);  // lives as long as the process
    return true;
  });
  auto& ports = g_ucma->ports_of_nics_;
  for (std::size_t i = 0; made && i < process.nics(); ++i)
    process.call(
        [&](Nic& nic, Time now) { return ports.push_back(std::make_unique<Port>(process, i, nic, now)); }, i);
  if (!std::ranges::all_of(ports, [](const auto& port) { return port->gsi != nullptr; })) return nullptr;
  if (made) {
    process.set_resident({[] { return g_ucma->next_timeout(); },
                          [](std::size_t nic, Nic&, Time now) { g_ucma->run(nic, now); }});
    g_ucma->serve();
  }
  return g_ucma;
}

void Ucma::serve() {
  for (std::size_t i = 0; i < process_.nics(); ++i)
    lockstep::PortRegistry(process_.share(i), process_.vf()).open();
}

Time Ucma::next_timeout() const {
  Time next = Time::never();
  for (const auto& port : ports_of_nics_) next = std::min(next, port->manager.next_timeout());
  return next;
}

Ucma* Ucma::opened() {
  return g_ucma != nullptr && &g_ucma->process_ == LiveProcess::attached() ? g_ucma : nullptr;
}

// --- QP1

bool Ucma::is_ours(const cm::CmMad& mad) const {
  std::optional<std::uint32_t> listener;
  if (const auto service = cm::service_of(mad.message); service && cm::is_ip_service(*service)) {
    const auto space = static_cast<cm::PortSpace>(cm::protocol_of(*service));
    if (space == cm::PortSpace::kTcp || space == cm::PortSpace::kUdp)
      listener = registry_.owner(space_index(space), cm::port_of(*service));
  }
  const std::uint32_t taker = cm::taker(mad.message, registry_.open_vfs(), listener);
  return taker == registry_.self() || taker == cm::kEveryone;
}

void Ucma::run(std::size_t nic, Time now) {
  Port& port = *ports_of_nics_[nic];
  for (const Gsi::Received& received : port.gsi->take(port.nic, now)) {
    const auto mad = cm::CmMad::parse(received.mad);
    if (!mad || is_ours(*mad)) port.manager.on_mad(received.mad, received.from, received.to, now);
  }
  port.manager.on_timeout(now);
  settle(now);
}

void Ucma::settle(Time now) {
  for (std::size_t i = 0; i < ports_of_nics_.size(); ++i) {
    Port& port = *ports_of_nics_[i];
    while (const auto event = port.manager.poll_event()) on_event(i, *event);
    while (const auto mad = port.manager.poll_transmit()) port.gsi->send(port.nic, *mad, now);
  }
  publish_counters();
}

void Ucma::publish_counters() {
  cm::CmCounters counters = earlier_;
  for (const auto& port : ports_of_nics_) {
    counters = counters + port->manager.counters();
    counters.tx_dropped += port->gsi->dropped();
  }
  process_.slot().result.cm_counters = counters;
}

// --- files

int Ucma::open_file() {
  return process_.call([this](Nic&, Time) {
    auto file = std::make_shared<UcmaFile>();
    const int fd = file->events.fd();
    if (fd >= 0) files_[fd] = std::move(file);
    return fd;
  });
}

std::shared_ptr<UcmaFile> Ucma::file(int fd) const {
  const auto found = files_.find(fd);
  return found != files_.end() ? found->second : nullptr;
}

bool Ucma::close_file(int fd) {
  std::shared_ptr<UcmaFile> file;  // closed without the lock
  return process_.call([&](Nic&, Time now) {
    const auto found = files_.find(fd);
    if (found == files_.end()) return false;
    for (auto next = ids_.begin(); next != ids_.end();) {
      UcmaId& id = *next++->second;
      if (id.file == found->second.get()) destroy(id, now);
    }
    settle(now);
    file = std::move(found->second);
    files_.erase(found);
    return true;
  });
}

void Ucma::close_all() {
  process_.call([this](Nic&, Time now) {
    while (!ids_.empty()) destroy(*ids_.begin()->second, now);
    settle(now);
  });
}

// --- identifiers

UcmaId& Ucma::add_id(UcmaFile& file) {
  auto id = std::make_unique<UcmaId>();
  id->number = next_id_++;
  id->file = &file;
  UcmaId& made = *id;
  ids_[made.number] = std::move(id);
  return made;
}

UcmaId* Ucma::find(Caller& c, std::uint32_t number, int& error) {
  const auto found = ids_.find(number);
  error = found == ids_.end() ? ENOENT : found->second->file != &c.file ? EINVAL : 0;
  return error == 0 ? found->second.get() : nullptr;
}

int Ucma::create_id(Caller& c, const rdma_ucm_create_id& cmd, rdma_ucm_create_id_resp& out) {
  // RDMA_PS_IB only to find out whether AF_IB addresses work; they do not (bind_ip).
  const bool known = cmd.ps == RDMA_PS_TCP || cmd.ps == RDMA_PS_UDP || cmd.ps == RDMA_PS_IB;
  if (!known) {
    debug("rdma_cm: port space 0x%x is not offered", cmd.ps);
    return EPROTONOSUPPORT;
  }
  UcmaId& id = add_id(c.file);
  id.uid = cmd.uid;
  id.space = cmd.ps == RDMA_PS_UDP ? cm::PortSpace::kUdp : cm::PortSpace::kTcp;
  id.qp_type = cmd.qp_type;
  out.id = id.number;
  return 0;
}

// Requests that came with the identifier's events and were not fetched go with it.
void Ucma::destroy(UcmaId& id, Time now) {
  std::vector<std::uint32_t> orphans;
  for (auto& [fd, file] : files_)
    std::erase_if(file->ready, [&](const UcmaEvent& event) {
      if (event.id != id.number) return false;
      if (event.created != 0) orphans.push_back(event.created);
      file->events.take();
      return true;
    });
  if (id.handle.value != 0) {
    manager(id).destroy(id.handle, now);
    by_handle_.erase({id.nic, id.handle.value});
  }
  for (std::size_t i = 0; i < id.elsewhere.size(); ++i) {
    ports_of_nics_[i + 1]->manager.destroy(id.elsewhere[i], now);
    by_handle_.erase({i + 1, id.elsewhere[i].value});
  }
  std::erase_if(memberships_, [&](const auto& each) { return each.second.id == id.number; });
  if (id.bound) ports_.unbind(id.port);
  ids_.erase(id.number);
  for (const std::uint32_t orphan : orphans)
    if (const auto found = ids_.find(orphan); found != ids_.end()) destroy(*found->second, now);
}

int Ucma::destroy_id(Caller& c, const rdma_ucm_destroy_id& cmd, rdma_ucm_destroy_id_resp& out) {
  int error = 0;
  UcmaId* id = find(c, cmd.id, error);
  if (id == nullptr) return error;
  out.events_reported = id->events_reported;
  destroy(*id, c.now);
  settle(c.now);
  return 0;
}

// Moves an identifier, and its events, from the file `cmd.fd` to the caller's.
int Ucma::migrate_id(Caller& c, const rdma_ucm_migrate_id& cmd, rdma_ucm_migrate_resp& out) {
  const std::shared_ptr<UcmaFile> from = file(static_cast<int>(cmd.fd));
  if (from == nullptr) return EBADF;
  Caller of_source{*from, c.now};
  int error = 0;
  UcmaId* id = find(of_source, cmd.id, error);
  if (id == nullptr) return error;
  id->file = &c.file;
  std::deque<UcmaEvent> stay;
  for (const UcmaEvent& event : from->ready) {
    if (event.id != id->number) {
      stay.push_back(event);
      continue;
    }
    from->events.take();
    push(c.file, event);
  }
  from->ready = std::move(stay);
  out.events_reported = id->events_reported;
  return 0;
}

// When the two may change: Linux's rdma_set_reuseaddr() and rdma_set_afonly().
int Ucma::set_reuse(UcmaId& id, bool on) {
  const bool idle = !id.bound && !id.has_remote;
  if (!idle && (!on || id.listening)) return EINVAL;
  id.port.reuse = on;
  return 0;
}

int Ucma::set_family_only(UcmaId& id, bool on) {
  if (id.listening || id.has_remote) return EINVAL;
  id.family_only = id.port.family_only = on;
  return 0;
}

int Ucma::set_option(Caller& c, const rdma_ucm_set_option& cmd) {
  int error = 0;
  UcmaId* id = find(c, cmd.id, error);
  if (id == nullptr) return error;
  if (cmd.level != RDMA_OPTION_ID) return ENOSYS;
  const bool byte = cmd.optname == RDMA_OPTION_ID_TOS || cmd.optname == RDMA_OPTION_ID_ACK_TIMEOUT;
  if (cmd.optlen != (byte ? sizeof(std::uint8_t) : sizeof(int))) return EINVAL;
  const void* value = reinterpret_cast<const void*>(cmd.optval);
  int number = 0;
  std::uint8_t small = 0;
  if (byte)
    std::memcpy(&small, value, sizeof small);
  else
    std::memcpy(&number, value, sizeof number);
  switch (cmd.optname) {
    case RDMA_OPTION_ID_TOS:
      id->tos = small;
      return 0;
    case RDMA_OPTION_ID_REUSEADDR:
      return set_reuse(*id, number != 0);
    case RDMA_OPTION_ID_AFONLY:
      return set_family_only(*id, number != 0);
    case RDMA_OPTION_ID_ACK_TIMEOUT:
      if (small > 31) return EINVAL;
      id->ack_timeout = small;
      return 0;
    default:
      return ENOSYS;
  }
}

std::uint32_t ece_options(const HostEntry& host) {
  if (host.nic.mode != TransportMode::kIrn) return 0;
  return host.nic.rc3.levels > 0 ? kEceIrn | kEceRc3 : kEceIrn;
}

std::optional<std::uint32_t> Ucma::agreed(const Gid& peer, Qpn qpn) const {
  for (const auto& [number, id] : ids_)
    if (id->agreed && id->remote_gid == peer && id->remote_qpn == qpn) return id->agreed;
  return std::nullopt;
}

}  // namespace rocelab::verbs
