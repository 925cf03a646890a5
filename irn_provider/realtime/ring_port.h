// RingPort: frames between the processes of one host, over the rings that they share (vf_rings.h). No system
// call per frame; one that wakes a receiver that sleeps. Frames have no ICRC: their bytes do not leave the
// machine. What comes is as untrusted as what a wire brings: headers are copied before they are looked at,
// and a payload is read where it lies, once, when it is placed.
//
// A receiver that takes nothing for kPatience, and one that has died, loses what is sent to it, as on a wire.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/units.h"
#include "irn_provider/realtime/frame_port.h"
#include "irn_provider/realtime/interface_share.h"

namespace rocelab::direct {

class RingPort final : public FramePort {
 public:
  // `share` outlives it. `longest`: bytes of a frame.
  RingPort(InterfaceShare& share, std::uint32_t longest);

  Icrc icrc() const override { return Icrc::kNone; }
  std::span<const Arrival> receive() override;
  void release() override;
  int fd() const override { return share_.fd(); }
  bool before_sleep() override;
  void after_sleep(bool readable) override;
  void before_poll() override;
  bool waits() const override { return bell().pending.load(std::memory_order_relaxed) != 0; }
  Slot place(const Flow& flow, std::size_t length, Kind kind) override;
  void fill() override;
  bool flush() override;
  bool stuck() const override { return !waiting_.empty(); }
  std::uint64_t lost() override { return lost_ + malformed(); }
  std::uint64_t malformed() const;

  static constexpr Duration kPatience = 500_ms;
  static constexpr Duration kTryMemoryAgain = 10_ms;  // meanwhile it is as if the peer were not there

 private:
  using Bell = VfRings::Bell;
  struct Peer {
    FrameProducer to;
    FrameConsumer from;
    bool has_to = false, has_from = false;
    std::int64_t try_again_ns = 0;  // there was no memory for a ring to it
    bool gave_up = false;           // it took nothing for kPatience, and has taken nothing since
  };
  struct Waiting {  // a frame for which there was no room
    std::uint32_t vf;
    std::vector<std::byte> bytes;
  };

  FrameProducer* producer(std::uint32_t vf);  // null: nobody is there
  FrameConsumer& consumer(std::uint32_t vf);
  bool put(std::uint32_t vf, std::span<const std::byte> frame);  // false: no room
  void publish(std::uint32_t vf);
  Bell& bell() const { return share_.rings().bell(share_.vf()); }

  InterfaceShare& share_;
  std::array<Peer, kMaxVfsPerHost> peers_;

  // --- receiving
  const std::uint32_t longest_;
  std::unique_ptr<std::byte[]> copies_;  // of headers, and datagrams' payload
  std::array<Arrival, kReceiveBatch> arrivals_;
  std::uint32_t unreleased_ = 0;   // bit per producer
  std::atomic<bool> rung_{false};  // fd() was readable

  // --- sending
  std::vector<std::byte> scratch_;  // a frame that does not go straight into one ring
  std::uint32_t placed_vfs_ = 0;    // whom it is for: bit per VF
  bool placed_in_ring_ = false;
  std::size_t placed_length_ = 0;
  std::uint32_t unpublished_ = 0;  // bit per consumer
  std::vector<Waiting> waiting_;
  std::int64_t waits_since_ns_ = 0;
  std::uint64_t lost_ = 0;
};

}  // namespace rocelab::direct
