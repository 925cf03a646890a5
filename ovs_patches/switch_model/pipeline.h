// Pipeline: the packet processor between the two memories of a switch. Frames that have arrived wait in a
// FIFO per ingress port, of all classes; one frame at a time is served, ports in turn, each for the same
// time, and joins its queue at the end. Source: S. N. Avci, Z. Li, F. Liu, "Congestion Aware Priority Flow
// Control in Data Center Networks", IFIP Networking 2016, II-A and (PFC_wdrop, PFC_wstop) IV-A. What the
// paper leaves open: DEVIATIONS.md#capfc. Frames, memory and pauses are in mechanisms/pipeline.cc: the law
// knows ports and times only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/ring.h"
#include "base/units.h"

namespace rocelab {

// What a frame whose queue is full does, where its class is lossless.
enum class PipelineFull : std::uint8_t {
  kDrop,      // it is dropped: PFC_wdrop
  kStop,      // it waits in the processor, which serves nobody meanwhile: PFC_wstop
  kSkipPort,  // it waits at the head of its FIFO, and other ports are served
};

class Pipeline {
 public:
  // `service`: of each frame, more than 0. `latency`: from its arrival until it may be served.
  Pipeline(Duration service, Duration latency, PipelineFull full, std::uint16_t ports)
      : service_(service), latency_(latency), full_(full), ports_(ports) {
    RL_CHECK(service > Duration() && latency >= Duration() && ports > 0);
  }

  void on_arrival(std::uint16_t port, Time now) {
    Port& at = ports_[port];
    const bool heads = at.eligible.empty();
    at.eligible.push_back(now + latency_);
    if (heads && !serves_) next_ = std::min(next_, now + latency_);
  }

  // A queue has become shorter: what waits for one is looked at again, at next_event().
  void on_room(Time now) {
    if (!serves_ && blocked_ > 0) {
      for (Port& at : ports_) at.blocked = false;
      blocked_ = 0;
      next_ = now;
    }
    if (is_stopped()) next_ = now;
  }

  // All that is due at `now`. fits(port): the frame at the head of the port's FIFO has room in its queues.
  // place(port): it leaves the FIFO. wait(port): it has to wait for room.
  template <class Fits, class Place, class Wait>
  void run(Time now, Fits&& fits, Place&& place, Wait&& wait) {
    if (now < next_) return;
    if (serves_) {
      if (full_ == PipelineFull::kStop && !fits(served_)) {
        if (!stopped_) wait(served_);
        stopped_ = true;
        next_ = Time::never();
        return;
      }
      serves_ = stopped_ = false;
      ports_[served_].eligible.pop_front();
      place(served_);
      release_blocked();
    }
    pick(now, fits, wait);
  }

  Time next_event() const { return next_; }  // never: nothing waits, or what waits has no room
  bool is_stopped() const { return stopped_; }
  std::size_t waiting(std::uint16_t port) const { return ports_[port].eligible.size(); }

 private:
  struct Port {
    Ring<Time> eligible;   // of the frames in the FIFO: when they may be served
    bool blocked = false;  // kSkipPort: its head has been found without room
  };
  // Queues may have become shorter while a frame was served.
  void release_blocked() {
    if (blocked_ == 0) return;
    for (Port& at : ports_) at.blocked = false;
    blocked_ = 0;
  }
  // The work of one service grows with the number of ports.
  template <class Fits, class Wait>
  void pick(Time now, Fits& fits, Wait& wait) {
    next_ = Time::never();
    const auto count = static_cast<std::uint16_t>(ports_.size());
    for (std::uint16_t k = 0, port = last_; k < count; ++k) {
      port = static_cast<std::uint16_t>(port + 1 == count ? 0 : port + 1);
      Port& at = ports_[port];
      if (at.eligible.empty() || at.blocked) continue;
      if (at.eligible.front() > now) {
        next_ = std::min(next_, at.eligible.front());
      } else if (full_ == PipelineFull::kSkipPort && !fits(port)) {
        at.blocked = true;
        ++blocked_;
        wait(port);
      } else {
        serves_ = true;
        served_ = last_ = port;
        next_ = now + service_;
        return;
      }
    }
  }

  Duration service_, latency_;
  PipelineFull full_;
  std::vector<Port> ports_;
  std::uint16_t last_ = 0, served_ = 0;
  bool serves_ = false, stopped_ = false;  // a frame of `served_` is in the processor; and waits there
  std::uint16_t blocked_ = 0;
  Time next_ = Time::never();
};

}  // namespace rocelab
