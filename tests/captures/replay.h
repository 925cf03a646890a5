// Replay: one Nic in the place of one end of a captured exchange. The other end's frames that arrived come to
// it as the bytes that they are, at their captured times; its program posts what the sidecar says. It goes
// through PacketEdge, as in a program's process. A port that is always free: packets leave when they can.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "irn_provider/live/packet_edge.h"
#include "irn_provider/nic/nic.h"
#include "tests/captures/capture.h"

namespace rocelab::captures {

struct Sent {
  Time at;
  FrameAddress address;
  RoceHeaders roce;
  test::ByteVector payload;
};

// Memory that a Nic may use: its address stands to a multiple of 8 as `va` does, because atomics ask for it.
class Block {
 public:
  explicit Block(std::size_t length, std::uint64_t va = 0)
      : words_(length / 8 + 2), begin_(va % 8), length_(length) {}
  std::byte* data() { return reinterpret_cast<std::byte*>(words_.data()) + begin_; }
  std::span<std::byte> bytes() { return {data(), length_}; }

 private:
  std::vector<std::uint64_t> words_;
  std::size_t begin_, length_;
};

class Replay {
 public:
  Replay(const Sidecar& sidecar, const std::vector<Frame>& frames, End ours);

  void run();

  // --- what came of it
  const std::vector<Sent>& sent() const { return sent_; }
  const std::vector<Cqe>& completions(bool of_receives) const {
    return of_receives ? receive_cqes_ : send_cqes_;
  }
  bool ended() const { return ended_; }  // no timer is left
  // The memory of a WQE, or of a region.
  std::span<const std::byte> memory_of(bool receive, std::size_t wqe);
  std::span<const std::byte> memory_of_region(std::size_t region) { return regions_[region].bytes(); }

 private:
  struct Buffer {
    std::uint64_t addr = 0;  // as in an SGE
    std::uint32_t length = 0;
    RKey lkey;
    const std::byte* bytes = nullptr;
  };
  void set_up_regions();
  void set_up_queue_pair();
  void set_up_buffers();
  Buffer buffer_at(std::uint64_t va, std::uint32_t length);
  Buffer buffer_of_its_own(std::uint32_t length);
  void post(int frame);  // all that had been posted by then
  void post_send(std::size_t place);
  void post_receive(std::size_t place);
  void deliver(const Frame& frame);
  void run_timers(Time limit);
  void drain();
  void exchange_keys(RoceHeaders& roce) const;

  const Sidecar& sidecar_;
  const std::vector<Frame>& frames_;
  const End ours_;
  const EndSpec& mine_;
  const EndSpec& peer_;
  HostEntry host_;
  PacketPool pool_;
  ProcessMemory memory_;
  NullTrace trace_;
  std::optional<Nic> nic_;
  PacketEdge edge_;
  Time now_;
  Pdn pd_;
  Cqn send_cq_, receive_cq_;
  Ahn ah_;
  std::vector<Block> regions_, own_blocks_;
  std::vector<RKey> region_keys_;
  std::vector<Buffer> send_buffers_, receive_buffers_;
  std::size_t sends_posted_ = 0, receives_posted_ = 0;
  std::vector<Sent> sent_;
  std::vector<Cqe> send_cqes_, receive_cqes_;
  bool ended_ = false;
};

}  // namespace rocelab::captures
