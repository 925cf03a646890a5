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

}  // namespace rocelab
