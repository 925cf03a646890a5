#include "verbs_app/flows/transfer_script.h"

#include <algorithm>

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
    lanes_[i].messages = (flow_.messages() - i + lanes_.size() - 1) / lanes_.size();
}

// Start PSNs differ by flow, lane and direction; near the top often enough that wrapping is a daily affair.
std::uint32_t TransferScript::first_psn(std::size_t lane) const {
  const std::uint32_t x = (flow_.id * 2654435761u) ^ (static_cast<std::uint32_t>(lane) * 40503u) ^
                          (is_source_ ? 0u : 0x5a5a5a5au);
  return (x >> 8) & 0xffffff;
}

int TransferScript::cq_entries(const Flow& flow, const TransferOptions& options) {
  return static_cast<int>(flow.lanes()) * std::max(options.depth, options.recv_depth);
}

std::uint64_t TransferScript::wanted(const Lane& lane) const {
  if (is_requester() || flow_.op == Op::kSend) return lane.messages;
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

std::optional<WorkRequest> TransferScript::next(std::size_t index) {
  Lane& lane = lanes_[index];
  const auto depth = static_cast<std::uint64_t>(is_requester() ? options_.depth : options_.recv_depth);
  if (lane.posted == wanted(lane) || lane.posted - lane.done >= depth) return std::nullopt;
  WorkRequest wr;
  wr.wr_id = (std::uint64_t{slot_} << (kOrdinalBits + kLaneBits)) | (std::uint64_t{index} << kOrdinalBits) |
             lane.posted;
  wr.offset = (lane.posted * lanes_.size() + index) * flow_.message_size;
  if (is_requester() || flow_.op == Op::kSend)
    wr.length = static_cast<std::uint32_t>(std::min(flow_.message_size, flow_.size - wr.offset));
  const bool last = ++lane.posted == lane.messages;
  const auto interval = static_cast<std::uint64_t>(std::max(1, options_.depth / kSignalsPerQueue));
  wr.signaled = last || lane.posted % interval == 0;
  wr.immediate = is_requester() && flow_.op == Op::kWrite && last;
  return wr;
}

bool TransferScript::on_completion(std::uint64_t wr_id) {
  Lane& lane = lanes_.at(lane_of(wr_id));
  // RC completes in order: at a requester the unsignaled requests before it are done too.
  lane.done = is_requester() ? ordinal_of(wr_id) + 1 : lane.done + 1;
  return std::all_of(lanes_.begin(), lanes_.end(), [this](const Lane& l) { return l.done == wanted(l); });
}

}  // namespace rocelab::app
