// What programs ask of the device and its port: query_device, query_port, GIDs, P_Keys. The answers are in
// device_attributes.h.
#include <net/if.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "emu/world/host_identity.h"
#include "irn_provider/verbs/device_attributes.h"
#include "irn_provider/verbs/device_files.h"
#include "irn_provider/verbs/exports.h"
#include "irn_provider/verbs/limits.h"
#include "irn_provider/verbs/objects.h"
#include "irn_provider/verbs/real_verbs.h"
#include "irn_provider/verbs/translate.h"

namespace rocelab::verbs {

namespace {

// ibv_port_attr::active_speed_ex (rdma-core 57), behind port_cap_flags2.
constexpr std::size_t kSpeedExAt = 52;
static_assert(offsetof(ibv_port_attr, port_cap_flags2) == 48);

bool gid_exists(ibv_context* context, std::uint32_t port, std::uint32_t index) {
  return port == kPorts && index < static_cast<std::uint32_t>(gids_of(of(context).device->host));
}

void fill_entry(const HostEntry& host, std::uint32_t index, ibv_gid_entry& e) {
  e = {};
  const Gid gid = gid_of(host, static_cast<int>(index));
  std::memcpy(e.gid.raw, gid.data(), gid.size());
  e.gid_index = index;
  e.port_num = kPorts;
  e.gid_type = IBV_GID_TYPE_ROCE_V2;
  e.ndev_ifindex = if_nametoindex(own_interface(host).c_str());  // 0: none
}

}  // namespace

int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attr, std::size_t size) {
  if (port != kPorts) return answer(EINVAL);
  const bool up = inherited(context) || with_nic(context, [](Nic& nic, Time) { return nic.link_up(); });
  const HostEntry& host = of(context).device->host;
  const ibv_port_attr full = port_attr(host, up);
  std::memset(attr, 0, size);
  std::memcpy(attr, &full, std::min(size, sizeof full));
  const std::uint32_t speed_ex = link_code(host.nic.link_rate).speed_ex;
  if (size >= kSpeedExAt + sizeof speed_ex)  // a program that was built with a newer rdma-core's header
    std::memcpy(reinterpret_cast<std::byte*>(attr) + kSpeedExAt, &speed_ex, sizeof speed_ex);
  return 0;
}

int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input, ibv_device_attr_ex* attr,
                    std::size_t size) {
  if (input != nullptr && input->comp_mask != 0) return answer(EINVAL);
  ibv_device_attr_ex full{};
  fill_attr(of(context).device->host, full.orig_attr);
  full.device_cap_flags_ex = full.orig_attr.device_cap_flags;
  full.phys_port_cnt_ex = kPorts;
  full.hca_core_clock = kHcaClockKhz;
  full.completion_timestamp_mask = UINT64_MAX;
  std::memset(attr, 0, size);
  std::memcpy(attr, &full, std::min(size, sizeof full));
  return 0;
}

}  // namespace rocelab::verbs

using namespace rocelab;
using namespace rocelab::verbs;

RL_EXPORT int ibv_query_device(ibv_context* context, ibv_device_attr* attr) {
  if (!in_experiment()) return REAL(ibv_query_device)(context, attr);
  fill_attr(of(context).device->host, *attr);
  return 0;
}

// For programs built before ibv_port_attr grew: theirs ends with `flags`.
RL_EXPORT int ibv_query_port(ibv_context* context, std::uint8_t port, _compat_ibv_port_attr* attr) {
  if (!in_experiment()) return REAL(ibv_query_port)(context, port, attr);
  constexpr std::size_t kCompatSize = offsetof(ibv_port_attr, flags) + sizeof(ibv_port_attr::flags);
  return query_port(context, port, reinterpret_cast<ibv_port_attr*>(attr), kCompatSize);
}

RL_EXPORT int ibv_query_gid(ibv_context* context, std::uint8_t port, int index, ibv_gid* gid) {
  if (!in_experiment()) return REAL(ibv_query_gid)(context, port, index, gid);
  if (!gid_exists(context, port, static_cast<std::uint32_t>(index))) {
    errno = EINVAL;
    return -1;
  }
  const Gid value = gid_of(of(context).device->host, index);
  std::memcpy(gid->raw, value.data(), value.size());
  return 0;
}

RL_EXPORT int _ibv_query_gid_ex(ibv_context* context, std::uint32_t port, std::uint32_t index,
                                ibv_gid_entry* entry, std::uint32_t flags, std::size_t entry_size) {
  if (!in_experiment()) return REAL(_ibv_query_gid_ex)(context, port, index, entry, flags, entry_size);
  if (flags != 0 || !gid_exists(context, port, index) || entry_size < sizeof *entry) return answer(EINVAL);
  fill_entry(of(context).device->host, index, *entry);
  return 0;
}

RL_EXPORT ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries, std::size_t max_entries,
                                       std::uint32_t flags, std::size_t entry_size) {
  if (!in_experiment()) return REAL(_ibv_query_gid_table)(context, entries, max_entries, flags, entry_size);
  const HostEntry& host = of(context).device->host;
  const auto gids = static_cast<std::uint32_t>(gids_of(host));
  if (flags != 0 || entry_size < sizeof *entries || max_entries < gids) return -answer(EINVAL);
  for (std::uint32_t i = 0; i < gids; ++i)
    fill_entry(host, i, *reinterpret_cast<ibv_gid_entry*>(reinterpret_cast<char*>(entries) + i * entry_size));
  return gids;
}

namespace {
// What libibverbs' private ibv_query_gid_type answers with; ibv_devinfo and perftest call it. ROCE_V1 stands
// for IB there too.
enum PrivateGidType { kIbOrRoceV1, kRoceV2 };
}  // namespace

extern "C" int ibv_query_gid_type(ibv_context*, std::uint8_t, unsigned, PrivateGidType*);

RL_EXPORT int ibv_query_gid_type(ibv_context* context, std::uint8_t port, unsigned index,
                                 PrivateGidType* type) {
  if (!in_experiment()) return REAL(ibv_query_gid_type)(context, port, index, type);
  if (!gid_exists(context, port, index)) {
    errno = EINVAL;
    return -1;
  }
  *type = kRoceV2;
  return 0;
}

RL_EXPORT int ibv_query_pkey(ibv_context* context, std::uint8_t port, int index, __be16* pkey) {
  if (!in_experiment()) return REAL(ibv_query_pkey)(context, port, index, pkey);
  if (port != kPorts || index != 0) {
    errno = EINVAL;
    return -1;
  }
  *pkey = kPkey;  // the same in either byte order
  return 0;
}

RL_EXPORT int ibv_get_pkey_index(ibv_context* context, std::uint8_t port, __be16 pkey) {
  if (!in_experiment()) return REAL(ibv_get_pkey_index)(context, port, pkey);
  if (port == kPorts && pkey == kPkey) return 0;
  errno = EINVAL;
  return -1;
}
