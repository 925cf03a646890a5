// IrnReceiver: the data sink's law over one sequence space: expected PSN and 2-bitmap. Every packet that
// arrives is answered. Source: Mittal, 4.2.1 (NACK for every out-of-order arrival), 4.4.3 (2-bitmap), 4.5.2
// (receiveData). The IRN responder owns one for requests (sPSN), the requester one for READ responses (rPSN).
// A bit is set only after its owner has placed the packet: classify() first, then accept(). With go-back-N
// (factor switch, 4.3.3) nothing out of order is accepted and a hole is NACKed once, as RoCE's responder
// does.
#pragma once

#include <cstdint>
#include <memory>

#include "irn_provider/transport/nic_config.h"
#include "irn_provider/transport/psn_bitmap.h"
#include "irn_provider/transport/sack_runs.h"

namespace rocelab {

enum class Arrival : std::uint8_t {
  kInOrder,       // accept it, ACK
  kOutOfOrder,    // accept it, NACK with expected() and this PSN
  kDuplicate,     // was here already: ACK when it is below expected(), else NACK as when it came first
  kBeyondBitmap,  // more than the bitmap's size ahead of expected(): no honest peer sends it; drop
};

class IrnReceiver {
 public:
  // `sacks`: it tells what it holds above a gap by blocks, as RC3's does (Mittal, 2.3.1).
  IrnReceiver(const IrnConfig& config, UnwrappedPsn expected, bool sacks = false);

  std::size_t capacity() const { return arrived_.capacity(); }
  UnwrappedPsn expected() const { return arrived_.head(); }  // everything below has arrived
  Arrival classify(UnwrappedPsn psn) const;
  // Marks a packet that classify() called in order or out of order. `last`: it ends a message. Returns how
  // many messages became complete with everything before them: the increment of the MSN.
  std::uint32_t accept(UnwrappedPsn psn, bool last);

  // What expected() would be with `psn`, which classify() called in order or out of order, accepted.
  UnwrappedPsn expected_after(UnwrappedPsn psn) const;
  // A packet above expected() that arrived counts as not arrived: it will come again.
  void forget(UnwrappedPsn psn);

  bool discards_out_of_order() const { return go_back_n_; }
  // Go-back-N only: whether the hole at expected() still has to be NACKed; asking says that it is being done.
  bool take_nack_due();
  bool holds_packets() const { return beyond_ > 0; }  // something above a hole has arrived
  bool has_blocks() const { return beyond_ > 0 && runs_ != nullptr; }
  IrnBlocks blocks(UnwrappedPsn trigger) const {
    return runs_->blocks(trigger);
  }  // precondition: has_blocks()

 private:
  bool go_back_n_, sacks_;
  bool nacked_ = false;
  std::size_t beyond_ = 0;          // packets in the bitmap, all of them above a hole
  PsnBitmap arrived_;               // head is the expected PSN
  PsnBitmap last_;                  // of these: last packets of messages
  std::unique_ptr<SackRuns> runs_;  // with `sacks`, since the first packet above a hole
};

}  // namespace rocelab
