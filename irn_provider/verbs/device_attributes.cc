#include "irn_provider/verbs/device_attributes.h"

#include <cstring>

#include "emu/world/host_identity.h"
#include "irn_provider/cm/cm_types.h"
#include "irn_provider/nic/nic.h"
#include "irn_provider/verbs/limits.h"
#include "irn_provider/verbs/translate.h"

namespace rocelab::verbs {
namespace {

struct Width {
  std::uint8_t code;
  int lanes;
};
constexpr Width kWidths[] = {{1, 1}, {2, 4}, {4, 8}, {8, 12}};  // the fewest lanes first
struct Speed {
  std::uint32_t code;
  SpeedName name;
};
// Of two of one rate the one that Linux shows for Ethernet first (ib_get_eth_speed: 40 Gb/s is 4X FDR10).
constexpr Speed kSpeeds[] = {{1, {"SDR", 2'500}},  {2, {"DDR", 5'000}},   {8, {"FDR10", 10'000}},
                             {4, {"QDR", 10'000}}, {16, {"FDR", 14'000}}, {32, {"EDR", 25'000}},
                             {64, {"HDR", 50'000}}};
constexpr Speed kNewSpeeds[] = {{128, {"NDR", 100'000}}, {256, {"XDR", 200'000}}};

// IBTA PortInfo: PortPhysicalState.
constexpr std::uint8_t kDisabled = 3, kLinkUp = 5;

bool reaches(Rate rate, const Width& width, const Speed& speed) {
  return rate.bps() >= width.lanes * speed.name.mbps * 1'000'000;
}

}  // namespace

LinkCode link_code(Rate rate) {
  LinkCode best;
  std::int64_t fastest = 0;
  for (const Width& width : kWidths)
    for (const Speed& speed : kSpeeds) {
      const std::int64_t mbps = width.lanes * speed.name.mbps;
      if (mbps <= fastest || !reaches(rate, width, speed)) continue;
      fastest = mbps;
      best = {width.code, static_cast<std::uint8_t>(speed.code), speed.code};
    }
  for (const Width& width : kWidths)
    for (const Speed& speed : kNewSpeeds)
      if (width.code == best.width && reaches(rate, width, speed)) best.speed_ex = speed.code;
  return best;
}

int lanes_of(std::uint8_t width) {
  for (const Width& w : kWidths)
    if (w.code == width) return w.lanes;
  return 0;
}

SpeedName speed_name(std::uint32_t code) {
  for (const Speed& s : kSpeeds)
    if (s.code == code) return s.name;
  for (const Speed& s : kNewSpeeds)
    if (s.code == code) return s.name;
  return kSpeeds[0].name;
}

void fill_attr(const HostEntry& host, ibv_device_attr& a) {
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

ibv_port_attr port_attr(const HostEntry& host, bool up) {
  ibv_port_attr a{};
  a.state = up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
  a.max_mtu = IBV_MTU_4096;
  a.active_mtu = mtu_code(host.nic.active_mtu);
  a.gid_tbl_len = gids_of(host);
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

}  // namespace rocelab::verbs
