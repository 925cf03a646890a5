// SackRuns: what a receiver that holds packets above a gap says of them in TCP's form: the runs that changed
// most recently, newest first. Source: RFC 2018, 4; Mittal, 2.3.1 (RC3's receiver sends SACK). It keeps
// bounds, so that a run that grows at either end costs no look at the bitmap.
#pragma once

#include <algorithm>
#include <array>

#include "base/wire/irn.h"
#include "irn_provider/transport/psn_bitmap.h"

namespace rocelab {

class SackRuns {
 public:
  void add(UnwrappedPsn psn, const PsnBitmap& arrived);  // it has arrived; its bit may be set already
  void forget(UnwrappedPsn psn);                         // it counts as not arrived
  void pass(UnwrappedPsn expected) {                     // everything below has arrived
    for (Run& run : runs_)
      if (run.end <= expected) run = {};
  }
  IrnBlocks blocks(UnwrappedPsn trigger) const;

 private:
  struct Run {
    UnwrappedPsn first = 0, end = 0;  // equal: none
    bool empty() const { return first == end; }
  };
  std::array<Run, IrnBlocks::kCount> runs_;
};

}  // namespace rocelab
