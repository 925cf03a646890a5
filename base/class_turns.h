// ClassTurns: which class of a NIC's port may send next, by the switch's law (class_scheduler.h). Plain data:
// the programs of one host share a port's. A NIC knows the length of a packet only when it has been pulled.
// So a class pays for a maximum frame before, and gets back afterwards the part that was too much: over time
// the shares are exact, and a turn ends before the first packet that might not fit.
#pragma once

#include <cstdint>

#include "base/class_scheduler.h"

namespace rocelab {

class ClassTurns {
 public:
  ClassTurns(TcMask strict, const ClassScheduler<>::Weights& weights, Bytes max_payload)
      : max_frame_(max_payload + kMostAround), law_(strict, weights, max_frame_) {}

  // `sendable`: classes that can send now, at least one. The bit of the one whose turn it is.
  TcMask take(TcMask sendable) {
    charged_ = law_.charges(sendable);
    tc_ = law_.pick(sendable, [&](Tc) { return max_frame_; });
    return bit_of(tc_);
  }
  // The turn has ended: a frame left (sent), or none did (passed). `ready`: classes that have something to
  // send, paused ones included.
  void sent(Bytes frame, TcMask ready) { end(wire_bytes(max_frame_) - wire_bytes(frame), ready); }
  void passed(TcMask ready) { end(wire_bytes(max_frame_), ready); }

 private:
  static constexpr Bytes kMostAround = 256_B;  // headers, INT and ICRC around a payload
  void end(Bytes too_much, TcMask ready) {
    if (charged_) law_.give_back(tc_, too_much);
    for (std::uint8_t tc = 0; tc < kTrafficClasses; ++tc)
      if ((ready >> tc & 1) == 0) law_.on_empty(Tc{tc});
  }

  Bytes max_frame_;
  ClassScheduler<> law_;
  Tc tc_;  // whose turn it is
  bool charged_ = false;
};

}  // namespace rocelab
