// PeerTable: which MAC address is behind a GID, as a process on an interface knows it. No I/O. Its own and
// those that it has asked the kernel for stay. Of senders that it has only heard, whoever sends to QP1 may
// name any number: so many are kept and no more, and the one that was heard longest ago goes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "base/wire/frame.h"

namespace rocelab::direct {

class PeerTable {
 public:
  static constexpr std::size_t kMostHeard = 1024;

  void keep(const Gid& gid, const MacAddress& mac);
  void hear(const Gid& gid, const MacAddress& mac);  // what is known of it already stays
  std::optional<MacAddress> find(const Gid& gid) const;
  std::size_t size() const { return peers_.size(); }

 private:
  struct Peer {
    MacAddress mac{};
    std::uint64_t heard = 0;  // when, in `by_age_`; 0: kept
  };
  std::map<Gid, Peer> peers_;
  std::map<std::uint64_t, Gid> by_age_;  // of those only heard, oldest first
  std::uint64_t times_ = 0;
};

}  // namespace rocelab::direct
