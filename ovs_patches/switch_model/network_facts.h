// NetworkFacts: the network around a switch, for checks of its mechanisms before a run is made.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/units.h"

namespace rocelab {

struct NetworkFacts {
  std::string_view name;              // of the switch
  std::string_view several_paths_to;  // a host to which it has several equal-cost ports; empty: none
  bool path_sets_overlap = false;     // one of its ports is of two sets of equal-cost ports
  std::size_t most_links = 0;         // of the longest path
  Duration base_rtt;                  // of the longest path
  Rate slowest_link;
  bool roce_hosts = false;     // a host's transport is RoCE, whose go-back-N takes reordering for loss
  bool irn_go_back_n = false;  // IRN's does so, too
  bool link_events = false;    // links fail and recover
  bool wall_clock = false;     // hosts may be foreign devices
};

}  // namespace rocelab
