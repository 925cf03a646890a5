// Packet: one frame as the state machines see it, and PacketRef, the only way to hold one.
// NICs read the transport headers, switches the first cache line; nobody looks at payload bytes: they are a
// pointer and a length, and the pointer is null in virtual time. A packet is trivially copyable and pooled; a
// PacketRef owns one and returns it to its pool.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/hop_times.h"
#include "base/ids.h"
#include "base/slack.h"
#include "base/units.h"
#include "base/wire/roce_headers.h"
#include "base/wire/telemetry.h"

namespace rocelab {

enum class Ecn : std::uint8_t { kNotEct = 0, kEct1 = 1, kEct0 = 2, kCe = 3 };  // RFC 3168, section 5

enum class PacketKind : std::uint8_t {
  kData,     // RoCE or IRN packet with payload, or a request without payload (READ, atomic, zero-length)
  kAck,      // acknowledgements and NAKs
  kCnp,      // congestion notification packet
  kOther,    // anything else that occupies a link
  kDamaged,  // its ICRC is wrong, which a link says where there are no bytes to check: a NIC drops it
  // From here on: made by switches.
  kEscaping,            // a data frame with Escape's shim, between switches
  kEscapeAnnouncement,  // Escape: headers of a frame that waits behind a paused port (base/wire/etf.h)
  // Control frames: these plus the place of their codec in the list (base/wire/controls.h).
  kLinkLocal = 0x80,  // end at the next node
  kFeedback = 0xc0,   // routed to a flow's source, whose congestion control takes them
};
constexpr bool is_from_switches(PacketKind kind) { return kind >= PacketKind::kEscaping; }
constexpr bool is_control(PacketKind kind) { return kind >= PacketKind::kLinkLocal; }
constexpr bool is_feedback(PacketKind kind) { return kind >= PacketKind::kFeedback; }
constexpr bool is_link_local(PacketKind kind) { return is_control(kind) && !is_feedback(kind); }
// RoceHeaders::shim_hops of a frame whose shim ends here: where there are bytes, they still have it.
inline constexpr std::uint8_t kShimToRemove = 0xff;

inline constexpr std::uint32_t kNoFrame = 0xffffffff;
inline constexpr NodeId kNoNode{0xffff};  // an address that no host of the run has

struct Packet {
  Time due;  // arrival of its last bit at the node that holds it
  const std::byte* payload =
      nullptr;  // received bytes, valid while the packet lives; null when only the length is known
  std::uint32_t payload_length = 0;  // bytes, without pad
  std::uint32_t frame_slot =
      kNoFrame;                    // the driver's handle for this frame's bytes; kNoFrame in virtual time
  std::uint32_t frame_length = 0;  // Ethernet header to ICRC, at least 60; FCS and preamble not counted
  std::uint32_t flow = 0;          // label of the flow for traces: the sending QPN; drivers may use another
  PacketKind kind = PacketKind::kData;
  Tc tc;  // of roce.dscp, by the map of the node that holds it
  Ecn ecn = Ecn::kNotEct;
  bool retransmission = false;  // sent before; only for counters and traces, not on the wire
  NodeId src;                   // sending and final node
  NodeId dst;
  RoceHeaders roce;

  Bytes frame() const { return Bytes::from_count(frame_length); }

  // The body of a control frame lies in the bytes of the extension headers, which such a frame does not have;
  // the fields of the BTH and of the IP header keep their meaning. put_control() and control_of()
  // (base/wire/controls.h) write and read it by type.
  static constexpr std::size_t kControlBytes = sizeof(RoceHeaders) - offsetof(RoceHeaders, va);
  std::byte* control_bytes() { return reinterpret_cast<std::byte*>(&roce) + offsetof(RoceHeaders, va); }
  const std::byte* control_bytes() const {
    return reinterpret_cast<const std::byte*>(&roce) + offsetof(RoceHeaders, va);
  }
};
static_assert(std::is_trivially_copyable_v<Packet> && sizeof(Packet) <= 128);
static_assert(std::is_standard_layout_v<RoceHeaders> && offsetof(Packet, roce) % alignof(RoceHeaders) == 0);

// Where a frame says that it comes from, and whom it is for: GIDs, as its IP header has them. Only of frames
// that came as bytes; virtual time has Packet::src and Packet::dst.
struct FrameGids {
  std::array<std::uint8_t, 16> src{}, dst{};
};

// The group that a datagram to QPN 0xffffff is for (a GID; base/wire/multicast.h), in fields that datagrams
// leave free. Not on the wire among the transport headers: it is the IP destination.
using GroupAddress = std::array<std::uint8_t, 16>;
inline void put_group(Packet& packet, const GroupAddress& group) {
  std::memcpy(&packet.roce.swap_or_add, group.data(), 8);
  std::memcpy(&packet.roce.compare, group.data() + 8, 8);
}
inline GroupAddress group_of(const Packet& packet) {
  GroupAddress group;
  std::memcpy(group.data(), &packet.roce.swap_or_add, 8);
  std::memcpy(group.data() + 8, &packet.roce.compare, 8);
  return group;
}

// Move-only handle; null is a legal state and means "no packet". One word, since queues hold many.
class PacketRef {
 public:
  PacketRef() = default;
  PacketRef(PacketRef&& other) noexcept : packet_(std::exchange(other.packet_, nullptr)) {}
  PacketRef& operator=(PacketRef&& other) noexcept {
    Packet* packet = std::exchange(other.packet_, nullptr);
    reset();
    packet_ = packet;
    return *this;
  }
  ~PacketRef() { reset(); }
  [[gnu::always_inline]] void reset();  // moved-from handles, which are most, cost a test or nothing
  explicit operator bool() const { return packet_ != nullptr; }
  void prefetch() const { __builtin_prefetch(packet_); }                      // what switches look at
  void prefetch_headers() const { __builtin_prefetch(&packet_->roce.rkey); }  // and what only NICs do
  Packet* operator->() const { return packet_; }
  Packet& operator*() const { return *packet_; }

 private:
  friend class PacketPool;
  explicit PacketRef(Packet* packet) : packet_(packet) {}
  Packet* packet_ = nullptr;
};

// LIFO free list over chunks of packets, threaded through those that are free; grows on demand, never
// shrinks, one per thread. It outlives every PacketRef made from it. A chunk lies at a multiple of its size,
// so that the address of a packet tells where its pool is written.
class PacketPool {
 public:
  // Told of each block of 2 MiB, aligned to its size, before it is touched: a driver may ask the system for
  // huge pages. Packets of a large network lie all over the memory, and to look up their addresses takes
  // time.
  using BlockHint = void (*)(void* memory, std::size_t bytes);

  PacketPool() = default;
  explicit PacketPool(BlockHint hint) : hint_(hint) {}  // null: small blocks only
  PacketPool(const PacketPool&) = delete;
  PacketPool& operator=(const PacketPool&) = delete;

  PacketRef make() {
    if (free_ == nullptr) [[unlikely]]
      grow();
    Slot* slot = std::exchange(free_, free_->next);
    ++in_use_;
    return PacketRef(new (&slot->packet) Packet{});
  }
  PacketRef clone(const Packet& original) {
    PacketRef copy = make();
    *copy = original;
    if (original.roce.telemetry_hops != 0) telemetry(*copy) = *telemetry_of(original);
    if (original.roce.has_gids) [[unlikely]]
      put_gids(*copy, *gids_of(original));
    if (original.roce.has_slack) [[unlikely]]
      put_slack(*copy, slack(original));
    if (original.roce.has_hop_times) [[unlikely]]
      put_hop_times(*copy, hop_times(original));
    return copy;
  }
  // What switches have written into a packet for HPCC, beside it: few runs have any. Of a packet of a pool.
  static Telemetry& telemetry(Packet& packet) {
    Chunk& chunk = chunk_of(&packet);
    if (!chunk.telemetry) [[unlikely]]
      chunk.telemetry = std::make_unique<Telemetry[]>(kSlots);
    return chunk.telemetry[chunk.index_of(packet)];
  }
  // Null: it carries none.
  static const Telemetry* telemetry_of(const Packet& packet) {
    return packet.roce.telemetry_hops == 0 ? nullptr : &telemetry(const_cast<Packet&>(packet));
  }
  // Between whom a received frame travelled, beside the packet for the same reason. Of a packet of a pool.
  static void put_gids(Packet& packet, const FrameGids& gids) {
    Chunk& chunk = chunk_of(&packet);
    if (!chunk.gids) [[unlikely]]
      chunk.gids = std::make_unique<FrameGids[]>(kSlots);
    chunk.gids[chunk.index_of(packet)] = gids;
    packet.roce.has_gids = true;
  }
  // Null: it has none.
  static const FrameGids* gids_of(const Packet& packet) {
    const Chunk& chunk = chunk_of(&packet);
    return packet.roce.has_gids ? &chunk.gids[chunk.index_of(packet)] : nullptr;
  }
  // Slack lies beside the packet for the same reason. Of a packet of a pool.
  static void put_slack(Packet& packet, const Slack& slack) {
    Chunk& chunk = chunk_of(&packet);
    if (!chunk.slack) [[unlikely]]
      chunk.slack = std::make_unique<Slack[]>(kSlots);
    chunk.slack[chunk.index_of(packet)] = slack;
    packet.roce.has_slack = true;
  }
  static Slack& slack(Packet& packet) {  // has_slack
    Chunk& chunk = chunk_of(&packet);
    return chunk.slack[chunk.index_of(packet)];
  }
  static const Slack& slack(const Packet& packet) { return slack(const_cast<Packet&>(packet)); }
  // And so do its times at switches.
  static void put_hop_times(Packet& packet, const HopTimes& times) {
    Chunk& chunk = chunk_of(&packet);
    if (!chunk.hop_times) [[unlikely]]
      chunk.hop_times = std::make_unique<HopTimes[]>(kSlots);
    chunk.hop_times[chunk.index_of(packet)] = times;
    packet.roce.has_hop_times = true;
  }
  static HopTimes& hop_times(Packet& packet) {  // has_hop_times
    Chunk& chunk = chunk_of(&packet);
    return chunk.hop_times[chunk.index_of(packet)];
  }
  static const HopTimes& hop_times(const Packet& packet) { return hop_times(const_cast<Packet&>(packet)); }
  std::size_t in_use() const { return in_use_; }
  std::size_t capacity() const { return chunks_ * kSlots; }  // the most ever in use, rounded up

 private:
  friend class PacketRef;
  static constexpr std::size_t kChunkBytes = 1 << 15;
  union alignas(64) Slot {  // two cache lines
    Slot() {}               // memory is touched when it is needed
    Slot* next;             // while it is free
    Packet packet;
  };
  static constexpr std::size_t kSlots = kChunkBytes / sizeof(Slot) - 1;
  struct alignas(kChunkBytes) Chunk {
    Slot slots[kSlots];
    PacketPool* pool;
    std::unique_ptr<Telemetry[]> telemetry;  // of each slot, from the first that has any
    std::unique_ptr<FrameGids[]> gids;       // and so are these
    std::unique_ptr<Slack[]> slack;
    std::unique_ptr<HopTimes[]> hop_times;
    std::size_t index_of(const Packet& packet) const {
      return static_cast<std::size_t>(reinterpret_cast<const Slot*>(&packet) - slots);
    }
  };
  static_assert(sizeof(Chunk) == kChunkBytes);

  static Chunk& chunk_of(const Packet* packet) {
    return *reinterpret_cast<Chunk*>(reinterpret_cast<std::uintptr_t>(packet) & ~(kChunkBytes - 1));
  }
  [[gnu::noinline]] static void give_back(Packet* packet) {
    PacketPool& pool = *chunk_of(packet).pool;
    Slot* slot = reinterpret_cast<Slot*>(packet);  // a union and its members have one address
    slot->next = std::exchange(pool.free_, slot);
    --pool.in_use_;
  }
  [[gnu::noinline]] void grow() {
    Chunk& chunk = next_chunk();
    chunk.pool = this;
    for (std::size_t i = kSlots; i-- > 0;) chunk.slots[i].next = std::exchange(free_, &chunk.slots[i]);
  }
  // The first ones in small blocks, which most runs do not exceed.
  Chunk& next_chunk() {
    const std::size_t number = chunks_++;
    if (number < kSmall || hint_ == nullptr) {
      if (number % kBlock == 0) blocks_.push_back(std::make_unique_for_overwrite<Chunk[]>(kBlock));
      return blocks_.back()[number % kBlock];
    }
    const std::size_t place = (number - kSmall) % HugeBlock::kChunks;
    if (place == 0) huge_blocks_.push_back(new_huge_block());
    return huge_blocks_.back()->chunks[place];
  }
  static constexpr std::size_t kBlock = 16;  // chunks that are asked for at once
  static constexpr std::size_t kSmall = 4 * kBlock;
  static constexpr std::size_t kHugePage = 1 << 21;
  struct alignas(kHugePage) HugeBlock {
    static constexpr std::size_t kChunks = kHugePage / kChunkBytes;
    Chunk chunks[kChunks];
  };
  std::unique_ptr<HugeBlock> new_huge_block() const {
    void* memory = ::operator new (sizeof(HugeBlock), std::align_val_t{alignof(HugeBlock)});
    hint_(memory, sizeof(HugeBlock));
    return std::unique_ptr<HugeBlock>(new (memory) HugeBlock);  // whose delete is that new's
  }
  BlockHint hint_ = nullptr;
  std::vector<std::unique_ptr<Chunk[]>> blocks_;
  std::vector<std::unique_ptr<HugeBlock>> huge_blocks_;
  std::size_t chunks_ = 0;  // in use
  Slot* free_ = nullptr;
  std::size_t in_use_ = 0;
};

inline void PacketRef::reset() {
  if (packet_ != nullptr) PacketPool::give_back(std::exchange(packet_, nullptr));
}

}  // namespace rocelab
