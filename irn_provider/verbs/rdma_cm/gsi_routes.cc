#include "irn_provider/verbs/rdma_cm/gsi_routes.h"

namespace rocelab::verbs {

std::optional<Ahn> GsiRoutes::find(const Gid& from, const Gid& to) {
  const auto found = routes_.find({from, to});
  if (found == routes_.end()) return std::nullopt;
  by_use_.erase(found->second.used);
  found->second.used = ++uses_;
  by_use_[uses_] = found->first;
  return found->second.ah;
}

std::optional<Ahn> GsiRoutes::add(Nic& nic, Pdn pd, const PathAddress& path) {
  if (routes_.size() >= kMost) make_room(nic);
  const auto ah = nic.create_ah(pd, path);
  if (!ah) return std::nullopt;
  const Ends ends{path.src_gid, path.dst_gid};
  routes_[ends] = {*ah, ++uses_};
  by_use_[uses_] = ends;
  return ah;
}

// What datagrams still go by stays: fewer than kMost.
void GsiRoutes::make_room(Nic& nic) {
  for (auto oldest = by_use_.begin(); oldest != by_use_.end(); ++oldest) {
    const auto route = routes_.find(oldest->second);
    if (nic.ah_in_use(route->second.ah)) continue;
    nic.destroy_ah(route->second.ah);
    routes_.erase(route);
    by_use_.erase(oldest);
    return;
  }
}

}  // namespace rocelab::verbs
