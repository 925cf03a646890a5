// DcqcnNp: DCQCN's notification point for one flow: when a CNP goes to the sender of marked packets.
// Source: SIGCOMM 2015, 3.1 and figure 6: a marked packet draws a CNP at once when none was sent in the last
// N; otherwise one at the end of these N, if any packet that arrived within them was marked.
#pragma once

#include "base/units.h"

namespace rocelab {

class DcqcnNp {
 public:
  explicit DcqcnNp(Duration interval) : interval_(interval) {}

  void on_marked(Time now) {
    if (now < quiet_until_)
      marked_ = true;
    else
      due_ = true;
  }
  void on_timeout(Time now) {
    if (!marked_ || now < quiet_until_) return;
    marked_ = false;
    due_ = true;
  }
  Time next_timeout() const { return marked_ ? quiet_until_ : Time::never(); }
  bool cnp_due() const { return due_; }
  void on_cnp_sent(Time now) {  // what was marked up to now is told by it
    due_ = marked_ = false;
    quiet_until_ = now + interval_;
  }

 private:
  Duration interval_;  // N
  Time quiet_until_;
  bool marked_ = false, due_ = false;
};

}  // namespace rocelab
