// SpinDetector: does a thread spin on memory? A program may wait for another thread, or for a peer's WRITE,
// in a loop that makes no call which could let time pass. Law only: no I/O.
//
// The thread is sampled while it runs: its instruction pointer, its general registers, the top of its stack.
// There are two findings.
//
// kSpins: found three times in one state, of these once after it had been found in another one, without a
// call in between, and it has used the processor. Such a loop computes nothing: only memory that somebody
// else changes can end it. A loop that counts, copies or searches has a register, or a variable on its stack,
// that differs, however long it takes. A loop that is always found in the same state, because its
// instructions are executed as one, has to be found there six times. Fewer are not enough: an instruction
// that waits for its page is found where it was, and on a busy machine the next interruption is due before
// the way out of the last one has ended, several times in a row, so that a thread whose memory has changed
// has had no chance to see it.
//
// kCounts: a loop that may wait and may compute: it counts, or asks the time stamp counter, as one does that
// gives up after a while. For a quarter of a second of its own processor time it was found at a few
// instructions, and at each of them only a few registers and variables ever differed. Summing up gigabytes
// looks the same; nothing but its end tells the two apart, so what is done about it is counted as a detach.
// Where that did help, the same loop is known and found within milliseconds.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace rocelab {

struct SpinSample {
  static constexpr std::size_t kRegisters = 16, kStack = 64;
  std::uint64_t at = 0;  // the instruction
  // The general registers, then what lies on top of the stack.
  std::array<std::uint64_t, kRegisters + kStack> words{};
  std::uint64_t calls = 0;  // how often the thread has called in
  std::int64_t cpu_ns = 0;  // processor time that it has used, without that of taking samples
  bool in_library = false;  // in the C library, which computes
  bool moved = true;        // false: it is known to have executed no instruction since the sample before
};

class SpinDetector {
 public:
  enum class Finding : std::uint8_t { kNone, kSpins, kCounts };

  // A thread that is blocked in the operating system stays where it is, too, but uses no processor.
  static constexpr std::int64_t kMinCpuNs = 5'000;
  static constexpr std::int64_t kWindowNs = 250'000'000, kKnownWindowNs = 5'000'000;
  static constexpr std::size_t kFew = 4;

  // After a finding the samples are forgotten.
  Finding observe(const SpinSample& sample) {
    if (sample.calls != calls_) begin_stretch(sample);
    stands_ = !sample.moved;
    if (sample.in_library || !sample.moved) return Finding::kNone;
    if (in_a_seen_state(sample)) {
      forget();
      return Finding::kSpins;
    }
    return note(sample, at_a_loops_place(sample));
  }
  // The last sample does not tell whether the thread got on: it is in the state of the one before.
  bool stands() const { return stands_; }
  // The thread has parked: what comes next is another stretch.
  void forget() {
    forget_states();
    begin_window(kNoWindow);
  }

 private:
  static constexpr std::size_t kStates = 512, kPlaces = 64;
  static constexpr int kTimes = 3;          // in one state, which it came back to
  static constexpr int kTimesAlone = 6;     // in the only state that it was found in
  static constexpr int kTimesAtPlace = 4;   // before a place tells anything
  static constexpr int kLeastSamples = 16;  // in a window
  static constexpr std::int64_t kNoWindow = -1;
  struct State {
    std::uint64_t hash = 0;  // 0: free
    std::int64_t cpu_ns = 0;
    int times = 0;
    bool came_back = false;  // from another state
  };
  struct Place {
    std::uint64_t at = 0;
    decltype(SpinSample::words) first{};
    std::bitset<SpinSample::kRegisters + SpinSample::kStack> differed;
    int times = 0;
  };

  static std::uint64_t hash_of(const SpinSample& s) {
    std::uint64_t h = s.at;
    for (const std::uint64_t word : s.words) h = (std::rotl(h, 5) ^ word) * 0x9e3779b97f4a7c15ull;
    return (h ^ h >> 32) | 1;
  }

  void begin_stretch(const SpinSample& sample) {
    // The loop has ended soon after it was let go on: it had waited.
    if (counted_ && sample.cpu_ns - counted_ns_ < kKnownWindowNs) known_ = true;
    counted_ = false;
    calls_ = sample.calls;
    forget_states();
  }
  void forget_states() {
    if (kept_ > 0) states_ = {};
    kept_ = 0;
    last_ = 0;
  }

  bool in_a_seen_state(const SpinSample& sample) {
    if (kept_ > kStates * 3 / 4) forget_states();
    const std::uint64_t hash = hash_of(sample);
    stands_ = std::exchange(last_, hash) == hash;
    std::size_t i = hash % kStates;
    while (states_[i].hash != 0 && states_[i].hash != hash) i = (i + 1) % kStates;
    State& state = states_[i];
    if (state.hash == 0) {
      state = {hash, sample.cpu_ns, 1, false};
      ++kept_;
      return false;
    }
    if (sample.cpu_ns - state.cpu_ns < kMinCpuNs) return false;
    state.cpu_ns = sample.cpu_ns;
    state.came_back |= !stands_;
    return ++state.times >= (state.came_back ? kTimes : kTimesAlone);
  }

  bool at_a_loops_place(const SpinSample& sample) {
    Place* const end = places_.data() + used_;
    Place* place = std::find_if(places_.data(), end, [&](const Place& p) { return p.at == sample.at; });
    if (place == end) {
      if (used_ == kPlaces) return false;
      ++used_;
      *place = {.at = sample.at, .first = sample.words, .differed = {}, .times = 0};
    }
    for (std::size_t i = 0; i < sample.words.size(); ++i)
      if (sample.words[i] != place->first[i]) place->differed.set(i);
    ++place->times;
    return like_a_loops(*place) || (place->differed.count() <= kFew && at_known_loop(sample));
  }
  static bool like_a_loops(const Place& place) {
    return place.times >= kTimesAtPlace && place.differed.count() <= kFew;
  }

  Finding note(const SpinSample& sample, bool like_a_loop) {
    if (window_ns_ == kNoWindow) begin_window(sample.cpu_ns);
    ++samples_;
    like_loops_ += like_a_loop ? 1 : 0;
    const bool long_enough = sample.cpu_ns - window_ns_ >= (known_here() ? kKnownWindowNs : kWindowNs);
    if (!long_enough || samples_ < kLeastSamples) return Finding::kNone;
    const bool counts = like_a_loop && like_loops_ * 10 >= samples_ * 9;
    if (counts) {
      remember_loop();
      counted_ = true;
      counted_ns_ = sample.cpu_ns;
    }
    forget();
    return counts ? Finding::kCounts : Finding::kNone;
  }

  void begin_window(std::int64_t cpu_ns) {
    window_ns_ = cpu_ns;
    used_ = 0;
    samples_ = like_loops_ = 0;
  }

  // --- the loop that was found last
  bool at_known_loop(const SpinSample& sample) const {
    return (known_ || counted_) && sample.at >= loop_begin_ && sample.at <= loop_end_;
  }
  bool known_here() const { return (known_ || counted_) && like_loops_ * 10 >= samples_ * 9; }
  void remember_loop() {
    std::uint64_t begin = ~0ull, end = 0;
    for (std::size_t i = 0; i < used_; ++i)
      if (like_a_loops(places_[i]))
        begin = std::min(begin, places_[i].at), end = std::max(end, places_[i].at);
    const bool same = begin <= loop_end_ && end >= loop_begin_;
    loop_begin_ = same ? std::min(begin, loop_begin_) : begin;
    loop_end_ = same ? std::max(end, loop_end_) : end;
    known_ = known_ && same;
  }

  std::uint64_t calls_ = 0;
  std::array<State, kStates> states_;  // of one stretch between two calls
  std::size_t kept_ = 0;
  std::uint64_t last_ = 0;  // hash of the last sample's state; 0: none
  bool stands_ = false;
  std::array<Place, kPlaces> places_;  // of one window
  std::size_t used_ = 0;
  std::int64_t window_ns_ = kNoWindow;
  int samples_ = 0, like_loops_ = 0;
  std::uint64_t loop_begin_ = ~0ull, loop_end_ = 0;
  bool counted_ = false;  // in this stretch
  bool known_ = false;    // to have waited
  std::int64_t counted_ns_ = 0;
};

// When a thread's next sample is due, and how far it has got on since the last one. Where interrupting a
// thread takes as long as the time between two samples, because the machine is slow or busy, it would be
// interrupted again at the instruction where it was, for ever: samples take a fifth of its time at most. One
// that has not got on at all, because it is blocked in the operating system, or that may not have (`stands`),
// is looked at less and less often; so is one that was looked at often and only computes.
class SampleClock {
 public:
  static constexpr std::int64_t kLeastNs = 20'000, kMostNs = 1'280'000;  // of wall time
  static constexpr int kOften = 1'000;

  // `used_ns`: the thread's processor time between two samples, which the way out of the one and into the
  // other is part of. The least that was ever seen is what these take.
  std::int64_t progress(std::int64_t used_ns) {
    interruption_ns_ = std::min(interruption_ns_, used_ns);
    return used_ns - interruption_ns_;
  }
  // `taking_ns`: processor time of taking a sample.
  std::int64_t next(std::int64_t progress_ns, std::int64_t taking_ns, bool stands = false) {
    const std::int64_t least =
        ++taken_ > kOften ? kMostNs : std::max(kLeastNs, 4 * (interruption_ns_ + taking_ns));
    ns_ =
        std::min(stands || progress_ns < SpinDetector::kMinCpuNs ? std::max(2 * ns_, least) : least, kMostNs);
    return ns_;
  }
  // After a wait, in which the thread was not looked at.
  std::int64_t first() {
    taken_ = 0;
    return ns_ = kLeastNs;
  }

 private:
  std::int64_t ns_ = kLeastNs, interruption_ns_ = kMostNs;
  int taken_ = 0;
};

}  // namespace rocelab
