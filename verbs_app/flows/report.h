// The JSON document that rocelab_flows writes: one object per flow end, sorted by flow id. README.md of this
// folder lists the members.
#pragma once

#include <string>
#include <vector>

#include "verbs_app/flows/transfer.h"

namespace rocelab::app {

struct ReportHeader {
  std::string me;
  std::int64_t epoch_ns = 0;         // CLOCK_MONOTONIC of this process at the epoch,
  std::int64_t epoch_date_ns = 0;    // and CLOCK_REALTIME, which is that of all processes
  std::vector<std::string> missing;  // peers that had not finished
  std::string error;                 // why there were no flows at all; empty: there were
};

std::string to_json(const ReportHeader& header, const std::vector<Transfer>& transfers);

}  // namespace rocelab::app
