#include "verbs_app/flows/transfer_script.h"

#include <algorithm>

#include "verbs_app/flows/alarms.h"

namespace rocelab::app {
namespace {

constexpr int kSignalsPerQueue = 4;

// wr_id: slot (20 bits), lane (12), ordinal of the message in its lane (32).
constexpr int kOrdinalBits = 32, kLaneBits = 12;

std::uint64_t ordinal_of(std::uint64_t wr_id) { return wr_id & 0xffffffff; }

}  // namespace

std::size_t TransferScript::lane_of(std::uint64_t wr_id) {
  return (wr_id >> kOrdinalBits) & ((1u << kLaneBits) - 1);
}

// Message m of the flow is message m / lanes of lane m % lanes.
TransferScript::TransferScript(const Flow& flow, bool is_source, std::uint32_t slot,
                               const TransferOptions& options)
    : flow_(flow), is_source_(is_source), slot_(slot), options_(options), lanes_(flow.lanes()) {
  for (std::size_t i = 0; i < lanes_.size(); ++i)
    lanes_[i].messages = (flow_.requests() - i + lanes_.size() - 1) / lanes_.size();
}

// Start PSNs differ by flow, lane and direction; near the top often enough that wrapping is a daily affair.
std::uint32_t TransferScript::first_psn(std::size_t lane) const {
  const std::uint32_t x = (flow_.id * 2654435761u) ^ (static_cast<std::uint32_t>(lane) * 40503u) ^
                          (is_source_ ? 0u : 0x5a5a5a5au);
  return (x >> 8) & 0xffffff;
}

int TransferScript::cq_entries(std::size_t lanes, const TransferOptions& options) {
  return static_cast<int>(lanes) * std::max(options.depth, options.recv_depth);
}

std::uint64_t TransferScript::wanted(const Lane& lane) const {
  if (is_requester() || flow_.op == Op::kSend || flow_.numbered()) return lane.messages;
  return flow_.op == Op::kWrite ? 1 : 0;
}

LaneDepths TransferScript::depths(std::size_t index) const {
  const std::uint64_t all = wanted(lanes_[index]);
  const auto at_most = [all](int depth) {
    return static_cast<int>(std::min<std::uint64_t>(static_cast<std::uint64_t>(depth), all));
  };
  return is_requester() ? LaneDepths{at_most(options_.depth), 1}
                        : LaneDepths{1, at_most(options_.recv_depth)};
}

LaneDepths TransferScript::shared_depths() const {
  return is_requester() ? LaneDepths{options_.depth, 1} : LaneDepths{1, options_.recv_depth};
}

bool TransferScript::has_room(const Lane& lane) const {
  return lane.posted != wanted(lane) && lane.posted - lane.done < static_cast<std::uint64_t>(depth());
}

std::uint64_t TransferScript::slot_bytes() const {
  return flow_.service == Service::kUd ? kGrhBytes + flow_.datagram : flow_.message_size;
}

std::uint64_t TransferScript::receive_slot(std::size_t lane, std::uint64_t ordinal) const {
  return (ordinal % static_cast<std::uint64_t>(options_.recv_depth) * lanes_.size() + lane) * slot_bytes();
}

std::uint64_t TransferScript::receive_offset(std::uint64_t wr_id) const {
  const std::size_t lane = lane_of(wr_id);
  const std::uint64_t ordinal = ordinal_of(wr_id);
  if (!has_ring()) return flow_.part(ordinal * lanes_.size() + lane).offset;
  return receive_slot(lane, ordinal) + (flow_.service == Service::kUd ? kGrhBytes : 0);
}

std::uint64_t TransferScript::buffer_bytes() const {
  if (!has_ring()) return flow_.size;
  const auto depth = static_cast<std::uint64_t>(options_.recv_depth);
  return std::min(depth, wanted(lanes_[0])) * lanes_.size() * slot_bytes();
}

std::int64_t TransferScript::end_ns() const {
  const std::int64_t stop = flow_.has_stop() ? flow_.stop_ns() : kNever;
  if (is_source_) return stop;
  const std::int64_t last =
      flow_.reliable() ? stop : std::max(flow_.due_ns(flow_.messages() - 1), arrivals_.last_ns);
  const std::int64_t from = std::min(stop, last);
  return from == kNever ? kNever : from + flow_.settle_ns;
}

std::int64_t TransferScript::next_alarm_ns() const {
  std::int64_t next = end_ns();
  for (std::size_t i = 0; flow_.is_stream() && is_requester() && i < lanes_.size(); ++i)
    if (has_room(lanes_[i])) next = std::min(next, flow_.due_ns(flow_.part(number(i)).message));
  return next;
}

std::uint64_t TransferScript::done() const {
  std::uint64_t done = 0;
  for (const Lane& lane : lanes_) done += lane.done;
  return done;
}

std::optional<WorkRequest> TransferScript::next(std::size_t index, std::int64_t now_ns) {
  Lane& lane = lanes_[index];
  if (!has_room(lane)) return std::nullopt;
  const std::uint64_t request = number(index);
  const Part part = flow_.part(request);
  if (flow_.is_stream() && is_requester() && flow_.due_ns(part.message) > now_ns) return std::nullopt;
  WorkRequest wr;
  wr.wr_id = (std::uint64_t{slot_} << (kOrdinalBits + kLaneBits)) | (std::uint64_t{index} << kOrdinalBits) |
             lane.posted;
  wr.offset = part.offset;
  if (is_requester() || flow_.op == Op::kSend) wr.length = part.length;
  if (has_ring()) {
    wr.offset = receive_slot(index, lane.posted);
    wr.length = static_cast<std::uint32_t>(slot_bytes());
  }
  const bool last = ++lane.posted == lane.messages;
  // Over UC and UD each says that it has left.
  const auto interval =
      static_cast<std::uint64_t>(flow_.reliable() ? std::max(1, options_.depth / kSignalsPerQueue) : 1);
  wr.signaled = last || lane.posted % interval == 0;
  wr.immediate = is_requester() && (flow_.numbered() || (flow_.op == Op::kWrite && last));
  wr.imm = flow_.numbered() ? static_cast<std::uint32_t>(request) : flow_.id;
  return wr;
}

bool TransferScript::on_completion(std::uint64_t wr_id) {
  Lane& lane = lanes_.at(lane_of(wr_id));
  // Send queues complete in order: the unsignaled requests before it are done too.
  lane.done = is_requester() ? ordinal_of(wr_id) + 1 : lane.done + 1;
  return std::all_of(lanes_.begin(), lanes_.end(), [this](const Lane& l) { return l.done == wanted(l); });
}

bool TransferScript::on_arrival(std::optional<std::uint32_t> imm, std::uint32_t bytes, std::int64_t now_ns) {
  if (!flow_.numbered()) return flow_.op != Op::kWrite || imm == flow_.id;
  if (!imm || *imm >= flow_.requests()) return false;
  const Part part = flow_.part(*imm);
  if (bytes != part.length + (flow_.service == Service::kUd ? kGrhBytes : 0)) return false;
  const std::int64_t latency_ns = now_ns - flow_.due_ns(part.message);
  ++arrivals_.messages;
  arrivals_.bytes += part.length;
  arrivals_.last_ns = now_ns;
  arrivals_.latency_sum_ns += latency_ns;
  arrivals_.latency_max_ns = std::max(arrivals_.latency_max_ns, latency_ns);
  return true;
}

}  // namespace rocelab::app
