// LowPriorityLoop: which packets RC3 sends ahead of TCP, in which order and at which level. Source: Mittal,
// chapter 2: a message is sent from its very last packet on towards the front (2.1.1), the first `packets[0]`
// at level 1, the next `packets[1]` at level 2, and so on, the rest at the last level (footnotes 2 and 4);
// each once and never again; it ends where it meets what the primary has sent. Of several messages the one
// whose turn is at the lowest level goes first, and among equal ones the one that came to that level first:
// the authors' queue by priorities at the host, pulled from instead of filled. The law knows nothing of
// windows, answers or classes.
#pragma once

#include <cstdint>
#include <vector>

#include "base/psn.h"
#include "base/ring.h"
#include "irn_provider/transport/nic_config.h"

namespace rocelab {

struct LowPacket {
  UnwrappedPsn psn = 0;
  unsigned level = 1;
};

class LowPriorityLoop {
 public:
  // `config.levels` at least 2.
  explicit LowPriorityLoop(const Rc3Config& config);

  // A message, or a part of one, of the PSNs [first, end), which lie above all that were added before. What
  // the primary has sent of it, or sends later, is left to it: pass().
  void add(UnwrappedPsn first, UnwrappedPsn end);
  // The primary has sent everything below `next`.
  void pass(UnwrappedPsn next);
  void stop();  // nothing that was added is sent any more

  bool has_next() const { return ready_ < fifos_.size(); }
  unsigned next_level() const { return ready_ + 1; }  // of what pull() would give; precondition: has_next()
  LowPacket pull();                                   // precondition: has_next()

  bool has_sent(UnwrappedPsn psn) const;               // of a PSN that pass() has not passed
  UnwrappedPsn sent_end() const { return sent_end_; }  // one past the highest that was ever sent

 private:
  struct Unit {
    UnwrappedPsn first = 0, end = 0;
    UnwrappedPsn cursor = 0;  // sent next, if it is not below what the primary has sent
    unsigned level = 1;
    std::uint32_t left = 0;  // packets of this level
  };
  bool over(const Unit& unit) const { return unit.cursor < unit.first || unit.cursor < passed_; }
  Unit& unit(std::uint64_t number) { return units_[number - front_]; }
  void find_ready();

  using Fifo = Ring<std::uint64_t, 1>;  // most queue pairs have a message at a time

  std::vector<std::uint32_t> packets_;  // by level - 1
  Ring<Unit, 1> units_;                 // by PSN; those that the primary has passed are gone
  std::uint64_t front_ = 0;             // number of the first of them
  std::vector<Fifo> fifos_;             // by level - 1: numbers of units, some of which are over
  unsigned ready_;                      // the first of fifos_ that has one; their number: none
  UnwrappedPsn passed_ = 0, sent_end_ = 0;
};

}  // namespace rocelab
