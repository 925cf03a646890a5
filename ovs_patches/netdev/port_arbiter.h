// PortArbiter: several senders (virtual functions) behind one port. Each serialises its own frames as if it
// were alone; the arbiter decides when each frame's first bit really leaves: as wanted while the port is
// free, else round robin, one frame each, as the port gets free. A frame that had to wait obeys the pauses
// that arrived meanwhile; one that leaves when its sender wanted was already checked by the sender. With one
// sender nothing changes at all. No I/O, no frames: only times.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "base/wire/pfc.h"

namespace rocelab {

class PortArbiter {
 public:
  struct Request {      // head of a sender's queue
    Time start;         // when its sender let it go
    Duration duration;  // its serialisation
    Tc tc;
  };
  struct Choice {
    std::size_t sender = 0;
    Time start;
  };

  PortArbiter(std::size_t senders, Rate rate) : rate_(rate), heads_(senders) {}

  void set_head(std::size_t sender, std::optional<Request> head) { heads_[sender] = head; }
  void on_pfc(const PfcFrame& pfc, Time arrival);  // arrivals in order
  // The next frame to leave, as far as is known now; later heads and pauses may change it. Null: no heads.
  std::optional<Choice> choose() const;
  // It leaves: the caller sets the sender's next head.
  void commit(const Choice& choice);

 private:
  using Pauses = std::array<Time, kTrafficClasses>;
  static void apply(Pauses& until, const PfcFrame& pfc, Time at, Rate rate);
  std::optional<std::size_t> eligible(Time t, const Pauses& until) const;
  Time next_change(Time t, const Pauses& until) const;

  Rate rate_;
  std::vector<std::optional<Request>> heads_;
  Time free_ = Time::zero();  // the port has sent everything so far
  std::size_t last_ = 0;
  Pauses paused_until_{};
  std::deque<std::pair<Time, PfcFrame>> coming_;  // pauses later than the last commit
};

}  // namespace rocelab
