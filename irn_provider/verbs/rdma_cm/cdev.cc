#include "irn_provider/verbs/rdma_cm/cdev.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <set>
#include <string_view>

#include "irn_provider/verbs/objects.h"
#include "irn_provider/verbs/rdma_cm/ucma.h"

namespace rocelab::verbs {
namespace {

constexpr std::string_view kPath = "/dev/infiniband/rdma_cm";
constexpr unsigned kMiscMajor = 10, kMinor = 58;  // where there is no such device to ask

// Descriptors that are the device, for whoever has no lock. Never destroyed: programs close in exit handlers.
struct OpenFiles {
  real::Mutex mutex;
  std::set<int> fds;
  std::atomic<std::size_t> count{0};
};
OpenFiles& open_files() {
  static auto* files = new OpenFiles;
  return *files;
}

}  // namespace

bool means_rdma_cm(std::string_view path) { return path == kPath; }

int open_rdma_cm() {
  Ucma* ucma = nullptr;
  const int fd = [&] {
    KeepsErrno keeps;
    real::RuntimeScope scope;
    LiveProcess* process = enter_experiment();
    ucma = process != nullptr ? Ucma::open(*process) : nullptr;
    return ucma != nullptr ? ucma->open_file() : -1;
  }();
  if (fd < 0) {
    errno = ucma == nullptr ? ENODEV : EMFILE;
    return -1;
  }
  OpenFiles& files = open_files();
  std::lock_guard lock(files.mutex);
  files.fds.insert(fd);
  files.count = files.fds.size();
  return fd;
}

namespace {

bool forget(int fd) {
  OpenFiles& files = open_files();
  if (files.count == 0) return false;
  std::lock_guard lock(files.mutex);
  const bool was = files.fds.erase(fd) > 0;
  files.count = files.fds.size();
  return was;
}

// --- commands: the header and the structs of rdma/rdma_user_cm.h

struct Call {
  const std::byte* in;  // behind the header
  std::size_t in_bytes, out_bytes;
};

// A library of another version may write less or more of it.
template <class T>
T read(const Call& call) {
  T cmd{};
  std::memcpy(&cmd, call.in, std::min(call.in_bytes, sizeof cmd));
  return cmd;
}

using Run = int (*)(Ucma&, Ucma::Caller&, const Call&);

template <class Cmd, int (Ucma::*f)(Ucma::Caller&, const Cmd&)>
int plain(Ucma& ucma, Ucma::Caller& caller, const Call& call) {
  return (ucma.*f)(caller, read<Cmd>(call));
}

template <class Cmd, class Out, int (Ucma::*f)(Ucma::Caller&, const Cmd&, Out&)>
int with_result(Ucma& ucma, Ucma::Caller& caller, const Call& call) {
  const Cmd cmd = read<Cmd>(call);
  Out out{};
  const int error = (ucma.*f)(caller, cmd, out);
  if (error == 0)
    std::memcpy(reinterpret_cast<void*>(cmd.response), &out, std::min(call.out_bytes, sizeof out));
  return error;
}

struct Command {
  std::size_t least_in = 0, least_out = 0;
  Run run = nullptr;  // null: not offered
};

template <class Cmd, int (Ucma::*f)(Ucma::Caller&, const Cmd&)>
constexpr Command make(std::size_t least_in = sizeof(Cmd)) {
  return {least_in, 0, plain<Cmd, f>};
}
template <class Cmd, class Out, int (Ucma::*f)(Ucma::Caller&, const Cmd&, Out&)>
constexpr Command make_with_result(std::size_t least_out = sizeof(Out)) {
  return {sizeof(Cmd), least_out, with_result<Cmd, Out, f>};
}

// The ends of these structs came with later kernels.
constexpr std::size_t kConnectIn = offsetof(rdma_ucm_connect, ece),
                      kAcceptIn = offsetof(rdma_ucm_accept, ece),
                      kRouteOut = offsetof(rdma_ucm_query_route_resp, ibdev_index),
                      kEventOut = offsetof(rdma_ucm_event_resp, reserved);

Command command(std::uint32_t number) {
  switch (number) {
    case RDMA_USER_CM_CMD_CREATE_ID:
      return make_with_result<rdma_ucm_create_id, rdma_ucm_create_id_resp, &Ucma::create_id>();
    case RDMA_USER_CM_CMD_DESTROY_ID:
      return make_with_result<rdma_ucm_destroy_id, rdma_ucm_destroy_id_resp, &Ucma::destroy_id>();
    case RDMA_USER_CM_CMD_MIGRATE_ID:
      return make_with_result<rdma_ucm_migrate_id, rdma_ucm_migrate_resp, &Ucma::migrate_id>();
    case RDMA_USER_CM_CMD_QUERY_ROUTE:
      return make_with_result<rdma_ucm_query, rdma_ucm_query_route_resp, &Ucma::query_route>(kRouteOut);
    case RDMA_USER_CM_CMD_INIT_QP_ATTR:
      return make_with_result<rdma_ucm_init_qp_attr, ib_uverbs_qp_attr, &Ucma::init_qp_attr>();
    case RDMA_USER_CM_CMD_BIND_IP:
      return make<rdma_ucm_bind_ip, &Ucma::bind_ip>();
    case RDMA_USER_CM_CMD_RESOLVE_IP:
      return make<rdma_ucm_resolve_ip, &Ucma::resolve_ip>();
    case RDMA_USER_CM_CMD_RESOLVE_ROUTE:
      return make<rdma_ucm_resolve_route, &Ucma::resolve_route>();
    case RDMA_USER_CM_CMD_CONNECT:
      return make<rdma_ucm_connect, &Ucma::connect>(kConnectIn);
    case RDMA_USER_CM_CMD_LISTEN:
      return make<rdma_ucm_listen, &Ucma::listen>();
    case RDMA_USER_CM_CMD_ACCEPT:
      return make<rdma_ucm_accept, &Ucma::accept>(kAcceptIn);
    case RDMA_USER_CM_CMD_REJECT:
      return make<rdma_ucm_reject, &Ucma::reject>();
    case RDMA_USER_CM_CMD_DISCONNECT:
      return make<rdma_ucm_disconnect, &Ucma::disconnect>();
    case RDMA_USER_CM_CMD_SET_OPTION:
      return make<rdma_ucm_set_option, &Ucma::set_option>();
    case RDMA_USER_CM_CMD_JOIN_IP_MCAST:
      return make_with_result<rdma_ucm_join_ip_mcast, rdma_ucm_create_id_resp, &Ucma::join_ip>();
    case RDMA_USER_CM_CMD_JOIN_MCAST:
      return make_with_result<rdma_ucm_join_mcast, rdma_ucm_create_id_resp, &Ucma::join_address>();
    case RDMA_USER_CM_CMD_LEAVE_MCAST:
      return make_with_result<rdma_ucm_destroy_id, rdma_ucm_destroy_id_resp, &Ucma::leave>();
    case RDMA_USER_CM_CMD_NOTIFY:
      return make<rdma_ucm_notify, &Ucma::notify>();
    case kCmdWriteCmEvent:
      return make<WriteCmEvent, &Ucma::write_event>();
    default:
      // BIND, RESOLVE_ADDR, QUERY: their absence makes librdmacm use the commands above. GET_OPTION does not
      // exist in Linux either. RESOLVE_IB_SERVICE asks InfiniBand's subnet administration.
      return {};
  }
}

int get_event(Ucma& ucma, UcmaFile& file, const Call& call) {
  if (call.in_bytes < sizeof(rdma_ucm_get_event)) return EINVAL;
  if (call.out_bytes < kEventOut) return ENOSPC;
  const auto cmd = read<rdma_ucm_get_event>(call);
  rdma_ucm_event_resp out{};
  const int error = ucma.get_event(file, out);
  if (error == 0)
    std::memcpy(reinterpret_cast<void*>(cmd.response), &out, std::min(call.out_bytes, sizeof out));
  return error;
}

int execute(Ucma& ucma, int fd, const std::byte* data, std::size_t length) {
  rdma_ucm_cmd_hdr header{};
  if (length < sizeof header) return EINVAL;
  if (data == nullptr) return EFAULT;
  std::memcpy(&header, data, sizeof header);
  if (header.in + sizeof header > length) return EINVAL;
  const Call call{data + sizeof header, header.in, header.out};
  // Kept as long as the call lasts: another thread may close the descriptor under one that waits for events.
  const std::shared_ptr<UcmaFile> file = ucma.process().call([&](Nic&, Time) { return ucma.file(fd); });
  if (file == nullptr) return EBADF;
  if (header.cmd == RDMA_USER_CM_CMD_GET_EVENT) return get_event(ucma, *file, call);
  const Command c = command(header.cmd);
  if (c.run == nullptr) return ENOSYS;
  if (call.in_bytes < c.least_in) return EINVAL;
  if (call.out_bytes < c.least_out) return ENOSPC;
  if (header.cmd == RDMA_USER_CM_CMD_RESOLVE_IP)
    if (const auto to = address_of(read<rdma_ucm_resolve_ip>(call).dst_addr))
      ucma.process().reach(gid_of(*to));
  const int error = ucma.process().call([&](Nic&, Time now) {
    Ucma::Caller caller{*file, now};
    return c.run(ucma, caller, call);
  });
  ucma.process().recheck_waiters();  // a thread of the program may wait for the event that this gave
  return error;
}

}  // namespace

bool is_rdma_cm(int fd) {
  OpenFiles& files = open_files();
  if (files.count.load(std::memory_order_relaxed) == 0) return false;
  std::lock_guard lock(files.mutex);
  return files.fds.contains(fd);
}

ssize_t write_rdma_cm(int fd, const void* data, std::size_t length) {
  const int error = libc::restarting([&] {
    KeepsErrno keeps;
    Ucma* ucma = Ucma::opened();
    if (ucma == nullptr) return EBADF;  // a forked child
    return execute(*ucma, fd, static_cast<const std::byte*>(data), length);
  });
  if (error == 0) return static_cast<ssize_t>(length);
  errno = error;
  return -1;
}

bool close_rdma_cm(int fd) {
  if (!forget(fd)) return false;
  KeepsErrno keeps;
  real::RuntimeScope scope;
  Ucma* ucma = Ucma::opened();
  if (ucma != nullptr && ucma->close_file(fd)) return true;  // the descriptor is closed, too
  libc::forget_event_fd(fd);                                 // one that a forked child has of its parent
  return false;
}

dev_t rdma_cm_number() {
  struct stat actual {};  // a machine with the device: librdmacm compares the number with the kernel's
  const bool exists = real::stat(kPath.data(), &actual) == 0 && S_ISCHR(actual.st_mode);
  return exists ? actual.st_rdev : makedev(kMiscMajor, kMinor);
}

void leave_rdma_cm() {
  real::RuntimeScope scope;
  if (Ucma* ucma = Ucma::opened()) ucma->close_all();
}

}  // namespace rocelab::verbs
