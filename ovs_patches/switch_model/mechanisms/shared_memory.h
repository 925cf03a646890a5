// The memory of a switch with a pipeline, shared by static bounds (../shared_memory.h): a pool before the
// packet processor and one behind it, of lossless classes. A frame for which a side has no room is dropped,
// as in the CaPFC paper (IV-C7): neither side is lossless.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "base/schema.h"
#include "ovs_patches/switch_model/actions.h"
#include "ovs_patches/switch_model/shared_memory.h"

namespace rocelab {

class SharedMemoryMechanism {
 public:
  using Params = SharedMemoryParams;
  struct Counters {  // of a port: frames that its side of the memory had no room for, by the limit
    static constexpr std::array kNames = {"shared_memory_ingress_queue", "shared_memory_ingress_port",
                                          "shared_memory_ingress_pool",  "shared_memory_egress_queue",
                                          "shared_memory_egress_port",   "shared_memory_egress_pool"};
    std::uint64_t ingress[3] = {};  // by MemoryLimit; of drops_mechanism
    std::uint64_t egress[3] = {};   // of drops_egress_max
  };
  static constexpr std::string_view kName = "shared_memory";
  static Schema<Params> schema();
  static bool is_on(const Params& params) { return params.enabled; }
  static bool drops(const Params&) { return true; }
  static std::string problem_in(const Params& params, const SwitchConfig& config,
                                std::span<const PortConfig> ports);

  SharedMemoryMechanism(const Params& params, SwitchActions actions, Rng rng);
  bool on_arrival(PortId in, std::span<const PortId> outs, PacketRef& packet, Time now);
  void on_placed(PortId in, const Packet& packet, Time now);
  bool takes(PortId out, Tc tc, Bytes frame) const { return !egress_.exceeds(out, tc, frame); }
  void on_refused(PortId out, Tc tc, Bytes frame);
  void on_enqueue(PortId out, PortId in, const Packet& packet, Time now);
  void on_dequeue(PortId out, PortId in, const Packet& packet, Time now);
  const Counters& counters(PortId port) const { return counters_[port.value]; }

  const SharedMemory& ingress() const { return ingress_; }
  const SharedMemory& egress() const { return egress_; }

 private:
  SwitchActions actions_;
  SharedMemory ingress_, egress_;
  std::vector<Counters> counters_;
};

}  // namespace rocelab
