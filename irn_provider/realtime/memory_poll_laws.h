// What a NIC in real time guesses of a program that polls memory for what its peer writes (ib_write_lat,
// riostream): law only, no I/O. A wrong guess costs time, never correctness: a helper thread sees to what
// neither the program nor a signal does.
#pragma once

#include <cstdint>

#include "base/units.h"

namespace rocelab {

// ReplyPredictor: whether the program answers what it finds in memory, so that an acknowledgement may leave
// together with the answer. That saves more than a packet: a peer that gets both at once finds the answer
// while it polls for its own completion. One that gets the acknowledgement first goes on to poll memory, and
// has to be interrupted for the answer.
class ReplyPredictor {
 public:
  static constexpr Duration kSoon = 20_us;
  static constexpr std::uint32_t kSure = 2;  // answers in a row

  bool expects() const { return answers_ >= kSure; }

  // Something has come that the program sees in memory, and nothing else tells it of.
  void came(Time now) {
    if (waiting_) answers_ = 0;
    waiting_ = true;
    since_ = now;
  }
  void posted(Time now) {
    if (!waiting_) return;
    waiting_ = false;
    answers_ = now - since_ <= kSoon ? answers_ + 1 : 0;
  }
  void gave_up() {  // the acknowledgement has waited for too long
    waiting_ = false;
    answers_ = 0;
  }

 private:
  std::uint32_t answers_ = 0;
  bool waiting_ = false;
  Time since_;
};

// WakeupPolicy: whether frames should interrupt the program from now on, that has posted or been told of a
// completion and may go on to poll memory. To ask the kernel for that and to take it back are two calls, some
// 0.5 us, and a signal is far more: a program that has been interrupted for nothing so many times in a row
// goes without. If it polls memory all the same, the helper thread sees that some 200 to 400 us later. So a
// wrong guess costs what has been saved before it.
class WakeupPolicy {
 public:
  static constexpr std::uint32_t kPatience = 512;

  bool wanted() const { return needless_ < kPatience; }

  void needed() { needless_ = 0; }  // a frame has interrupted the program, or should have
  void needless() { ++needless_; }  // on and off again, and no frame in between

 private:
  std::uint32_t needless_ = 0;
};

}  // namespace rocelab
