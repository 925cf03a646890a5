// Escape: what one egress port keeps for it: its token pool and the flows that went through. Source:
// Menikkumbura, chapter 4, algorithm 3 and 4.3.1; the steps themselves are in mechanisms/escape.cc. No clock,
// no frames.
//
// What the printed algorithm lacks is in EscapeFix, a bit each; DEVIATIONS.md#escape.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/ring.h"
#include "base/rng.h"
#include "base/units.h"
#include "base/wire/etf.h"
#include "ovs_patches/switch_model/switch_flow.h"

namespace rocelab {

// Corrections of algorithm 3, each by itself (FIX_* of tests/models/escape.pml; DEVIATIONS.md#escape). None:
// the algorithm to the letter.
enum class EscapeFix : std::uint8_t {
  kPool = 1 << 0,   // event e3 counts where a token reserved a place, not where the frame was extracted
  kOrder = 1 << 1,  // an escaping frame does not overtake earlier ones of its flow that wait for its port
  kReclaim =
      1 << 2,  // tokens come back by their own age, and a pool never holds more than its queue has places
  kHeadroom = 1 << 3,  // room behind XOFF for what leaves a paused port
  kHosts = 1 << 4,     // no token goes to a host, which has no queue to take a frame from
};
inline constexpr std::uint8_t kAllEscapeFixes = 0x1f;

struct EscapeParams {
  bool enabled = false;
  std::uint8_t fixes = kAllEscapeFixes;  // bits of EscapeFix
  bool has(EscapeFix fix) const { return (fixes & static_cast<std::uint8_t>(fix)) != 0; }
  static constexpr std::uint8_t kLossless = 0xff;
  std::uint8_t classes = kLossless;  // bit per class: those that are lossless among them are served
  std::uint16_t tokens = 8;  // places in a port's dedicated queue: its pool; the paper gives no number
  std::uint16_t flows = 0;   // in a port's table; 0: as many as tokens (4.3.1, 7)
  bool by_hosts = false;     // a flow is all that one host sends to another, by whatever queue pairs
  std::uint64_t flow_bits() const { return by_hosts ? kHostsOfFlow : ~std::uint64_t{0}; }
  Duration period{};        // Delta^esc; 0: twice the link's delay (4.3.2)
  Duration reclaim = 1_ms;  // 4.3.3, 5: how long tokens that are not used are missed
  // Ours, not the chapter's: DEVIATIONS.md#escape.
  bool announce = false;  // flows that wait behind a paused port are made known to the switches behind it
  bool return_tokens = false;  // tokens that nobody can use come back; needs the fixes pool and reclaim
  Bytes open_below{};  // a port with a longer queue counts as closed: its flows get no tokens; 0: any length
};

// A token goes up one switch at a time on the way of its flow; one that has come this far goes round in a
// circle of flow tables. Its frame carries the number in one byte. An announcement goes down as far.
inline constexpr std::uint8_t kMostEscapeHops = 200;

// EscapeParams::return_tokens: the tokens that a port has sent, by number, so that one that comes back frees
// its place, and frees it once. A token is known for an interval: then its place has come back by its age, at
// the latest. What is not known, any more or at all, changes nothing.
class EscapeIssued {
 public:
  struct Token {
    SwitchFlow flow;  // `in`: the port that it left by
    Tc tc;
    std::uint16_t hops = 0;
    std::uint32_t before = 0;  // its number when it came here, for the switch that it came from; 0: none
    Time sent;
    bool away = true;
  };
  // `pool`: tokens of the port. Older ones than the last 64 per token are forgotten. `flow_bits`: as
  // EscapeFlows.
  EscapeIssued(std::uint16_t pool, Duration interval, std::uint64_t flow_bits = ~std::uint64_t{0})
      : most_(std::min<std::size_t>(64u * pool, 0x8000)), flow_bits_(flow_bits), interval_(interval) {}
  // The token's number, of 16 bits.
  std::uint16_t add(Token token) {
    while (tokens_.size() >= most_ || (!tokens_.empty() && token.sent - tokens_.front().sent >= interval_))
      tokens_.pop_front();
    tokens_.push_back(token);
    return next_++;
  }
  // Null: not of this number and flow, not sent that way, too old, or back already.
  const Token* take_back(std::uint16_t number, const SwitchFlow& flow, Tc tc, std::uint16_t hops, Time now) {
    const auto behind_first =
        static_cast<std::uint16_t>(number - static_cast<std::uint16_t>(next_ - tokens_.size()));
    if (behind_first >= tokens_.size()) return nullptr;
    Token& token = tokens_[behind_first];
    const bool same_flow = ((token.flow.key() ^ flow.key()) & flow_bits_) == 0 && token.flow.in == flow.in;
    if (!token.away || now - token.sent >= interval_ || !same_flow || token.tc != tc || token.hops != hops)
      return nullptr;
    token.away = false;
    return &token;
  }

 private:
  std::size_t most_;
  std::uint64_t flow_bits_;
  Duration interval_;
  Ring<Token> tokens_;  // in the order of their numbers
  std::uint16_t next_ = 0;
};

// T(p^E): places in the port's dedicated queue that no token has reserved.
class EscapePool {
 public:
  // by_age: EscapeFix::kReclaim.
  EscapePool(std::uint16_t tokens, Duration interval, bool by_age)
      : tokens_(tokens), size_(tokens), interval_(interval), by_age_(by_age) {}
  std::uint32_t size() const { return size_; }
  void take(Time now) {  // precondition: size() > 0
    --size_;
    if (by_age_) taken_.push_back(now);
    if (next_reclaim_.is_never()) next_reclaim_ = now + interval_;
  }
  // Nobody knows whose token comes back with a frame: the oldest stands for it. So as many stay on the books
  // as are away, and none of them is younger than one that is. The letter of line 31 has no bound.
  void give() {
    if (by_age_ && taken_.empty()) return;
    ++size_;
    if (by_age_) taken_.pop_front();
  }
  // 4.3.3, 5: tokens that are not used come back. To the letter one does when the size is what it was an
  // interval before, though another may have left meanwhile and be on its way; here each does when it is an
  // interval old.
  void reclaim(Time now) {
    if (!by_age_) {
      if (size_ == seen_ && size_ < tokens_) ++size_;
      seen_ = size_;
      next_reclaim_ = size_ >= tokens_ ? Time::never() : now + interval_;
      return;
    }
    for (; !taken_.empty() && now - taken_.front() >= interval_; ++size_) taken_.pop_front();
    next_reclaim_ = taken_.empty() ? Time::never() : taken_.front() + interval_;
  }
  Time next_reclaim() const { return next_reclaim_; }

 private:
  std::uint32_t tokens_, size_;
  std::uint32_t seen_ = 0xffffffff;
  Duration interval_;
  bool by_age_;
  Ring<Time> taken_;  // when, of those that are away
  Time next_reclaim_ = Time::never();
};

// 4.3.1, 7: the last N flows that traversed the port, N its number of tokens, each once, in the order of
// their first frames; the oldest gives way. (An entry per frame would give a flow several tokens at a time:
// most find no frame upstream, and are missed until the reclaim timer.) Every frame that joins a queue looks
// here, so that a flow is found in O(1): linear probing over a power of two that is at most half full.
class EscapeFlows {
 public:
  // `flow_bits`: of SwitchFlow::key(), those by which flows are told apart. `rest`: flows whose tokens come
  // back rest.
  explicit EscapeFlows(std::size_t most, std::uint64_t flow_bits = ~std::uint64_t{0}, bool rest = false)
      : most_(most), flow_bits_(flow_bits), rests_(rest ? most : 0) {
    std::size_t size = 4;
    while (size < 2 * most) size *= 2;
    places_.resize(size, kFree);
  }
  // A flow that now comes in by another port has the new one. True: it was not here.
  bool note(const SwitchFlow& flow) {
    const std::uint64_t key = flow.key() & flow_bits_;
    // A train of one flow, or flows in turns: these take no search.
    const std::size_t known = keys_.size();
    if (last_ >= known || keys_[last_] != key) {
      const std::size_t next = last_ + 1 < known ? last_ + 1 : 0;
      if (next >= known || keys_[next] != key) return search(flow, key);
      last_ = next;
    }
    if (flows_[last_].in != flow.in) flows_[last_] = flow;
    return false;
  }
  // It leaves by another port now. Its entry gives way in its turn.
  void forget_flow(std::uint64_t key) {
    const std::uint32_t at = places_[place_of(key & flow_bits_)];
    if (at == kFree) return;
    forget(keys_[at]);
    keys_[at] = kNobody;
    flows_[at].in = PortId{0xffff};
  }
  const SwitchFlow* find(std::uint64_t key) const {
    const std::uint32_t at = places_[place_of(key & flow_bits_)];
    return at != kFree ? &flows_[at] : nullptr;
  }
  const std::vector<SwitchFlow>& all() const { return flows_; }
  std::size_t most() const { return most_; }
  // 4.5.2, round robin: the next flow that came in at a port, so that a pool which does not reach for all
  // serves all in turns. Null: none within the next `most` flows; `most` counts down as it goes.
  const SwitchFlow* next_from(PortId in, std::size_t& most, Time now) {
    while (most > 0) {
      --most;
      turn_ = turn_ + 1 < flows_.size() ? turn_ + 1 : 0;
      if (flows_[turn_].in == in && (rests_.empty() || rests_[turn_].until <= now)) return &flows_[turn_];
    }
    return nullptr;
  }
  // A flow's token has come back. It rests for `first`, and each time in a row twice as long, `longest` at
  // most. Where a pool was empty it rests for a part of that at random, a multiple of `first`: tokens that
  // want one another's places would meet again and again if all came back after the same time.
  void rest(std::uint64_t key, EscapeTokenMark why, Duration first, Duration longest, Rng& rng, Time now) {
    const std::uint32_t at = places_[place_of(key & flow_bits_)];
    if (at == kFree) return;
    Rest& rest = rests_[at];
    rest.length = std::min(rest.length > Duration{} ? rest.length * 2 : first, std::max(first, longest));
    rest.contends = why == EscapeTokenMark::kNoPlace;
    const auto steps = static_cast<std::uint64_t>(rest.length / first);
    rest.until =
        now + (rest.contends ? first * static_cast<std::int64_t>(1 + rng.below(steps)) : rest.length);
  }
  // A frame of the flow has come by its token: no rest any more.
  void served(std::uint64_t key) {
    const std::uint32_t at = places_[place_of(key & flow_bits_)];
    if (at != kFree) rests_[at] = {};
  }
  // The flow of the last note(): something of it came, or waits. It contends as before.
  void wake_last() {
    if (!rests_[last_].contends) rests_[last_] = {};
  }

 private:
  static constexpr std::uint32_t kFree = 0xffffffff;
  static constexpr std::uint64_t kNobody = ~std::uint64_t{0};  // no data packet is for QPN 0xffffff
  [[gnu::noinline]] bool search(const SwitchFlow& flow, std::uint64_t key) {
    std::size_t place = place_of(key);
    if (places_[place] != kFree) {
      last_ = places_[place];
      flows_[last_] = flow;
      return false;
    }
    if (flows_.size() < most_) {
      last_ = flows_.size();
      flows_.push_back(flow);
      keys_.push_back(key);
    } else {
      last_ = next_;
      if (keys_[last_] != kNobody) forget(keys_[last_]);
      place = place_of(key);
      flows_[last_] = flow;
      keys_[last_] = key;
      if (!rests_.empty()) rests_[last_] = {};
      next_ = next_ + 1 < most_ ? next_ + 1 : 0;
    }
    places_[place] = static_cast<std::uint32_t>(last_);
    return true;
  }
  std::size_t wanted(std::uint64_t key) const {
    return (key * 0x9e3779b97f4a7c15u >> 32) & (places_.size() - 1);
  }
  std::size_t behind(std::size_t place) const { return (place + 1) & (places_.size() - 1); }
  // Where the flow stands, or would.
  std::size_t place_of(std::uint64_t key) const {
    std::size_t place = wanted(key);
    while (places_[place] != kFree && keys_[places_[place]] != key) place = behind(place);
    return place;
  }
  // Those behind it that would not be found past a free place move up (Knuth, volume 3, 6.4, algorithm R).
  void forget(std::uint64_t key) {
    std::size_t free = place_of(key);
    const std::size_t mask = places_.size() - 1;
    for (std::size_t at = behind(free); places_[at] != kFree; at = behind(at)) {
      const std::size_t from = wanted(keys_[places_[at]]);
      if (((at - from) & mask) < ((at - free) & mask)) continue;
      places_[free] = places_[at];
      free = at;
    }
    places_[free] = kFree;
  }

  struct Rest {
    Duration length;
    Time until;
    bool contends = false;  // for places, with other flows
  };
  std::size_t most_;
  std::uint64_t flow_bits_;
  std::vector<Rest> rests_;  // of flows_; empty: none ever rests
  std::vector<SwitchFlow> flows_;
  std::vector<std::uint64_t> keys_;    // of flows_
  std::vector<std::uint32_t> places_;  // of flows_, by key
  std::size_t next_ = 0, last_ = 0, turn_ = 0;
};

}  // namespace rocelab
