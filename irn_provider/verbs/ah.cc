// Address handles, and where a datagram came from.
#include <cerrno>
#include <cstring>
#include <memory>

#include "emu/world/host_identity.h"
#include "irn_provider/verbs/exports.h"
#include "irn_provider/verbs/limits.h"
#include "irn_provider/verbs/objects.h"
#include "irn_provider/verbs/real_verbs.h"

namespace rocelab::verbs {
namespace {

constexpr std::size_t kIpv4InGrh = kGrhBytes - 20;  // IBTA annex A17.4.5.3
constexpr std::uint8_t kDefaultHopLimit = 0xff;

ibv_ah* create(ibv_pd* pd, const ibv_ah_attr& attr) {
  if (inherited(pd->context)) {
    errno = ENODEV;
    return nullptr;
  }
  if (forged(of(pd))) return errno = ENOENT, nullptr;
  PathAddress path;
  reach(*of(pd->context).process, attr);
  if (!resolve("ibv_create_ah", of(pd->context), attr, 0, 0, path)) return nullptr;
  auto ah = std::make_unique<Ah>();
  const std::optional<Ahn> ahn = with_nic(pd->context, [&](Nic& nic, Time) {
    const auto made = nic.create_ah(of(pd).pdn, path);
    if (made) of(pd->context).context_objects.ahs.add(*ah);
    return made;
  });
  if (!ahn)
    return refused("ibv_create_ah", ENOMEM, "none of the device's %u address handles is left", Nic::kMaxAhs),
           nullptr;
  ah->ahn = *ahn;
  ah->base = {.context = pd->context, .pd = pd, .handle = ahn->value};
  return &ah.release()->base;
}

// Hardware has taken the address from a datagram that was posted before a program can destroy its handle;
// here nothing has left if no time has passed since.
void await_departures(ibv_ah& ah) {
  const auto waits = [&] {
    return with_nic(ah.context, [&](Nic& nic, Time) { return nic.ah_in_use(of(&ah).ahn); });
  };
  for (int i = 0; i < 10 && !inherited(ah.context) && waits(); ++i) linger(*of(ah.context).process);
}

// Source and destination of a datagram by its GRH; false: neither IPv4 nor IPv6.
bool read_grh(const ibv_grh& grh, Gid& src, Gid& dst, std::uint8_t& traffic_class) {
  unsigned char bytes[kGrhBytes];
  std::memcpy(bytes, &grh, sizeof bytes);
  if (bytes[kIpv4InGrh] == 0x45) {
    const unsigned char* ip = bytes + kIpv4InGrh;
    traffic_class = ip[1];
    src = ipv4_mapped({ip[12], ip[13], ip[14], ip[15]});
    dst = ipv4_mapped({ip[16], ip[17], ip[18], ip[19]});
    return true;
  }
  if (bytes[0] >> 4 != 6) return false;
  traffic_class = static_cast<std::uint8_t>(bytes[0] << 4 | bytes[1] >> 4);
  std::memcpy(src.data(), bytes + 8, src.size());
  std::memcpy(dst.data(), bytes + 24, dst.size());
  return true;
}

// The address of whoever sent what `wc` completes. 0 or an errno.
int init_from_wc(const Context& context, std::uint8_t port, const ibv_wc& wc, const ibv_grh& grh,
                 ibv_ah_attr& attr) {
  Gid src{}, dst{};
  std::uint8_t traffic_class = 0;
  if (port != kPorts || (wc.wc_flags & IBV_WC_GRH) == 0 || !read_grh(grh, src, dst, traffic_class))
    return EINVAL;
  attr = {};
  attr.is_global = 1;
  attr.port_num = port;
  attr.sl = wc.sl;
  std::memcpy(attr.grh.dgid.raw, src.data(), src.size());
  attr.grh.hop_limit = kDefaultHopLimit;
  attr.grh.traffic_class = traffic_class;
  const int index = index_of(context.device->host, dst);
  if (index < 0) return EINVAL;  // it was not sent to us
  attr.grh.sgid_index = static_cast<std::uint8_t>(index);
  return 0;
}

}  // namespace

bool end(Nic& nic, Ah& ah) { return nic.destroy_ah(ah.ahn); }

}  // namespace rocelab::verbs

using namespace rocelab;
using namespace rocelab::verbs;

RL_EXPORT ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* attr) {
  if (!in_experiment()) return REAL(ibv_create_ah)(pd, attr);
  return create(pd, *attr);
}

RL_EXPORT int ibv_destroy_ah(ibv_ah* ah) {
  if (!in_experiment()) return REAL(ibv_destroy_ah)(ah);
  if (forged(of(ah))) return answer(ENOENT);
  await_departures(*ah);
  const bool destroyed = end_in_nic(ah->context, [&](Nic& nic, Time) {
    if (!end(nic, of(ah))) return false;
    of(ah->context).context_objects.ahs.remove(of(ah));
    return true;
  });
  if (!destroyed) return EBUSY;
  delete &of(ah);
  return 0;
}

RL_EXPORT int ibv_init_ah_from_wc(ibv_context* context, std::uint8_t port, ibv_wc* wc, ibv_grh* grh,
                                  ibv_ah_attr* attr) {
  if (!in_experiment()) return REAL(ibv_init_ah_from_wc)(context, port, wc, grh, attr);
  return answer(init_from_wc(of(context), port, *wc, *grh, *attr));
}

RL_EXPORT ibv_ah* ibv_create_ah_from_wc(ibv_pd* pd, ibv_wc* wc, ibv_grh* grh, std::uint8_t port) {
  if (!in_experiment()) return REAL(ibv_create_ah_from_wc)(pd, wc, grh, port);
  ibv_ah_attr attr{};
  if (const int error = init_from_wc(of(pd->context), port, *wc, *grh, attr); error != 0) {
    errno = error;
    return nullptr;
  }
  return create(pd, attr);
}

RL_EXPORT int ibv_resolve_eth_l2_from_gid(ibv_context* context, ibv_ah_attr* attr, std::uint8_t mac[6],
                                          std::uint16_t* vlan) {
  if (!in_experiment()) return REAL(ibv_resolve_eth_l2_from_gid)(context, attr, mac, vlan);
  constexpr std::uint16_t kNoVlan = 0xffff;
  PathAddress path;
  reach(*of(context).process, *attr);
  if (!resolve("ibv_resolve_eth_l2_from_gid", of(context), *attr, 0, 0, path)) return EINVAL;
  std::memcpy(mac, path.dst_mac.data(), path.dst_mac.size());
  if (vlan != nullptr) *vlan = kNoVlan;
  return 0;
}
