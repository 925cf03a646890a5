// The device list, and opening a device: `rocelab0` is the first NIC of the host that $ROCELAB_HOST names in
// the run that $ROCELAB_SEGMENT names, `rocelab1` its second.
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "emu/world/host_identity.h"
#include "irn_provider/verbs/engine.h"
#include "irn_provider/verbs/exports.h"
#include "irn_provider/verbs/libc/program.h"
#include "irn_provider/verbs/limits.h"
#include "irn_provider/verbs/objects.h"
#include "irn_provider/verbs/rdma_cm/cdev.h"
#include "irn_provider/verbs/real_verbs.h"

namespace rocelab::verbs {

namespace {

using Devices = std::vector<std::unique_ptr<Device>>;

std::unique_ptr<Device> make_device(std::size_t nic, const HostEntry& host) {
  auto device = std::make_unique<Device>();
  device->host = host;
  device->nic = nic;
  ibv_device& base = device->base;
  base.node_type = IBV_NODE_CA;
  base.transport_type = IBV_TRANSPORT_IB;
  std::snprintf(base.name, sizeof base.name, "rocelab%zu", nic);
  std::snprintf(base.dev_name, sizeof base.dev_name, "uverbs%zu", nic);
  std::snprintf(base.dev_path, sizeof base.dev_path, "/sys/class/infiniband_verbs/uverbs%zu", nic);
  std::snprintf(base.ibdev_path, sizeof base.ibdev_path, "/sys/class/infiniband/rocelab%zu", nic);
  return device;
}

// None, with a line on stderr the first time, when the run cannot be read.
const Devices& the_devices() {
  static const Devices* const devices = [] {
    auto* made = new Devices;
    KeepsErrno keeps;
    real::RuntimeScope scope;
    try {
      for (const HostEntry& nic : configured_nics()) made->push_back(make_device(made->size(), nic));
    } catch (const std::exception& e) {
      std::fprintf(stderr, "rocelab: %s\n", e.what());
    }
    return made;
  }();
  return *devices;
}

// Runs before LiveProcess's own exit handler, which was registered earlier.
void linger_at_exit() {
  static const bool registered = [] {
    std::atexit(leave_experiment);
    return true;
  }();
  static_cast<void>(registered);
}

// Under the lock. A forked child's NIC numbers its objects as its parent's does.
void forget_parents_objects(const LiveProcess& process) {
  static const LiveProcess* owner = nullptr;
  if (std::exchange(owner, &process) == &process) return;
  for (std::size_t nic = 0; nic < process.nics(); ++nic) registry(nic) = {};
  forget_armed();
}

void fill(Context& context) {
  context.base.sz = sizeof context.base;
  context.base.query_port = query_port;
  context.base.query_device_ex = query_device_ex;
  context.base.create_cq_ex = create_cq_ex;
  context.base.create_qp_ex = create_qp_ex;
  context.base.query_rt_values = query_rt_values;
  context.base.open_qp = open_qp;
  context.base.create_srq_ex = create_srq_ex;
  context.base.get_srq_num = get_srq_num;
  context.base.open_xrcd = open_xrcd;
  context.base.close_xrcd = close_xrcd;
  context.base.alloc_td = alloc_td;
  context.base.dealloc_td = dealloc_td;
  context.base.alloc_parent_domain = alloc_parent_domain;
  ibv_context& c = context.base.context;
  c.device = &context.device->base;
  c.abi_compat = __VERBS_ABI_IS_EXTENDED;
  c.cmd_fd = context.command_fd;
  c.async_fd = context.async.events.fd();
  c.num_comp_vectors = kCompVectors;
  pthread_mutex_init(&c.mutex, nullptr);
  c.ops.alloc_mw = alloc_mw;
  c.ops.bind_mw = bind_mw;
  c.ops.dealloc_mw = dealloc_mw;
  c.ops.poll_cq = poll_cq;
  c.ops.req_notify_cq = req_notify_cq;
  c.ops.post_send = post_send;
  c.ops.post_recv = post_recv;
  c.ops.post_srq_recv = post_srq_recv;
}

}  // namespace

void leave_experiment() {
  LiveProcess* process = LiveProcess::attached();
  if (process == nullptr) return;
  leave_rdma_cm();
  linger(*process);
}

LiveProcess* enter_experiment() {
  KeepsErrno keeps;
  real::RuntimeScope scope;
  LiveProcess* process = attach_engine();
  if (process == nullptr) return nullptr;
  process->call([&](Nic&, Time) { forget_parents_objects(*process); });
  process->set_completion_hook(on_completions);
  linger_at_exit();
  libc::serve_needs(*process);
  return process;
}

}  // namespace rocelab::verbs

using namespace rocelab;
using namespace rocelab::verbs;

RL_EXPORT ibv_device** ibv_get_device_list(int* count) {
  if (!in_experiment()) return REAL(ibv_get_device_list)(count);
  const Devices& devices = the_devices();
  auto** list = static_cast<ibv_device**>(std::calloc(devices.size() + 1, sizeof(ibv_device*)));
  if (list == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  for (std::size_t i = 0; i < devices.size(); ++i) list[i] = &devices[i]->base;
  if (count != nullptr) *count = static_cast<int>(devices.size());
  return list;
}

RL_EXPORT void ibv_free_device_list(ibv_device** list) {
  if (!in_experiment()) return REAL(ibv_free_device_list)(list);
  std::free(list);
}

RL_EXPORT __be64 ibv_get_device_guid(ibv_device* device) {
  if (!in_experiment()) return REAL(ibv_get_device_guid)(device);
  const Guid guid = guid_of(of(device).host.mac);
  __be64 value;
  std::memcpy(&value, guid.data(), sizeof value);
  return value;
}

// The kernel's index of a device; ours is not the kernel's.
RL_EXPORT int ibv_get_device_index(ibv_device* device) {
  if (!in_experiment()) return REAL(ibv_get_device_index)(device);
  return -1;
}

RL_EXPORT ibv_context* ibv_open_device(ibv_device* device) {
  if (!in_experiment()) return REAL(ibv_open_device)(device);
  auto context = std::make_unique<Context>();
  context->device = &of(device);
  if (context->async.events.fd() < 0) {
    errno = EMFILE;
    return nullptr;
  }
  context->process = enter_experiment();
  if (context->process == nullptr) {
    errno = ENODEV;
    return nullptr;
  }
  context->command_fd = memfd_create("rocelab", MFD_CLOEXEC);
  if (context->command_fd < 0) return nullptr;
  fill(*context);
  ibv_context* const opened = &context.release()->base.context;
  with_nic(opened, [&](Nic&, Time) { registry(opened).contexts.push_back(&of(opened)); });
  return opened;
}

// The process stays in experiment time: it may open the device again, and what it made with other contexts
// goes on until the process ends.
RL_EXPORT int ibv_close_device(ibv_context* context) {
  if (!in_experiment()) return REAL(ibv_close_device)(context);
  if (!inherited(context)) {
    end_belongings(of(context));
    with_nic(context, [&](Nic&, Time) { std::erase(registry(context).contexts, &of(context)); });
  }
  pthread_mutex_destroy(&context->mutex);
  ::close(context->cmd_fd);
  delete &of(context);
  return 0;
}
