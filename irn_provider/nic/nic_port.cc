#include "irn_provider/nic/nic_port.h"

#include <algorithm>

#include "base/check.h"
#include "base/wire/controls.h"

namespace rocelab {

Time NicPort::next_event() const { return std::min(next_input(), next_departure()); }

void NicPort::advance_to(Time t) {
  RL_CHECK(next_event() >= t || t <= now_);
  now_ = std::max(now_, t);
}

void NicPort::take_inputs(Time t) {
  now_ = t;
  while (!arrivals_.empty() && arrivals_.front()->due <= t) {
    PacketRef packet = std::move(arrivals_.front());
    arrivals_.pop_front();
    if (arrivals_.size() > 1) {  // packets lie far apart, and what happens to two of them takes a while
      arrivals_[1].prefetch();
      arrivals_[1].prefetch_headers();
    }
    if (packet->kind == kind_of<PfcFrame>)
      nic_.on_pfc(control_of<PfcFrame>(*packet), t);
    else
      nic_.on_packet(std::move(packet), t);
  }
  if (next_timer() <= t) nic_.on_timeout(t);
}

}  // namespace rocelab
