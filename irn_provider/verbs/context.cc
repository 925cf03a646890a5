// What the device and its port say about themselves: query_device, query_port, GIDs, P_Keys. All of it is
// what the NIC does or the scenario says. There is no vendor: the id is the one that Linux rxe shows.
#include <net/if.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "irn_provider/cm/cm_types.h"
#include "irn_provider/verbs/device_files.h"
#include "irn_provider/verbs/exports.h"
#include "irn_provider/verbs/limits.h"
#include "irn_provider/verbs/objects.h"
#include "irn_provider/verbs/real_verbs.h"
#include "irn_provider/verbs/translate.h"
#include "lockstep/host_identity.h"

namespace rocelab::verbs {

using lockstep::gid_of;
using lockstep::Guid;
using lockstep::guid_of;
using lockstep::kGids;
namespace {

constexpr std::uint32_t kNoVendor = 0xffffff;

void fill_attr(const lockstep::HostEntry& host, ibv_device_attr& a) {
  a = {};
  const Guid guid = guid_of(host.mac);
  std::strcpy(a.fw_ver, ROCELAB_VERSION);
  std::memcpy(&a.node_guid, guid.data(), sizeof a.node_guid);
  a.sys_image_guid = a.node_guid;
  a.vendor_id = kNoVendor;
  a.max_mr_size = kMaxMrBytes;
  a.page_size_cap = 0xfffff000;
  a.max_qp = static_cast<int>(host.nic.max_qps);
  a.max_qp_wr = kMaxQpWr;
  a.device_cap_flags = IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_SRQ_RESIZE |
                       IBV_DEVICE_XRC | IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B;
  a.max_sge = a.max_sge_rd = kMaxSge;
  a.max_cq = static_cast<int>(host.nic.max_cqs);
  a.max_cqe = kMaxCqe;
  a.max_mr = static_cast<int>(host.nic.max_mrs);
  a.max_mw = static_cast<int>(Nic::kMaxMws);
  a.max_pd = static_cast<int>(Nic::kMaxPds);
  a.max_qp_rd_atom = a.max_qp_init_rd_atom = kMaxRdAtomic;
  a.max_res_rd_atom = kMaxRdAtomic * a.max_qp;
  a.atomic_cap = IBV_ATOMIC_HCA;
  a.max_ah = static_cast<int>(Nic::kMaxAhs);
  a.max_mcast_grp = static_cast<int>(Nic::kMaxGroups);
  a.max_mcast_qp_attach = static_cast<int>(Nic::kMaxGroupMembers);
  a.max_total_mcast_qp_attach = a.max_mcast_grp * a.max_mcast_qp_attach;
  a.max_srq = static_cast<int>(Nic::kMaxSrqs);
  a.max_srq_wr = kMaxSrqWr;
  a.max_srq_sge = kMaxSge;
  a.max_pkeys = kPkeys;
  a.local_ca_ack_delay = cm::CmConfig{}.ack_delay;  // as our REPs say
  a.phys_port_cnt = kPorts;
}

// IBTA PortInfo: lanes and speed per lane. The fastest pair that the link reaches; slower than 10 Gb/s shows
// as 1X SDR (2.5 Gb/s).
struct LinkCode {
  std::int64_t gbps;
  std::uint8_t width, speed;
};
constexpr std::uint8_t k1x = 1, k2x = 16, k4x = 2;
constexpr std::uint8_t kSdr = 1, kFdr10 = 8, kEdr = 32, kHdr = 64, kNdr = 128;
constexpr LinkCode kLinkCodes[] = {
    {400, k4x, kNdr},  {200, k4x, kHdr}, {100, k4x, kEdr},  {50, k2x, kEdr},
    {40, k4x, kFdr10}, {25, k1x, kEdr},  {10, k1x, kFdr10},
};

LinkCode link_code(Rate rate) {
  for (const LinkCode& code : kLinkCodes)
    if (rate.bps() >= code.gbps * 1'000'000'000) return code;
  return {2, k1x, kSdr};
}

// IBTA PortInfo: PortPhysicalState.
constexpr std::uint8_t kDisabled = 3, kLinkUp = 5;

ibv_port_attr port_attr(const lockstep::HostEntry& host, bool up) {
  ibv_port_attr a{};
  a.state = up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
  a.max_mtu = IBV_MTU_4096;
  a.active_mtu = mtu_code(host.nic.active_mtu);
  a.gid_tbl_len = kGids;
  a.port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS;
  a.max_msg_sz = kMaxMessageBytes;
  a.pkey_tbl_len = kPkeys;
  a.max_vl_num = 1;
  const LinkCode code = link_code(host.nic.link_rate);
  a.active_width = code.width;
  a.active_speed = code.speed;
  a.phys_state = up ? kLinkUp : kDisabled;
  a.link_layer = IBV_LINK_LAYER_ETHERNET;
  a.flags = IBV_QPF_GRH_REQUIRED;
  return a;
}

bool gid_exists(std::uint32_t port, std::uint32_t index) { return port == kPorts && index < kGids; }

void fill_entry(const lockstep::HostEntry& host, std::uint32_t index, ibv_gid_entry& e) {
  e = {};
  const Gid gid = gid_of(host, static_cast<int>(index));
  std::memcpy(e.gid.raw, gid.data(), gid.size());
  e.gid_index = index;
  e.port_num = kPorts;
  e.gid_type = IBV_GID_TYPE_ROCE_V2;
  e.ndev_ifindex = if_nametoindex(own_interface().c_str());  // 0: none
}

}  // namespace

int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attr, std::size_t size) {
  if (port != kPorts) return answer(EINVAL);
  const bool up = inherited(context) || with_nic(context, [](Nic& nic, Time) { return nic.link_up(); });
  const ibv_port_attr full = port_attr(of(context).device->host, up);
  std::memset(attr, 0, size);
  std::memcpy(attr, &full, std::min(size, sizeof full));
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
  if (!gid_exists(port, static_cast<std::uint32_t>(index))) {
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
  if (flags != 0 || !gid_exists(port, index) || entry_size < sizeof *entry) return answer(EINVAL);
  fill_entry(of(context).device->host, index, *entry);
  return 0;
}

RL_EXPORT ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries, std::size_t max_entries,
                                       std::uint32_t flags, std::size_t entry_size) {
  if (!in_experiment()) return REAL(_ibv_query_gid_table)(context, entries, max_entries, flags, entry_size);
  if (flags != 0 || entry_size < sizeof *entries || max_entries < kGids) return -answer(EINVAL);
  for (std::uint32_t i = 0; i < kGids; ++i)
    fill_entry(of(context).device->host, i,
               *reinterpret_cast<ibv_gid_entry*>(reinterpret_cast<char*>(entries) + i * entry_size));
  return kGids;
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
  if (!gid_exists(port, index)) {
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
