#include "emu/runner/formula.h"

#include <algorithm>
#include <limits>

#include "base/wire/opcode.h"
#include "emu/runner/flow_frames.h"

namespace rocelab {

Bytes largest_data_frame(TransportMode mode, std::uint32_t path_mtu) {
  const TransportClass transport = mode == TransportMode::kIrn ? TransportClass::kIrn : TransportClass::kRc;
  Bytes most;
  for (const OpcodeInfo& info : kOpcodes)
    if (info.known() && info.transport == transport &&
        (info.is_send() || info.is_write() || info.is_read_response()))
      most = std::max(most, frame_bytes(mode, info.operation, path_mtu));
  return most;
}

Bytes ack_frame(TransportMode mode) { return frame_bytes(mode, Operation::kAck, 0); }

std::uint64_t data_packets(const FlowShape& shape) {
  return static_cast<std::uint64_t>(FlowFrames(shape).total_frames());
}

Bytes wire_bytes_of(const FlowShape& shape) { return FlowFrames(shape).total_wire_bytes(); }

Duration ping_pong(TransportMode mode, Bytes size, std::uint32_t path_mtu, std::uint32_t bdp_cap,
                   const Path& path, const Path& back) {
  const FlowShape shape{mode, FlowOp::kSend, size, Bytes{}, 1, path_mtu, bdp_cap};
  return fct_alone(shape, path, back) + fct_alone(shape, back, path);
}

Duration round_trip(TransportMode mode, std::uint32_t path_mtu, const Path& path, const Path& back,
                    Bytes shim) {
  const Bytes data = frame_bytes(mode, Operation::kWriteMiddle, path_mtu) + shim,
              ack = ack_frame(mode) + shim;
  Duration total;
  for (const Hop& hop : path) total += wire_time(data, hop.rate) + hop.delay;
  for (const Hop& hop : back) total += wire_time(ack, hop.rate) + hop.delay;
  return total;
}

std::uint32_t bdp_packets(TransportMode mode, std::uint32_t path_mtu, const Path& path, const Path& back,
                          Bytes shim) {
  Rate slowest = path.front().rate;
  for (const Hop& hop : path) slowest = std::min(slowest, hop.rate);
  const __int128 bit_ps =
      static_cast<__int128>(round_trip(mode, path_mtu, path, back, shim).ps()) * slowest.bps();
  const Bytes frame = frame_bytes(mode, Operation::kWriteMiddle, path_mtu) + shim;
  const __int128 frame_bit_ps = static_cast<__int128>(frame.count()) * 8 * 1'000'000'000'000;
  constexpr __int128 kMost = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(std::min(kMost, (bit_ps + frame_bit_ps - 1) / frame_bit_ps));
}

}  // namespace rocelab
