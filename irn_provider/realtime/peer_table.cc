#include "irn_provider/realtime/peer_table.h"

namespace rocelab::direct {

void PeerTable::keep(const Gid& gid, const MacAddress& mac) {
  Peer& peer = peers_[gid];
  by_age_.erase(peer.heard);
  peer = {mac, 0};
}

void PeerTable::hear(const Gid& gid, const MacAddress& mac) {
  const auto [found, is_new] = peers_.try_emplace(gid, Peer{mac, 0});
  if (!is_new && found->second.heard == 0) return;
  by_age_.erase(found->second.heard);
  found->second.heard = ++times_;
  by_age_[times_] = gid;
  if (by_age_.size() <= kMostHeard) return;
  peers_.erase(by_age_.begin()->second);
  by_age_.erase(by_age_.begin());
}

std::optional<MacAddress> PeerTable::find(const Gid& gid) const {
  const auto found = peers_.find(gid);
  return found != peers_.end() ? std::optional(found->second.mac) : std::nullopt;
}

}  // namespace rocelab::direct
