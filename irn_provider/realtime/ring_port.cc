#include "irn_provider/realtime/ring_port.h"

#include <time.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/wire/cm/mad.h"
#include "base/wire/multicast.h"

namespace rocelab::direct {
namespace {

// Ethernet to the last extension header: what of a frame is copied before it is read.
constexpr std::size_t kHeaderCopy = 160;
// Unpublished bytes: the receiver works while more are put in, and does not go to sleep in between.
constexpr std::uint64_t kPublishEvery = 8 << 10;

std::int64_t monotonic_ns() {
  timespec ts{};
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return std::int64_t{ts.tv_sec} * 1'000'000'000 + ts.tv_nsec;
}

constexpr std::uint32_t bit(std::uint32_t vf) { return 1u << vf; }

template <class F>
void each_bit(std::uint32_t bits, F&& f) {
  for (; bits != 0; bits &= bits - 1) f(static_cast<std::uint32_t>(std::countr_zero(bits)));
}

}  // namespace

RingPort::RingPort(InterfaceShare& share, std::uint32_t longest)
    : share_(share),
      longest_((longest + 63) / 64 * 64),
      copies_(std::make_unique<std::byte[]>(std::size_t{longest_} * kReceiveBatch)),
      scratch_(longest_) {
  // What the rings hold is for the VF's last process.
  bell().pending.store(0);
  bell().sleeps.store(0);
  for (std::uint32_t vf = 0; vf < kMaxVfsPerHost; ++vf) consumer(vf);
}

FrameConsumer& RingPort::consumer(std::uint32_t vf) {
  Peer& peer = peers_[vf];
  if (!std::exchange(peer.has_from, true))
    peer.from =
        FrameConsumer(&share_.rings().counters(vf, share_.vf()), share_.rings().bytes(vf, share_.vf()));
  return peer.from;
}

FrameProducer* RingPort::producer(std::uint32_t vf) {
  if (vf >= kMaxVfsPerHost || !share_.in_use(vf)) return nullptr;
  Peer& peer = peers_[vf];
  if (!peer.has_to && monotonic_ns() >= peer.try_again_ns) {
    peer.has_to = share_.rings().take_memory(share_.vf(), vf);
    if (peer.has_to)
      peer.to =
          FrameProducer(&share_.rings().counters(share_.vf(), vf), share_.rings().bytes(share_.vf(), vf));
    else
      peer.try_again_ns = monotonic_ns() + kTryMemoryAgain.ps() / 1'000;
  }
  return peer.has_to ? &peer.to : nullptr;
}

// --- receiving

std::span<const FramePort::Arrival> RingPort::receive() {
  if (rung_.load(std::memory_order_relaxed) && rung_.exchange(false)) share_.drain();
  if (bell().pending.load(std::memory_order_relaxed) == 0) return {};
  std::uint32_t pending = bell().pending.exchange(0), n = 0;
  while (pending != 0 && n < kReceiveBatch) {
    const auto vf = static_cast<std::uint32_t>(std::countr_zero(pending));
    unreleased_ |= bit(vf);
    for (; n < kReceiveBatch; ++n) {
      const auto frame = consumer(vf).next();
      if (!frame) {
        pending &= ~bit(vf);
        break;
      }
      const std::span<std::byte> copy(&copies_[std::size_t{n} * longest_], longest_);
      const std::size_t length = std::min<std::size_t>(frame->size(), longest_);
      std::memcpy(copy.data(), frame->data(), std::min(length, kHeaderCopy));
      arrivals_[n] = {copy.first(length), 0, frame->first(length)};
    }
  }
  if (pending != 0) bell().pending.fetch_or(pending);  // the rest is for the next call
  return std::span(arrivals_).first(n);
}

void RingPort::release() {
  each_bit(std::exchange(unreleased_, 0), [&](std::uint32_t vf) { peers_[vf].from.release(); });
}

std::uint64_t RingPort::malformed() const {
  std::uint64_t all = 0;
  for (const Peer& peer : peers_) all += peer.from.malformed();
  return all;
}

// A producer puts its frame into the ring, says so in `pending`, then looks at `sleeps`; here it is the other
// way round: one of the two sees the other's. All of it is sequentially consistent.
bool RingPort::before_sleep() {
  bell().sleeps.store(1);
  return bell().pending.load() == 0;
}

// Other threads may sleep on fd(), too: it stays readable until one of them receives.
void RingPort::after_sleep(bool readable) {
  if (readable) rung_.store(true, std::memory_order_relaxed);
}

void RingPort::before_poll() {
  if (bell().sleeps.load(std::memory_order_relaxed) != 0) bell().sleeps.store(0, std::memory_order_relaxed);
}

// --- sending

FramePort::Slot RingPort::place(const Flow& flow, std::size_t length, Kind) {
  placed_length_ = length;
  placed_vfs_ = 0;
  placed_in_ring_ = false;
  if (flow.dest == kGsiQpn.value || flow.dest == kMulticastQpn.value) {
    // To all, as filters on a wire would let it.
    placed_vfs_ = share_.vfs_in_use() | bit(share_.vf());
  } else if (flow.dest >= kFirstQpn && vf_of_qpn(flow.dest) < peers_.size()) {
    const std::uint32_t vf = vf_of_qpn(flow.dest);
    placed_vfs_ = bit(vf);
    FrameProducer* ring = waiting_.empty() ? producer(vf) : nullptr;
    const std::span<std::byte> slot = ring != nullptr ? ring->reserve(length) : std::span<std::byte>();
    placed_in_ring_ = !slot.empty();
    if (placed_in_ring_) return {slot, 0};
  }
  return {std::span(scratch_).first(length), 0};
}

void RingPort::fill() {
  if (placed_in_ring_) {
    const auto vf = static_cast<std::uint32_t>(std::countr_zero(placed_vfs_));
    Peer& peer = peers_[vf];
    peer.to.commit();
    peer.gave_up = false;
    unpublished_ |= bit(vf);
    if (peer.to.unpublished() >= kPublishEvery) publish(vf);
    return;
  }
  const std::span<const std::byte> frame = std::span(scratch_).first(placed_length_);
  each_bit(placed_vfs_, [&](std::uint32_t vf) {
    if (put(vf, frame)) return;
    if (peers_[vf].gave_up) {
      ++lost_;
      return;
    }
    if (waiting_.empty()) waits_since_ns_ = monotonic_ns();
    waiting_.push_back({vf, {frame.begin(), frame.end()}});
  });
}

bool RingPort::put(std::uint32_t vf, std::span<const std::byte> frame) {
  FrameProducer* ring = producer(vf);
  if (ring == nullptr) {
    ++lost_;
    return true;
  }
  const std::span<std::byte> slot = ring->reserve(frame.size());
  if (slot.empty()) return false;
  std::memcpy(slot.data(), frame.data(), frame.size());
  ring->commit();
  peers_[vf].gave_up = false;
  unpublished_ |= bit(vf);
  return true;
}

void RingPort::publish(std::uint32_t vf) {
  unpublished_ &= ~bit(vf);
  peers_[vf].to.publish();
  Bell& bell = share_.rings().bell(vf);
  bell.pending.fetch_or(bit(share_.vf()));
  if (bell.sleeps.load() != 0 && bell.sleeps.exchange(0) != 0) share_.wake(vf);
}

bool RingPort::flush() {
  std::size_t sent = 0;
  while (sent < waiting_.size() && put(waiting_[sent].vf, waiting_[sent].bytes)) ++sent;
  if (sent > 0) {
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(sent));
    waits_since_ns_ = waiting_.empty() ? 0 : monotonic_ns();
  }
  each_bit(unpublished_, [&](std::uint32_t vf) { publish(vf); });
  if (waiting_.empty()) return true;
  if (monotonic_ns() - waits_since_ns_ < kPatience.ps() / 1'000) return false;
  const std::uint32_t silent = waiting_.front().vf;
  peers_[silent].gave_up = true;
  lost_ += std::erase_if(waiting_, [&](const Waiting& frame) { return frame.vf == silent; });
  waits_since_ns_ = monotonic_ns();
  return waiting_.empty();
}

}  // namespace rocelab::direct
