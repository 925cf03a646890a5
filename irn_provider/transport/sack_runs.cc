#include "irn_provider/transport/sack_runs.h"

namespace rocelab {

// A neighbour that is of none of the runs here is of one that was said long ago: the bitmap knows its end.
void SackRuns::add(UnwrappedPsn psn, const PsnBitmap& arrived) {
  Run grown{psn, psn + 1};
  for (Run& run : runs_) {
    if (run.empty() || (run.end != psn && run.first != psn + 1)) continue;
    grown.first = std::min(grown.first, run.first), grown.end = std::max(grown.end, run.end);
    run = {};
  }
  if (grown.first == psn && arrived.test(psn - 1)) grown.first = arrived.run_start(psn);
  if (grown.end == psn + 1 && arrived.test(psn + 1)) grown.end = arrived.first_zero(psn + 1);
  std::array<Run, IrnBlocks::kCount> newest{grown};
  std::size_t count = 1;
  for (const Run& run : runs_)
    if (!run.empty() && count < newest.size()) newest[count++] = run;
  runs_ = newest;
}

// Of the two parts the longer one goes on being said.
void SackRuns::forget(UnwrappedPsn psn) {
  for (Run& run : runs_) {
    if (psn < run.first || psn >= run.end) continue;
    if (psn - run.first >= run.end - psn - 1)
      run.end = psn;
    else
      run.first = psn + 1;
    if (run.empty()) run = {};
  }
}

IrnBlocks SackRuns::blocks(UnwrappedPsn trigger) const {
  IrnBlocks said{wrap(trigger), {}};
  std::size_t count = 0;
  for (const Run& run : runs_)
    if (!run.empty()) said.blocks[count++] = {wrap(run.first), wrap(run.end)};
  return said;
}

}  // namespace rocelab
