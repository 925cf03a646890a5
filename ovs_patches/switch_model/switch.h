// Switch: a shared-memory, output-queued switch as a state machine: no I/O, no clock, no thread. OVS (live)
// or a route table (virtual time) chose the outputs. It admits, marks, queues, pauses and schedules; each
// law is a file beside this one. Drivers use it through SwitchNode
// (switch_node.h), which adds the order of events and the serialisation of the ports.
// Contract for a driver that calls it directly:
//  1. `now` never decreases; equal values are legal.
//  2. Drain take_ready() after any input: it names the ports that had nothing to send and now have. Ask
//  has_more() of a port after each pull from it.
//  3. Pull a frame only when the port can send it at once: no hidden queue in a driver.
//  4. At next_timeout() call on_timeout(); it may be early, and early or repeated calls change nothing.
//  5. Packet::roce.dscp is that of the IP header, from which the switch takes the class
//  (SwitchConfig::class_map); Packet::frame_length is at least 60.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/packet.h"
#include "base/rng.h"
#include "base/trace.h"
#include "ovs_patches/switch_model/counters.h"
#include "ovs_patches/switch_model/switch_config.h"

namespace rocelab {

// Who owns the bytes that Packet::frame_slot names (shared memory in the live engine). The switch never looks
// at them; it says when a frame ends here and when it multiplies. Not called for kNoFrame. May be null where
// frames have no bytes.
class FrameOwner {
 public:
  virtual ~FrameOwner() = default;
  virtual void release(std::uint32_t frame_slot) = 0;  // dropped, or consumed as a control frame
  // The handle for one more copy of the frame: the same with another reference, or a real copy. kNoFrame:
  // none left, this copy is dropped.
  virtual std::uint32_t share(std::uint32_t frame_slot) = 0;
};

// Who may ask that the link peer pauses a class. The class is paused while any of them asks.
enum class PauseOwner : std::uint8_t {
  kIngressBuffer = 0,  // the ingress accounting: XOFF and XON
  kOperator = 1,       // a driver, by hand
  kPolicy = 2,         // a queueing policy: notify(upstream)
  kMechanisms = 3,     // and on: mechanisms, by their place in the list (SwitchActions::pause)
};

// What the switch decided for one port and class: for `lossless/show` and the report at a run's start.
struct ClassReport {
  PortId port;
  Tc tc;
  bool lossless = false;
  Bytes buffer, headroom, xoff, xon;  // per ingress port; zero for lossy classes
  std::uint16_t quanta = 0;
  Bytes egress_limit;  // lossy: per egress queue, or per input port when input_buffered; zero for lossless
                       // classes
  EcnConfig ecn;
  Selection selection = Selection::kEts;
  std::uint16_t weight = 0;
};

struct SwitchCore;
class SwitchPolicy;

class Switch {
 public:
  // `pool`, `trace` and `frames` outlive the Switch. problem_of(config, ports) must be empty.
  Switch(const SwitchConfig& config, std::span<const PortConfig> ports, Rng rng, PacketPool& pool,
         TraceSink& trace, FrameOwner* frames = nullptr);
  ~Switch();
  Switch(Switch&&) noexcept;

  // --- inputs
  void on_packet(PortId in, std::span<const PortId> outs, PacketRef packet,
                 Time now);                                  // admit, mark or drop; may cause XOFF
  void on_control(PortId port, PacketRef packet, Time now);  // a link-local frame from the link peer
  void on_timeout(Time now);                                 // pauses that expire, refreshes
  void request_pause(PauseOwner owner, PortId ingress, Tc tc, bool on, Time now);

  // --- outputs
  PacketRef poll_transmit(PortId port, Time now);  // control frames leave first; null: nothing may leave
  bool has_more(PortId port) const;      // a control frame, or a frame of a class that is not paused
  std::span<const PortId> take_ready();  // valid until the next take_ready()
  Time next_timeout() const;             // O(1); Time::never() when idle

  // --- what drivers sample and show
  std::size_t ports() const;
  const PortConfig& port(PortId port) const;
  const SwitchConfig& config() const;
  Bytes queue_bytes(PortId egress, Tc tc) const;
  Bytes ingress_bytes(PortId ingress, Tc tc) const;  // frames that came in there and still wait
  Bytes shared_pool_used() const;
  std::uint64_t queued_frames() const;         // over all ports; PFC frames not included
  bool is_paused(PortId egress, Tc tc) const;  // by the peer
  template <class Mechanism>
  const Mechanism* mechanism() const;                        // null: off; defined in switch_core.h
  const SwitchPolicy* policy() const;                        // null: none
  bool is_pausing(PortId ingress, Tc tc) const;              // asks the peer to pause
  SwitchPortCounters counters(PortId port, Time now) const;  // `now`: pauses that last are counted up to it
  std::vector<ClassReport> describe() const;                 // port by port, class by class

 private:
  friend class SwitchNode;  // works on the state itself: it is the hot path of every driver
  std::unique_ptr<SwitchCore> core_;
};

}  // namespace rocelab
