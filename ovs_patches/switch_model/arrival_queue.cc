#include "ovs_patches/switch_model/arrival_queue.h"

#include <algorithm>
#include <utility>

namespace rocelab {

void ArrivalQueue::push(PortId in, std::span<const PortId> outs, PacketRef packet, Time due) {
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  Arrival& arrival = slots_[slot];
  arrival.packet = std::move(packet);
  arrival.in = in;
  arrival.out_count = static_cast<std::uint16_t>(outs.size());
  if (outs.size() == 1) arrival.first_out = outs[0];
  if (outs.size() > 1) arrival.many.assign(outs.begin(), outs.end());
  const Key key{due, std::uint64_t{in.value} << 48 | deliveries_++, slot};
  // The usual case costs nothing later: the frame is due after all others.
  if (sorted_ == keys_.size() && (head_ == sorted_ || keys_.back() < key)) ++sorted_;
  keys_.push_back(key);
  next_due_ = std::min(next_due_, due);
}

void ArrivalQueue::sort_new() {
  const auto begin = keys_.begin() + static_cast<std::ptrdiff_t>(head_);
  const auto middle = keys_.begin() + static_cast<std::ptrdiff_t>(sorted_);
  std::sort(middle, keys_.end());
  if (begin != middle && *middle < *(middle - 1)) std::inplace_merge(begin, middle, keys_.end());
  sorted_ = keys_.size();
}

ArrivalQueue::Arrival& ArrivalQueue::pop() {
  if (sorted_ != keys_.size()) sort_new();
  const std::uint32_t slot = keys_[head_++].slot;
  free_slots_.push_back(slot);  // its contents stay until the next push()
  if (head_ == keys_.size()) {
    keys_.clear();
    head_ = sorted_ = 0;
    next_due_ = Time::never();
    return slots_[slot];
  }
  next_due_ = keys_[head_].due;
  if (head_ >= 4096 && head_ > keys_.size() / 2) {  // forget what was handed out, at constant cost per frame
    keys_.erase(keys_.begin(), keys_.begin() + static_cast<std::ptrdiff_t>(head_));
    sorted_ -= head_;
    head_ = 0;
  }
  return slots_[slot];
}

}  // namespace rocelab
