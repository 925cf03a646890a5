#include "emu/runner/formula.h"

#include <algorithm>
#include <vector>

#include "base/wire/frame.h"
#include "base/wire/opcode.h"

namespace rocelab {
namespace {

// READ requests that a queue pair keeps outstanding (max_rd_atomic of the traffic program).
constexpr std::size_t kOutstandingReads = 16;

TransportClass transport_class(TransportMode mode) {
  return mode == TransportMode::kIrn ? TransportClass::kIrn : TransportClass::kRc;
}

Bytes frame_bytes(TransportMode mode, Operation operation, std::int64_t payload) {
  RoceHeaders headers;
  headers.opcode = make_opcode(transport_class(mode), operation);
  return Bytes::from_count(
      static_cast<std::int64_t>(frame_length(headers, static_cast<std::size_t>(payload), true)));
}

struct MessageOperations {
  Operation first, middle, last, only;
  Operation final_last, final_only;  // of a queue pair's last message: a WRITE carries an immediate there
};

MessageOperations operations_of(FlowOp op) {
  using enum Operation;
  switch (op) {
    case FlowOp::kSend:
      return {kSendFirst, kSendMiddle, kSendLast, kSendOnly, kSendLast, kSendOnly};
    case FlowOp::kWrite:
      return {kWriteFirst, kWriteMiddle, kWriteLast, kWriteOnly, kWriteLastImm, kWriteOnlyImm};
    case FlowOp::kRead:
      break;
  }
  return {kReadResponseFirst, kReadResponseMiddle, kReadResponseLast,
          kReadResponseOnly,  kReadResponseLast,   kReadResponseOnly};
}

struct DataFrame {
  Bytes length;
  std::size_t message = 0;  // of its queue pair
  bool last = false;        // of its message
};

// The data frames of one message, in order.
void add_message(const FlowShape& shape, std::int64_t bytes, std::size_t message, bool is_final,
                 std::vector<DataFrame>& frames) {
  const MessageOperations o = operations_of(shape.op);
  const std::int64_t mtu = shape.path_mtu, packets = (bytes + mtu - 1) / mtu;
  for (std::int64_t i = 0; i < packets; ++i) {
    const bool first = i == 0, last = i + 1 == packets;
    Operation operation = first ? o.first : o.middle;
    if (last) operation = first ? (is_final ? o.final_only : o.only) : (is_final ? o.final_last : o.last);
    frames.push_back(
        {frame_bytes(shape.mode, operation, last ? bytes - (packets - 1) * mtu : mtu), message, last});
  }
}

// The frames that each queue pair sends: messages go over the queue pairs in turn.
std::vector<std::vector<DataFrame>> frames_of(const FlowShape& shape) {
  const std::int64_t size = shape.size.count(),
                     whole = shape.message_size.count() > 0 ? shape.message_size.count() : size;
  const std::int64_t messages = (size + whole - 1) / whole,
                     lanes = std::min<std::int64_t>(messages, shape.qps);
  std::vector<std::vector<DataFrame>> frames(static_cast<std::size_t>(lanes));
  for (std::int64_t m = 0; m < messages; ++m)
    add_message(shape, std::min(whole, size - m * whole), static_cast<std::size_t>(m / lanes),
                m + lanes >= messages, frames[static_cast<std::size_t>(m % lanes)]);
  return frames;
}

// Store and forward over the links of a path that nobody else uses.
class Pipe {
 public:
  explicit Pipe(const Path& path) : path_(path), free_(path.size()) {}
  Time first_link_free() const { return free_.front(); }
  Time send(Time ready, Bytes frame) {
    for (std::size_t h = 0; h < path_.size(); ++h) {
      free_[h] = std::max(ready, free_[h]) + wire_time(frame, path_[h].rate);
      ready = free_[h] + path_[h].delay;
    }
    return ready;
  }

 private:
  const Path& path_;
  std::vector<Time> free_;
};

// One queue pair's sender of data frames: work requests (or, for READ, the responder's answers), in order,
// inside the window.
struct Sender {
  std::vector<DataFrame> frames;
  std::vector<Time> acked;       // arrival of the ACK of each frame sent
  std::vector<Time> message_at;  // arrival of each message's last frame
  std::vector<Time> request_at;  // READ: arrival of each message's request at the responder
  bool done() const { return acked.size() == frames.size(); }
};

class LoneFlow {
 public:
  LoneFlow(const FlowShape& shape, const Path& data, const Path& control)
      : shape_(shape),
        ack_(ack_frame(shape.mode)),
        request_(frame_bytes(shape.mode, Operation::kReadRequest, 0)),
        data_(data),
        control_(control),
        requests_(control) {
    for (std::vector<DataFrame>& frames : frames_of(shape))
      senders_.push_back({std::move(frames), {}, {}, {}});
  }

  Duration run() {
    Time end;
    while (Sender* sender = next()) end = std::max(end, send(*sender));
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
    const std::size_t i = s.acked.size();
    const Time window =
        shape_.bdp_cap == 0 || i < shape_.bdp_cap ? Time::zero() : s.acked[i - shape_.bdp_cap];
    return std::max(window, request_arrival(s, s.frames[i].message));
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
    const DataFrame& frame = s.frames[s.acked.size()];
    const Time arrival = data_.send(eligible(s), frame.length);
    s.acked.push_back(shape_.bdp_cap == 0 ? arrival : control_.send(arrival, ack_));
    if (frame.last) s.message_at.push_back(arrival);
    return arrival;
  }

  FlowShape shape_;
  Bytes ack_, request_;
  Pipe data_, control_, requests_;
  std::vector<Sender> senders_;
  std::size_t turn_ = 0;
};

}  // namespace

Bytes largest_data_frame(TransportMode mode, std::uint32_t path_mtu) {
  Bytes most;
  for (const OpcodeInfo& info : kOpcodes)
    if (info.known() && info.transport == transport_class(mode) &&
        (info.is_send() || info.is_write() || info.is_read_response()))
      most = std::max(most, frame_bytes(mode, info.operation, path_mtu));
  return most;
}

Bytes ack_frame(TransportMode mode) { return frame_bytes(mode, Operation::kAck, 0); }

std::uint64_t data_packets(const FlowShape& shape) {
  std::uint64_t packets = 0;
  for (const auto& frames : frames_of(shape)) packets += frames.size();
  return packets;
}

Bytes wire_bytes_of(const FlowShape& shape) {
  Bytes total;
  for (const auto& frames : frames_of(shape))
    for (const DataFrame& frame : frames) total += wire_bytes(frame.length);
  return total;
}

Duration fct_alone(const FlowShape& shape, const Path& path, const Path& back) {
  return LoneFlow(shape, path, back).run();
}

Duration ping_pong(TransportMode mode, Bytes size, std::uint32_t path_mtu, std::uint32_t bdp_cap,
                   const Path& path, const Path& back) {
  const FlowShape shape{mode, FlowOp::kSend, size, Bytes{}, 1, path_mtu, bdp_cap};
  return fct_alone(shape, path, back) + fct_alone(shape, back, path);
}

Duration round_trip(TransportMode mode, std::uint32_t path_mtu, const Path& path, const Path& back) {
  const Time there = Pipe(path).send(Time::zero(), frame_bytes(mode, Operation::kWriteMiddle, path_mtu));
  return Pipe(back).send(there, ack_frame(mode)) - Time::zero();
}

std::uint32_t bdp_packets(TransportMode mode, std::uint32_t path_mtu, const Path& path, const Path& back) {
  Rate slowest = path.front().rate;
  for (const Hop& hop : path) slowest = std::min(slowest, hop.rate);
  const __int128 bit_ps = static_cast<__int128>(round_trip(mode, path_mtu, path, back).ps()) * slowest.bps();
  const __int128 frame_bit_ps =
      static_cast<__int128>(frame_bytes(mode, Operation::kWriteMiddle, path_mtu).count()) * 8 *
      1'000'000'000'000;
  return static_cast<std::uint32_t>((bit_ps + frame_bit_ps - 1) / frame_bit_ps);
}

}  // namespace rocelab
