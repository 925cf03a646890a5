// Segment: the one piece of shared memory of a live run. The runner creates it (with every parameter of the
// run in it, as plain data: emu/world); the switch process and the programs' NICs map it. It holds
// configuration, the clock's words, the rings between each NIC and its switch port, the frames, counters and
// verdicts.
//
//   Header | HostEntry[hosts] | HostPort[hosts] | SwitchEntry[switches] | PortEntry[ports] |
//   LinkChangeEntry[link_changes] | policies (text) | PortResult[ports] | VfSlot[hosts * vfs] | rings |
//   frames
//
// Frames never move: a descriptor names one by index. Each VF (virtual function: one process's share of a
// host's NIC) owns a range of frames, fills them, and gets each back once whoever dropped or consumed it has
// returned it: receiver -> `returns` ring -> switch -> owner's `refill` ring. Nothing read from shared memory
// that a program could have written is trusted by the switch: indices and lengths are checked by the
// accessors.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/class_turns.h"
#include "base/units.h"
#include "emu/world/live_settings.h"
#include "emu/world/results.h"
#include "emu/world/world.h"
#include "lockstep/host_share.h"
#include "lockstep/spsc_ring.h"

namespace rocelab::lockstep {

inline constexpr std::uint64_t kMagic = 0x31626c6c65636f72;  // "rocellb1"

// One frame on its way between a NIC and a switch port.
struct FrameDescriptor {
  std::int64_t due_ps = 0;   // arrival of the last bit at the far end
  std::uint32_t frame = 0;   // index into the frames
  std::uint16_t length = 0;  // bytes from the Ethernet header to the ICRC, at least 60
  std::uint8_t kind = 0;     // PacketKind
  std::uint8_t retransmission = 0;
};
static_assert(sizeof(FrameDescriptor) == 16);

enum class RunState : std::uint32_t { kSetup, kRunning, kStopped, kFailed };

struct Header {
  std::uint64_t magic = kMagic;
  std::uint64_t layout_hash = 0;  // sizes of all structs here: another build is refused
  std::uint64_t total_bytes = 0;
  char run_id[32] = {};
  std::uint64_t seed = 0;
  std::int64_t lookahead_ps = 0;  // smallest frame's serialisation + smallest link delay, over all links
  std::int64_t grace_wall_ns = 20'000'000;      // a blocked thread is detached after this long
  std::int64_t stuck_wall_ns = 10'000'000'000;  // one that computes, after this long
  std::int64_t stopped_wall_ns =
      10'000'000'000;                          // a stopped process (SIGSTOP) is left behind after this long
  std::int64_t poll_interval_ps = 10'000'000;  // an empty poll_cq returns after this long at the latest
  double pace = 0;      // > 0: at least this many seconds of wall time per second of experiment
  double dilation = 0;  // > 0: the wall clock (wall_clock.h): so many seconds of it per second of experiment
  std::int64_t sample_interval_ps = 0;  // > 0: queues and flows are sampled
  std::uint32_t hosts = 0, vfs_per_host = 0, switches = 0, ports = 0, link_changes = 0, policy_bytes = 0;
  std::uint32_t ring_capacity = 0;  // descriptors per ring
  std::uint32_t frames_per_vf =
      0;  // power of two; the switch process owns one more range behind the last VF's
  std::uint32_t frame_stride = 0;  // bytes per frame
  std::uint32_t expected_participants =
      0;  // time stays at 0 until so many VFs are claimed and all their threads are parked
  std::uint64_t vf_offset = 0, rings_offset = 0, frames_offset = 0, host_offset = 0, host_port_offset = 0,
                switch_offset = 0, port_offset = 0, link_change_offset = 0, policy_offset = 0,
                port_result_offset = 0, service_port_offset = 0;
  char trace_dir[128] = {};  // where event files go; empty: none
  // The recorded schedule that NICs replay (emu/record/schedule.h), and its key; empty: none.
  char schedule[1024] = {};
  char schedule_key[64] = {};
  char pcap_dir[128] = {};  // where the switches write their pcapng files; empty: none
  // --- the clock
  alignas(128) std::atomic<std::int64_t> committed_ps{0};  // everything before this instant is decided
  alignas(128) std::atomic<std::uint32_t> pending{
      0};  // VFs that have not finished the current window: a hint, and futex of the coordinator
  alignas(128) std::atomic<std::uint32_t> activity{
      0};  // grows whenever a VF begins or ceases to hold time; futex of an idle coordinator
  // Next stop of the clock: a change of the switches' rules, or the run's limit. The switches run up to here;
  // then `stop_due` is set and time stands until the runner has done what the stop is for (installed the
  // rules), moved this on and cleared the flag.
  std::atomic<std::int64_t> stop_ps{Time::never().ps()};
  std::atomic<std::uint32_t> stop_due{0};
  std::atomic<std::uint32_t> coordinator_pid{0};
  std::atomic<RunState> state{RunState::kSetup};
  std::atomic<std::uint64_t> wall_slips{0};  // how often the machine lost touch, and the epoch was moved
  static constexpr std::int64_t kNotBegun = std::numeric_limits<std::int64_t>::min();
  std::atomic<std::int64_t> wall_epoch_ns{kNotBegun};  // CLOCK_MONOTONIC at experiment time 0
  std::atomic<std::uint64_t> windows{0};
  std::atomic<std::uint64_t> detaches{0};  // threads or VFs that time went on without, since the gate opened
  std::atomic<std::uint64_t> late_frames{
      0};  // frames of a detached VF that were due before the committed time
  std::atomic<std::int64_t> first_detach_ps{-1}, last_detach_ps{-1};  // experiment time; -1: none
  char error[256] = {};                                               // why state == kFailed
};

// The port that the VFs of one host share. While several of them take part in a window, they run event by
// event, in the order of irn_provider/live/port_turn.h: `turn` says whose event is next. With one participant
// nobody else touches it. Of a host with several NICs there is one turn at a time, too, in its first NIC's.
struct alignas(128) HostPort {
  static constexpr std::uint32_t kNobody = 0xffffffff;  // not all have checked in yet
  static constexpr std::uint32_t kOver = 0xfffffffe;    // nothing more before the window's end
  static constexpr std::uint32_t kAbandoned =
      0xfffffffd;      // one of them is gone: everybody finishes the window alone
  ClassTurns classes;  // of all VFs together; of whose turn it is to look at
  std::array<std::uint32_t, kTrafficClasses> last_sender{};  // of each class: VF within the host; likewise
  std::atomic<std::int64_t> free_ps{0};                      // the port has sent everything so far
  std::atomic<std::uint32_t> members{0};  // bit per VF: takes part in this window; written by the coordinator
  std::atomic<std::uint32_t> checked_in{0};  // how many of them have said what they intend
  std::atomic<std::uint32_t> turn{kNobody};  // VF within the host, or one of the above; futex
  std::atomic<TcMask> departure{0};          // of the turn: the bit of the frame's class; 0: inputs
  std::atomic<std::uint32_t> nic{0};         // and at which NIC of the host
  std::atomic<std::int64_t> at_ps{0};        // and its instant
};
static_assert(std::is_trivially_copyable_v<ClassTurns>);

using FrameRing = SpscRing<FrameDescriptor>;
using IndexRing = SpscRing<std::uint32_t>;

// Counts a detach at `now`; anybody may.
void note_detach(Header& header, Time now);

// A VF began or ceased to hold time: wakes an idle coordinator.
void announce(Header& header);

// What a segment is made of; its layout follows.
struct SegmentPlan : LiveSettings {
  World world;
  std::string run_id;
  std::string trace_dir;
  std::string pcap_dir;
  std::string schedule, schedule_key;
  bool reserve = false;  // memory for all of it is taken at once: nobody dies of a bus error later
};

class Segment {
 public:
  // Creates the file (it must not exist) and fills in the plan. Throws std::runtime_error with a line that
  // says what to do.
  static Segment create(const std::filesystem::path& path, const SegmentPlan& plan);
  // Maps an existing one. Throws when it is not a segment of this build.
  static Segment open(const std::filesystem::path& path);
  Segment(Segment&& other) noexcept;
  Segment& operator=(Segment&&) = delete;
  ~Segment();

  Header& header() const { return *header_; }
  std::span<HostEntry> hosts() const;
  std::span<HostPort> host_ports() const;
  std::span<SwitchEntry> switches() const;
  std::span<PortEntry> ports() const;
  std::span<const LinkChangeEntry> link_changes() const;
  std::string_view policies() const;           // World::policies
  std::span<PortResult> port_results() const;  // written by the switch process between windows
  HostShare share_of(std::uint32_t host) const;
  std::span<VfSlot> vfs() const;              // index = host * vfs_per_host + vf
  FrameRing tx(std::uint32_t vf) const;       // NIC -> switch
  FrameRing rx(std::uint32_t vf) const;       // switch -> NIC
  IndexRing returns(std::uint32_t vf) const;  // NIC -> switch: frames that it has consumed
  IndexRing refill(std::uint32_t vf) const;   // switch -> NIC: its own frames come home
  // Frames of a range: VF index, or vfs().size() for the switch process.
  std::uint32_t first_frame(std::uint32_t range) const { return range * header_->frames_per_vf; }
  std::uint32_t owner_of(std::uint32_t frame) const { return frame / header_->frames_per_vf; }
  bool valid_frame(std::uint32_t frame) const { return frame < (vfs().size() + 1) * header_->frames_per_vf; }
  std::span<std::byte> frame(std::uint32_t index) const;  // frame_stride bytes; `index` must be valid
  const HostEntry* find_host(std::string_view name) const;
  std::uint32_t slot_of(std::uint32_t host, std::uint32_t vf) const {
    return host * header_->vfs_per_host + vf;
  }
  // The slots of one process: of VF `lead` and, where its host has several NICs, those that follow it.
  std::vector<std::uint32_t> slots_of(std::uint32_t lead) const;
  const HostEntry* find_host_by_ipv4(std::uint32_t ipv4) const;

 private:
  Segment(std::byte* base, std::size_t size);
  std::byte* ring_area(std::uint32_t vf, std::uint32_t which) const;
  std::byte* base_ = nullptr;
  std::size_t size_ = 0;
  Header* header_ = nullptr;
};

}  // namespace rocelab::lockstep
