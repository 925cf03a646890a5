// LoopBreaker: the queues of one egress port that its peer keeps paused, and whether they wait for
// themselves. Source: A. Shpiner et al., "Unlocking Credit Loop Deadlocks", HotNets 2016, by US patent
// 10,630,590, claim 1: a port whose queue is not empty and that sends nothing for an interval is suspected,
// and sends messages with its identifier (CLCM, base/wire/clcm.h) periodically; suspected ports behind it
// pass them on; whoever gets its own back is on a loop and its master. What the claim leaves open:
// DEVIATIONS.md#loop-breaker. What a master does, and which ports a message is for, is in
// mechanisms/loop_breaker.cc. No queue, no frame, no clock here.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/rng.h"
#include "base/tc_mask.h"
#include "base/units.h"
#include "base/wire/clcm.h"

namespace rocelab {

// The frames that the master of a loop drops: all that its queue holds, or from the queue's head on until the
// loop's ingress port asks for no pause any more.
enum class LoopBreakerDrop : std::uint8_t { kQueue, kToXon };

struct LoopBreakerParams {
  bool enabled = false;
  LoopBreakerDrop drop = LoopBreakerDrop::kQueue;
  Duration interval = 1_ms;  // paused, with frames, without a departure: suspected. The paper's is not known
  Duration period{};         // between the messages of a suspected queue; 0: the interval
};

class LoopBreaker {
 public:
  // A message that has come this far goes round without its origin.
  static constexpr std::uint16_t kMostHops = 200;
  static constexpr std::size_t kMostSeen = 64;  // origins whose messages a class remembers

  // `interval`: without a departure until a queue is suspected; `period`: between its messages. Both above 0.
  LoopBreaker(Duration interval, Duration period, Rng rng)
      : interval_(interval), period_(period), rng_(rng) {}

  // A queue that is paused can only grow: with frames at both ends of an interval it had some all along, and
  // none has left. So departures need not be watched. `waiting`: classes with frames.
  void on_paused(TcMask classes, TcMask waiting, Time now) {
    for_each(classes, [&](Tc tc) { begin(tc, waiting, now); });
    update();
  }
  // They may send: they forget.
  void on_resumed(TcMask classes) {
    for_each(classes, [&](Tc tc) { of(tc).next = Time::never(); });
    suspected_ = static_cast<TcMask>(suspected_ & ~classes);
    update();
  }
  // Frames were taken out of a queue that is paused: something has moved, and the interval begins again.
  void on_dropped(Tc tc, TcMask waiting, Time now) {
    if (of(tc).next.is_never()) return;
    suspected_ = static_cast<TcMask>(suspected_ & ~bit_of(tc));
    begin(tc, waiting, now);
    update();
  }
  // Classes whose own message is to be sent at `now`.
  TcMask on_timeout(Time now, TcMask waiting) {
    TcMask due = 0;
    for_each(0xff, [&](Tc tc) {
      Class& c = of(tc);
      if (c.next > now) return;
      const bool waits = (waiting & bit_of(tc)) != 0;
      if ((suspected_ & bit_of(tc)) == 0) {
        if (!std::exchange(c.waited, waits) || !waits) return void(c.next = now + interval_);
        suspected_ |= bit_of(tc);
        c.id = rng_.next();
        c.rounds = 0;
        c.seen.clear();
      }
      due |= bit_of(tc);
      c.next = now + period_;
    });
    update();
    return due;
  }
  // The next message of a suspected class, for the peer.
  Clcm message(Tc tc) { return {tc, 1, of(tc).rounds++, of(tc).id}; }

  // The port's own message has come back, over queues that wait for one another: it is the master. Messages
  // of lower identifiers end on the way, so that a loop has one.
  bool is_master(const Clcm& m) const {
    const Class& c = of(m.tc);
    return is_suspected(m.tc) && m.id == c.id && m.round < c.rounds;
  }
  // Another port's message goes on through this one: it is suspected, has a lower identifier, and has not had
  // this message or a later one.
  bool passes(const Clcm& m) {
    if (!is_suspected(m.tc) || m.id <= of(m.tc).id || m.hops >= kMostHops) return false;
    Class& c = of(m.tc);
    const auto seen = std::ranges::find(c.seen, m.id, &Seen::id);
    if (seen != c.seen.end()) {
      const std::uint32_t newer = m.round - seen->round;  // rounds count modulo 2^32
      if (newer == 0 || newer >> 31 != 0) return false;
      seen->round = m.round;
    } else if (c.seen.size() < kMostSeen) {
      c.seen.push_back({m.id, m.round});
    } else {
      c.oldest = (c.oldest + 1) % kMostSeen;
      c.seen[c.oldest] = {m.id, m.round};
    }
    return true;
  }
  bool is_suspected(Tc tc) const { return (suspected_ & bit_of(tc)) != 0; }
  TcMask suspected() const { return suspected_; }
  Time next_timeout() const { return next_; }

 private:
  struct Seen {
    std::uint64_t id;
    std::uint32_t round;
  };
  struct Class {
    Time next = Time::never();  // the interval's end, or of the next message; never: not paused
    bool waited = false;        // frames were there when the interval began
    std::uint64_t id = 0;       // SPUID, as long as the suspicion lasts
    std::uint32_t rounds = 0;   // messages sent
    std::vector<Seen> seen;
    std::size_t oldest = kMostSeen - 1;
  };
  template <class F>
  static void for_each(TcMask classes, F&& f) {
    for (std::uint8_t tc = 0; tc < kTrafficClasses; ++tc)
      if ((classes >> tc & 1) != 0) f(Tc{tc});
  }
  Class& of(Tc tc) { return classes_[tc.value]; }
  const Class& of(Tc tc) const { return classes_[tc.value]; }
  void begin(Tc tc, TcMask waiting, Time now) {
    of(tc).next = now + interval_;
    of(tc).waited = (waiting & bit_of(tc)) != 0;
  }
  void update() { next_ = std::ranges::min_element(classes_, {}, &Class::next)->next; }

  Duration interval_, period_;
  Rng rng_;
  std::array<Class, kTrafficClasses> classes_;
  TcMask suspected_ = 0;
  Time next_ = Time::never();
};

}  // namespace rocelab
