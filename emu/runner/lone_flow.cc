// How long a flow takes on an idle network, frame by frame, and past the long middle of a message in one
// step.
#include <algorithm>
#include <utility>
#include <vector>

#include "base/wire/opcode.h"
#include "emu/runner/flow_frames.h"
#include "emu/runner/formula.h"

namespace rocelab {
namespace {

// READ requests that a queue pair keeps outstanding (max_rd_atomic of the traffic program).
constexpr std::size_t kOutstandingReads = 16;

// Recognises that each frame of a row of equal ones comes a fixed time after the one before, at every link,
// and will go on to: nobody downstream is faster than who feeds it. With a window all increments are equal,
// since ACKs feed the first link; and they were for longer than the window reaches back, or it is open.
class SteadyState {
 public:
  SteadyState(std::size_t values, std::size_t window) : last_(values), step_(values), window_(window) {}
  void restart() { seen_ = 0; }
  bool holds() const { return seen_ > 0 && equal_ >= 2 && feeds(); }
  bool outlasts_window() const { return equal_ >= window_ + 1; }
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

// Recognises that a window which makes the sender wait has brought everything back to where it was, a fixed
// time later: with a row of equal frames each round of a window's frames is then like the one before.
class Rounds {
 public:
  explicit Rounds(std::size_t window) : window_(static_cast<std::int64_t>(window)) {}
  void restart() { length_ = 0; }
  // The ACK of a frame and that of the frame a window before it.
  void observe_ack(Time ack, Time before) {
    same_ = ack - before == period_ ? same_ + 1 : 1;
    period_ = ack - before;
  }
  // After each frame, by what `values` the links have come to. True: a round has ended as it began.
  bool observe(const std::vector<Time>& values) {
    if (length_++ == 0) begin_ = values;
    if (length_ <= window_) return false;
    length_ = 1;
    bool same = same_ >= window_;
    for (std::size_t i = 0; i < values.size(); ++i) same = same && values[i] - begin_[i] == period_;
    begin_ = values;
    return same;
  }
  Duration period() const { return period_; }

 private:
  std::vector<Time> begin_;
  std::int64_t window_, length_ = 0, same_ = 0;
  Duration period_;
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
  void advance(Duration by) {
    for (Time& free : free_) free = free + by;
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
        ack_(ack_frame(shape.mode) + shape.shim),
        request_(frame_bytes(shape.mode, Operation::kReadRequest, 0) + shape.shim),
        data_(data),
        control_(control),
        requests_(control),
        steady_(data.size() + (shape.bdp_cap == 0 ? 0 : control.size()), shape.bdp_cap),
        rounds_(shape.bdp_cap) {
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
    if (shape_.bdp_cap != 0) {
      Time& acked = s.acked[static_cast<std::size_t>(s.sent % shape_.bdp_cap)];
      const Time before = std::exchange(acked, control_.send(arrival, ack_));
      rounds_.observe_ack(acked, before);
    }
    if (frame.last) s.message_at.push_back(arrival);
    ++s.sent;
    return arrival;
  }

  // At the steady pace every ACK comes before the frame that needs it could leave: for those whose ACKs are
  // known it is looked up, and if it holds for the last of them, then for all that follow.
  bool window_is_open(const Sender& s) const {
    const std::int64_t cap = shape_.bdp_cap;
    for (std::int64_t i = s.sent - 1; i >= std::max<std::int64_t>(0, s.sent - cap); --i) {
      const Time leaves = data_.first_link_free() + (i + cap - s.sent) * steady_.step(0);
      if (s.acked[static_cast<std::size_t>(i % cap)] > leaves) return false;
    }
    return true;
  }

  // After a frame between equal ones: goes on towards the end of their row when what follows is known.
  void skip(Sender& s) {
    const std::int64_t left = frames_.middles_after(s.lane, s.sent - 1);
    if (left < 0) return restart();
    const bool window = shape_.bdp_cap != 0;
    values_ = data_.free();
    if (window) values_.insert(values_.end(), control_.free().begin(), control_.free().end());
    steady_.observe(values_);
    const bool round_is_over = window && rounds_.observe(values_);
    if (left == 0) return;
    if (steady_.holds() && (!window || steady_.outlasts_window() || window_is_open(s)))
      skip_steadily(s, left);
    else if (round_is_over && left >= shape_.bdp_cap)
      skip_rounds(s, left / shape_.bdp_cap);
  }
  void skip_steadily(Sender& s, std::int64_t frames) {
    data_.advance(steady_, 0, frames);
    if (shape_.bdp_cap != 0) {
      control_.advance(steady_, data_.free().size(), frames);
      // ACKs of the frames that were passed over, as far as the window reaches back.
      const std::int64_t cap = shape_.bdp_cap, last = s.sent - 1, end = s.sent + frames;
      const Time acked = s.acked[static_cast<std::size_t>(last % cap)];
      for (std::int64_t i = std::max(s.sent, end - cap); i < end; ++i)
        s.acked[static_cast<std::size_t>(i % cap)] = acked + (i - last) * steady_.step(0);
    }
    s.sent += frames;
    restart();
  }
  void skip_rounds(Sender& s, std::int64_t rounds) {
    const Duration by = rounds_.period() * rounds;
    data_.advance(by);
    control_.advance(by);
    for (Time& acked : s.acked) acked = acked + by;
    s.sent += rounds * shape_.bdp_cap;
    restart();
  }
  void restart() {
    steady_.restart();
    rounds_.restart();
  }

  FlowShape shape_;
  FlowFrames frames_;
  Bytes ack_, request_;
  Pipe data_, control_, requests_;
  SteadyState steady_;
  Rounds rounds_;
  std::vector<Time> values_;
  std::vector<Sender> senders_;
  std::size_t turn_ = 0;
};

}  // namespace

Duration fct_alone(const FlowShape& shape, const Path& path, const Path& back) {
  return LoneFlow(shape, path, back).run();
}

}  // namespace rocelab
