// GsiRoutes: the address handles by which QP1 sends, one for each pair of GIDs. Whoever writes to QP1 is
// answered, and may say that it comes from anywhere: so many are kept and no more, and the one that was used
// longest ago goes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "base/wire/frame.h"
#include "irn_provider/nic/nic.h"

namespace rocelab::verbs {

class GsiRoutes {
 public:
  static constexpr std::size_t kMost = 512;  // more than datagrams of QP1 that wait to be sent

  std::optional<Ahn> find(const Gid& from, const Gid& to);  // that was made for them
  // Makes one of `pd` for path.src_gid and dst_gid, which have none. Null: the NIC has no room.
  std::optional<Ahn> add(Nic& nic, Pdn pd, const PathAddress& path);
  std::size_t size() const { return routes_.size(); }

 private:
  using Ends = std::pair<Gid, Gid>;
  struct Route {
    Ahn ah;
    std::uint64_t used = 0;  // when, in `by_use_`
  };
  void make_room(Nic& nic);

  std::map<Ends, Route> routes_;
  std::map<std::uint64_t, Ends> by_use_;  // oldest first
  std::uint64_t uses_ = 0;
};

}  // namespace rocelab::verbs
