// SharedMemory: one side, ingress or egress, of a switch whose queues have some memory each and share a pool
// by static bounds: what a queue holds beyond its own comes from the pool, of which a queue and a port may
// have so much. Source: Avci, Li and Liu, Congestion Aware Priority Flow Control in Data Center Networks,
// IFIP Networking 2016, IV-C7 (and II-F, the totals over all ports). It knows bytes, not frames.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/units.h"

namespace rocelab {

struct SharedMemoryParams {  // IV-C7; of a side
  bool enabled = false;
  Bytes dedicated = 8_KB;  // to a queue: a port and a class
  Bytes pool = 350_KB;
  Bytes queue = 80_KB;  // of the pool, for a queue
  Bytes port = 100_KB;  // of the pool, for a port

  Bytes most_of_queue() const { return dedicated + queue; }
};

enum class MemoryLimit : std::uint8_t { kQueue, kPort, kPool };

class SharedMemory {
 public:
  SharedMemory(const SharedMemoryParams& params, std::size_t ports)
      : params_(params), queues_(ports * kTrafficClasses), ports_(ports) {}

  // The first limit that a frame would exceed; none: there is room.
  std::optional<MemoryLimit> exceeds(PortId port, Tc tc, Bytes frame) const {
    const Bytes before = queues_[index(port, tc)];
    const Bytes more = of_pool(before + frame) - of_pool(before);
    if (of_pool(before + frame) > params_.queue) return MemoryLimit::kQueue;
    if (ports_[port.value] + more > params_.port && more > 0_B) return MemoryLimit::kPort;
    if (pool_ + more > params_.pool && more > 0_B) return MemoryLimit::kPool;
    return std::nullopt;
  }
  // Without asking exceeds(): what has its place already may go beyond a limit.
  void hold(PortId port, Tc tc, Bytes frame) { change(port, tc, frame); }
  void release(PortId port, Tc tc, Bytes frame) { change(port, tc, 0_B - frame); }

  Bytes held(PortId port, Tc tc) const { return queues_[index(port, tc)]; }
  Bytes of_port(PortId port) const { return ports_[port.value]; }  // of the pool
  Bytes pool_used() const { return pool_; }

 private:
  static std::size_t index(PortId port, Tc tc) {
    return port.value * std::size_t{kTrafficClasses} + tc.value;
  }
  Bytes of_pool(Bytes held) const { return std::max(0_B, held - params_.dedicated); }
  void change(PortId port, Tc tc, Bytes by) {
    Bytes& held = queues_[index(port, tc)];
    const Bytes more = of_pool(held + by) - of_pool(held);
    held += by;
    ports_[port.value] += more;
    pool_ += more;
  }

  SharedMemoryParams params_;
  std::vector<Bytes> queues_;  // by port and class: what they hold
  std::vector<Bytes> ports_;   // of the pool
  Bytes pool_;                 // in use
};

}  // namespace rocelab
