// SpinLaw: does a thread spin on memory? Programs that measure latency (ib_write_lat) poll the last byte of a
// buffer that their peer writes, without a call that could let time pass. Law only: no I/O.
//
// The registers and the instruction pointer of a thread are sampled while it runs. A thread that is found
// three times at the same instruction with the same values in all general registers, that has called in
// nowhere in between and has used the processor, is in a loop that computes nothing: only memory, changed by
// somebody else, can end it. A loop that counts, copies or searches has a register that differs, however long
// it takes. (Twice is not enough: an instruction that waits for its page is found where it was, too.)
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace rocelab {

struct SpinSample {
  std::array<std::uint64_t, 17> registers{};  // general registers and the instruction pointer
  std::uint64_t calls = 0;                    // how often the thread has called in
  std::int64_t cpu_ns = 0;  // processor time that it has used, without that of taking samples
};

class SpinLaw {
 public:
  // A thread that is blocked in the operating system stays where it is, too, but uses no processor.
  static constexpr std::int64_t kMinCpuNs = 5'000;

  // True: the thread spins. The samples are forgotten then.
  bool observe(const SpinSample& sample) {
    if (count_ > 0 && kept_[0].sample.calls != sample.calls) count_ = 0;
    for (std::size_t i = 0; i < std::min(count_, kKept); ++i) {
      Seen& seen = kept_[i];
      if (seen.sample.registers != sample.registers) continue;
      if (sample.cpu_ns - seen.sample.cpu_ns < kMinCpuNs) return false;
      seen.sample.cpu_ns = sample.cpu_ns;
      if (++seen.times < kTimes) return false;
      count_ = 0;
      return true;
    }
    kept_[count_++ % kKept] = {sample, 1};
    return false;
  }

 private:
  static constexpr std::size_t kKept = 16;  // a loop has several instructions; a sample finds any of them
  static constexpr int kTimes = 3;
  struct Seen {
    SpinSample sample;
    int times = 0;
  };

  std::array<Seen, kKept> kept_;  // of one stretch between two calls
  std::size_t count_ = 0;
};

// When a thread's next sample is due, and how far it has got on since the last one. Where interrupting a
// thread takes as long as the time between two samples, because the machine is slow or busy, it would be
// interrupted again at the instruction where it was, for ever: samples take a fifth of its time at most. One
// that has not got on at all, because it is blocked in the operating system, is looked at less and less
// often.
class SampleClock {
 public:
  static constexpr std::int64_t kLeastNs = 20'000, kMostNs = 1'280'000;  // of wall time

  // `used_ns`: the thread's processor time between two samples, which the way out of the one and into the
  // other is part of. The least that was ever seen is what these take.
  std::int64_t progress(std::int64_t used_ns) {
    interruption_ns_ = std::min(interruption_ns_, used_ns);
    return used_ns - interruption_ns_;
  }
  // `taking_ns`: processor time of taking a sample.
  std::int64_t next(std::int64_t progress_ns, std::int64_t taking_ns) {
    const std::int64_t least = std::max(kLeastNs, 4 * (interruption_ns_ + taking_ns));
    ns_ = std::min(progress_ns < SpinLaw::kMinCpuNs ? std::max(2 * ns_, least) : least, kMostNs);
    return ns_;
  }
  // After a wait, in which the thread was not looked at.
  std::int64_t first() { return ns_ = kLeastNs; }

 private:
  std::int64_t ns_ = kLeastNs, interruption_ns_ = kMostNs;
};

}  // namespace rocelab
