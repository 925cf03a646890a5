// BFC (backpressure flow control): what frames and pauses say about queues. Source: Goyal et al.,
// "Backpressure Flow Control", NSDI 2022 (arXiv 1909.09923). Each data frame names the queue that it has left
// at the upstream end of the link on which it is; a pause names all queues there that may not send. On the
// wire: base/wire/shim_bfc.h, base/wire/bfc_pause.h. The switch's law: ovs_patches/switch_model/bfc_port.h.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/packet.h"

namespace rocelab {

// A set of queues of one end of a link.
class BfcQueues {
 public:
  static constexpr std::size_t kMost = 256;  // queues are numbered from 0
  static constexpr std::size_t kWords = kMost / 64;

  bool has(std::size_t queue) const { return (words_[queue / 64] >> (queue % 64) & 1) != 0; }
  void set(std::size_t queue, bool in) {
    const std::uint64_t bit = std::uint64_t{1} << (queue % 64);
    words_[queue / 64] = in ? words_[queue / 64] | bit : words_[queue / 64] & ~bit;
  }
  std::size_t count() const {
    std::size_t queues = 0;
    for (const std::uint64_t word : words_) queues += static_cast<std::size_t>(std::popcount(word));
    return queues;
  }
  // Queues 64 * n to 64 * n + 63, the lowest in the lowest bit.
  std::uint64_t word(std::size_t n) const { return words_[n]; }
  void set_word(std::size_t n, std::uint64_t bits) { words_[n] = bits; }
  friend bool operator==(const BfcQueues&, const BfcQueues&) = default;

 private:
  std::array<std::uint64_t, kWords> words_{};
};

// The queue of a NIC that a queue pair's data are in: queue pairs whose numbers differ by a multiple of
// kMost share one, and are paused together.
constexpr std::uint8_t bfc_queue_of(Qpn qpn) {
  return static_cast<std::uint8_t>(qpn.value % BfcQueues::kMost);
}

// The queue that a data frame says that it has left.
inline void put_bfc_queue(Packet& packet, std::uint8_t queue) {
  packet.roce.has_bfc = true;
  packet.roce.bfc_queue = queue;
}

}  // namespace rocelab
