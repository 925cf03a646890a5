// FrameRing: frames of any length, in order, from exactly one producer to exactly one consumer, in memory
// that both can write. A frame is built in place and read in place. Neither side trusts the other: positions
// and lengths are read once, and checked; what the other side does to them costs its own frames, and no
// access outside the ring. Positions only grow, and outlive both sides: a new producer goes on where the last
// one ended, a new consumer begins there. No I/O.
//
//   record | ... | record | kWrap, unused to the ring's end |  record: length (4), kHeader bytes in all;
//   frame; unused to a multiple of kAlign
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/check.h"
#include "lockstep/spsc_ring.h"

namespace rocelab::direct {

// Both sides' part: where a ring lies.
class FrameRing {
 public:
  // A frame's payload behind Ethernet, IPv4, UDP and BTH begins at a cache line.
  static constexpr std::size_t kHeader = 10, kAlign = 64;
  static constexpr std::uint32_t kWrap = 0xffffffff;

  FrameRing() = default;
  // `bytes`: a power of two, begins at a multiple of kAlign.
  FrameRing(lockstep::RingCounters* counters, std::span<std::byte> bytes)
      : counters_(counters), bytes_(bytes) {
    RL_CHECK(bytes.size() >= kAlign && (bytes.size() & (bytes.size() - 1)) == 0);
  }
  static constexpr std::size_t record_bytes(std::size_t frame) {
    return (kHeader + frame + kAlign - 1) / kAlign * kAlign;
  }
  // So that any frame goes into an empty ring, wherever that begins.
  std::size_t longest() const { return bytes_.size() / 2 - kHeader; }

 protected:
  std::atomic_ref<std::uint32_t> length_at(std::uint64_t position) const {
    return std::atomic_ref(*reinterpret_cast<std::uint32_t*>(&bytes_[index(position)]));
  }
  std::size_t index(std::uint64_t position) const { return position & (bytes_.size() - 1); }
  std::size_t to_end(std::uint64_t position) const { return bytes_.size() - index(position); }
  std::span<std::byte> frame_at(std::uint64_t position, std::size_t length) const {
    return bytes_.subspan(index(position) + kHeader, length);
  }

  lockstep::RingCounters* counters_ = nullptr;
  std::span<std::byte> bytes_;
};

class FrameProducer : public FrameRing {
 public:
  FrameProducer() = default;
  FrameProducer(lockstep::RingCounters* counters, std::span<std::byte> bytes) : FrameRing(counters, bytes) {
    tail_ = counters->tail.load(std::memory_order_relaxed) / kAlign * kAlign;  // anybody may have written it
    published_ = tail_;
    head_ = counters->head.load(std::memory_order_acquire);
  }
  // Room for a frame of `length` bytes (at most longest()); empty: none now. The next call takes it back.
  std::span<std::byte> reserve(std::size_t length) {
    const std::size_t need = record_bytes(length);
    const std::size_t wrap = need > to_end(tail_) ? to_end(tail_) : 0;
    if (!fits(wrap + need)) {
      head_ = counters_->head.load(std::memory_order_acquire);
      if (!fits(wrap + need)) return {};
    }
    at_ = tail_ + wrap;
    length_ = length;
    return frame_at(at_, length);
  }
  // The frame that was reserved is there: the consumer sees it after publish().
  void commit() {
    if (at_ != tail_) length_at(tail_).store(kWrap, std::memory_order_relaxed);
    length_at(at_).store(static_cast<std::uint32_t>(length_), std::memory_order_relaxed);
    tail_ = at_ + record_bytes(length_);
  }
  void publish() { counters_->tail.store(published_ = tail_, std::memory_order_release); }
  std::uint64_t unpublished() const { return tail_ - published_; }  // bytes

 private:
  // A head that the consumer cannot have makes the ring full, until it has a good one.
  bool fits(std::size_t bytes) const {
    const std::uint64_t used = tail_ - head_;
    return used <= bytes_.size() && bytes <= bytes_.size() - used;
  }
  std::uint64_t tail_ = 0, published_ = 0, head_ = 0;  // own positions, and a stale copy of the other side's
  std::uint64_t at_ = 0;
  std::size_t length_ = 0;
};

class FrameConsumer : public FrameRing {
 public:
  FrameConsumer() = default;
  // What is in the ring was for the consumer before.
  FrameConsumer(lockstep::RingCounters* counters, std::span<std::byte> bytes) : FrameRing(counters, bytes) {
    skip();
  }
  // The next frame; it stays until release(). Null: none.
  std::optional<std::span<std::byte>> next() {
    for (int wraps = 0; wraps < 2; ++wraps) {
      if (head_ == tail_ && !look()) return std::nullopt;
      const std::uint32_t length = length_at(head_).load(std::memory_order_relaxed);
      if (length == kWrap && tail_ - head_ > to_end(head_)) {
        head_ += to_end(head_);
        continue;
      }
      if (length > longest() || record_bytes(length) > std::min<std::uint64_t>(tail_ - head_, to_end(head_)))
        break;
      const std::span<std::byte> frame = frame_at(head_, length);
      head_ += record_bytes(length);
      return frame;
    }
    ++malformed_;
    skip();
    return std::nullopt;
  }
  void release() { counters_->head.store(head_, std::memory_order_release); }
  std::uint64_t malformed() const { return malformed_; }  // how often a ring's contents had to be thrown away

 private:
  bool look() {
    tail_ = counters_->tail.load(std::memory_order_acquire);
    if (tail_ - head_ <= bytes_.size() && tail_ % kAlign == 0) return tail_ != head_;
    ++malformed_;
    skip();
    return false;
  }
  // Goes on behind all that the producer says there is.
  void skip() {
    head_ = tail_ = counters_->tail.load(std::memory_order_acquire) / kAlign * kAlign;
    release();
  }
  std::uint64_t head_ = 0, tail_ = 0;  // own position, and a stale copy of the other side's
  std::uint64_t malformed_ = 0;
};

}  // namespace rocelab::direct
