// How long a flow takes on an idle network, frame by frame, and past the long middle of a message in one
// step.
#include <algorithm>
#include <limits>
#include <vector>

#include "base/wire/opcode.h"
#include "emu/runner/flow_frames.h"
#include "emu/runner/formula.h"

namespace rocelab {
namespace {

// READ requests that a queue pair keeps outstanding (max_rd_atomic of the traffic program).
constexpr std::size_t kOutstandingReads = 16;

// Recognises that each frame of a row of equal ones comes a fixed time after the one before, at every link,
// and will go on to: increments were equal for longer than the window reaches back, and nobody downstream is
// faster than who feeds it (with a window: all are equal, since ACKs feed the first link).
class SteadyState {
 public:
  SteadyState(std::size_t values, std::size_t window) : last_(values), step_(values), window_(window) {}
  void restart() { seen_ = 0; }
  bool holds() const { return seen_ > 0 && equal_ >= std::max<std::size_t>(window_ + 1, 2) && feeds(); }
  Duration step(std::size_t i) const { return step_[i]; }
  void observe(const std::vector<Time>& values) {
    bool same = seen_ > 1;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Duration step = values[i] - last_[i];
      same = same && step == step_[i];
      step_[i] = step;
      last_[i] = values[i];
    }
    equal_ = same ? equal_ + 1 : 0;
    ++seen_;
  }

 private:
  bool feeds() const {
    return window_ == 0 ? std::is_sorted(step_.begin(), step_.end())
                        : std::all_of(step_.begin(), step_.end(), [&](Duration d) { return d == step_[0]; });
  }
  std::vector<Time> last_;
  std::vector<Duration> step_;
  std::size_t window_, seen_ = 0, equal_ = 0;
};

// Store and forward over the links of a path that nobody else uses.
class Pipe {
 public:
  explicit Pipe(const Path& path) : path_(path), free_(path.size()), serialise_(path.size()) {}
  Time first_link_free() const { return free_.front(); }
  const std::vector<Time>& free() const { return free_; }
  // `frames` more at the steady pace; the links' values begin at `first`.
  void advance(const SteadyState& steady, std::size_t first, std::int64_t frames) {
    for (std::size_t h = 0; h < free_.size(); ++h) free_[h] = free_[h] + frames * steady.step(first + h);
  }
  Time send(Time ready, Bytes frame) {
    if (frame != last_length_) {
      for (std::size_t h = 0; h < path_.size(); ++h) serialise_[h] = wire_time(frame, path_[h].rate);
      last_length_ = frame;
    }
    for (std::size_t h = 0; h < path_.size(); ++h) {
      free_[h] = std::max(ready, free_[h]) + serialise_[h];
      ready = free_[h] + path_[h].delay;
    }
    return ready;
  }

 private:
  const Path& path_;
  std::vector<Time> free_;
  std::vector<Duration> serialise_;  // of the frame sent last
  Bytes last_length_;
};

// One queue pair's sender of data frames: work requests (or, for READ, the responder's answers), in order,
// inside the window.
struct Sender {
  std::size_t lane = 0;
  std::int64_t frames = 0, sent = 0;
  std::vector<Time> acked;       // with a window: arrival of the ACKs of the last `cap` frames, as a ring
  std::vector<Time> message_at;  // arrival of each message's last frame
  std::vector<Time> request_at;  // READ: arrival of each message's request at the responder
  bool done() const { return sent == frames; }
};

class LoneFlow {
 public:
  LoneFlow(const FlowShape& shape, const Path& data, const Path& control)
      : shape_(shape),
        frames_(shape),
        ack_(ack_frame(shape.mode)),
        request_(frame_bytes(shape.mode, Operation::kReadRequest, 0)),
        data_(data),
        control_(control),
        requests_(control),
        steady_(data.size() + (shape.bdp_cap == 0 ? 0 : control.size()), shape.bdp_cap) {
    for (std::size_t lane = 0; lane < frames_.lanes(); ++lane)
      senders_.push_back({lane, frames_.frames(lane), 0, std::vector<Time>(shape.bdp_cap), {}, {}});
  }

  Duration run() {
    Time end;
    while (Sender* sender = next()) {
      end = std::max(end, send(*sender));
      if (senders_.size() == 1) skip(*sender);
    }
    return end - Time::zero();
  }

 private:
  // READ: when the request of the sender's next message is at the responder; other operations may go at once.
  Time request_arrival(Sender& s, std::size_t message) {
    if (shape_.op != FlowOp::kRead) return Time::zero();
    while (s.request_at.size() <= message) {
      const std::size_t n = s.request_at.size();
      const Time posted = n < kOutstandingReads ? Time::zero() : s.message_at[n - kOutstandingReads];
      s.request_at.push_back(requests_.send(posted, request_));
      // IRN: a request has a PSN of its own, which is acknowledged before the request is answered.
      if (shape_.mode == TransportMode::kIrn) data_.send(s.request_at.back(), ack_);
    }
    return s.request_at[message];
  }
  Time eligible(Sender& s) {
    const std::int64_t cap = shape_.bdp_cap;
    const Time window =
        cap == 0 || s.sent < cap ? Time::zero() : s.acked[static_cast<std::size_t>(s.sent % cap)];
    const std::int64_t message = frames_.frame(s.lane, s.sent).message;
    return std::max(window, request_arrival(s, static_cast<std::size_t>(message)));
  }
  // The NIC's round robin: of those that may send when the link is free the next in turn, else whoever may
  // first.
  Sender* next() {
    Sender* best = nullptr;
    Time best_at = Time::never();
    for (std::size_t k = 0; k < senders_.size(); ++k) {
      Sender& s = senders_[(turn_ + k) % senders_.size()];
      if (s.done()) continue;
      const Time at = std::max(eligible(s), data_.first_link_free());
      if (at < best_at) {
        best_at = at;
        best = &s;
      }
    }
    if (best != nullptr) turn_ = static_cast<std::size_t>(best - senders_.data()) + 1;
    return best;
  }
  Time send(Sender& s) {
    const DataFrame frame = frames_.frame(s.lane, s.sent);
    const Time arrival = data_.send(eligible(s), frame.length);
    if (shape_.bdp_cap != 0)
      s.acked[static_cast<std::size_t>(s.sent % shape_.bdp_cap)] = control_.send(arrival, ack_);
    if (frame.last) s.message_at.push_back(arrival);
    ++s.sent;
    return arrival;
  }

  // After a frame between equal ones: goes on to the end of their row when the steady state is reached.
  void skip(Sender& s) {
    const std::int64_t left = frames_.middles_after(s.lane, s.sent - 1);
    if (left < 0) return steady_.restart();
    values_ = data_.free();
    if (shape_.bdp_cap != 0) values_.insert(values_.end(), control_.free().begin(), control_.free().end());
    steady_.observe(values_);
    if (left == 0 || !steady_.holds()) return;
    data_.advance(steady_, 0, left);
    if (shape_.bdp_cap != 0) control_.advance(steady_, data_.free().size(), left);
    if (shape_.bdp_cap != 0) {  // the window's ring: the same ACKs, later, each at its new frame's place
      const std::int64_t cap = shape_.bdp_cap;
      std::vector<Time> moved(s.acked.size());
      for (std::int64_t i = s.sent - cap; i < s.sent; ++i)
        moved[static_cast<std::size_t>((i + left) % cap)] =
            s.acked[static_cast<std::size_t>(i % cap)] + left * steady_.step(0);
      s.acked = std::move(moved);
    }
    s.sent += left;
    steady_.restart();
  }

  FlowShape shape_;
  FlowFrames frames_;
  Bytes ack_, request_;
  Pipe data_, control_, requests_;
  SteadyState steady_;
  std::vector<Time> values_;
  std::vector<Sender> senders_;
  std::size_t turn_ = 0;
};

}  // namespace

Duration fct_alone(const FlowShape& shape, const Path& path, const Path& back) {
  return LoneFlow(shape, path, back).run();
}

}  // namespace rocelab
