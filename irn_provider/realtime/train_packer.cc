#include "irn_provider/realtime/train_packer.h"

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "irn_provider/realtime/train.h"

namespace rocelab::direct {
namespace {

using Kind = FramePort::Kind;

constexpr std::uint16_t first_id(Kind kind) { return kind == Kind::kAck ? 1 : 0; }
constexpr bool may_be_filled_up(std::size_t length) {
  return length <= static_cast<std::size_t>(kMinFrameBytes.count());
}

}  // namespace

// It may be the one that the train's first frame, an acknowledgement, moves behind.
bool TrainPacker::extends(const Train& train, std::size_t payload) const {
  if (!train.open || train.frames >= kMaxTrainFrames || train.payload + payload > kMaxTrainPayload)
    return false;
  return payload <= train.segment || (kind_ == Kind::kData && train.kind == Kind::kAck && train.frames == 1);
}

std::uint16_t TrainPacker::choose(const FramePort::Flow& flow, std::size_t length, Kind kind) {
  lengths_[frames_] = static_cast<std::uint32_t>(length);
  flow_ = flow;
  kind_ = kind;
  chosen_ = trains_.size();
  if (!makes_trains_ || may_be_filled_up(length)) return first_id(kind);
  // Only the latest train of a flow: frames of a flow keep their order.
  const auto latest =
      std::find_if(trains_.rbegin(), trains_.rend(), [&](const Train& t) { return t.flow == flow; });
  if (latest == trains_.rend() || !extends(*latest, length - latest->headers)) return first_id(kind);
  chosen_ = static_cast<std::size_t>(trains_.rend() - latest) - 1;
  if (length - latest->headers > latest->segment) return 0;
  return static_cast<std::uint16_t>(first_id(latest->kind) + latest->frames);
}

void TrainPacker::add(std::span<const std::byte> frame) {
  const std::uint32_t number = frames_++;
  if (chosen_ == trains_.size()) {
    Train& train = trains_.emplace_back();
    train.flow = flow_;
    train.kind = kind_;
    train.first = train.last = number;
    train.headers = header_bytes_of(frame);
    train.segment = train.payload = frame.size() - train.headers;
    train.open = train.headers != 0 && !may_be_filled_up(frame.size());
    return;
  }
  Train& train = trains_[chosen_];
  const std::size_t payload = frame.size() - train.headers;
  if (payload > train.segment) {  // the acknowledgement moves behind it
    behind_[number] = train.first;
    train.first = number;
    train.kind = kind_;
    train.segment = payload;
    train.open = false;
  } else {
    behind_[train.last] = number;
    train.last = number;
    train.open = payload == train.segment;
  }
  train.payload += payload;
  ++train.frames;
}

void TrainPacker::split(std::size_t from) {
  makes_trains_ = false;
  const std::vector<Train> before =
      std::exchange(trains_, {trains_.begin(), trains_.begin() + static_cast<std::ptrdiff_t>(from)});
  for (std::size_t i = from; i < before.size(); ++i)
    each_frame(before[i], [&](std::uint32_t frame) {
      Train& single = trains_.emplace_back();
      single.first = single.last = frame;
    });
}

void TrainPacker::clear() {
  trains_.clear();
  frames_ = 0;
}

}  // namespace rocelab::direct
