// FlowFrames: the data frames of one flow, queue pair by queue pair, without listing them: a message is a
// first packet, equal middles and a last one, and all messages but the flow's last are equal.
#pragma once

#include <cstdint>
#include <vector>

#include "base/wire/opcode.h"
#include "emu/runner/formula.h"

namespace rocelab {

Bytes frame_bytes(TransportMode mode, Operation operation, std::int64_t payload);

struct DataFrame {
  Bytes length;              // Ethernet header to ICRC
  std::int64_t message = 0;  // of its queue pair
  bool last = false;         // of its message
};

class FlowFrames {
 public:
  explicit FlowFrames(const FlowShape& shape);

  std::size_t lanes() const { return lanes_.size(); }  // queue pairs that carry anything
  std::int64_t frames(std::size_t lane) const { return lanes_[lane].frames; }
  DataFrame frame(std::size_t lane, std::int64_t index) const;
  // How many middles of the same message follow a frame that is a middle itself; -1 when it is none.
  std::int64_t middles_after(std::size_t lane, std::int64_t index) const;
  std::int64_t total_frames() const;
  Bytes total_wire_bytes() const;  // with FCS, preamble and gap

 private:
  struct Message {
    std::int64_t packets = 0;
    Bytes first, last;  // frame lengths; of a single packet: last
  };
  struct Lane {
    std::int64_t messages = 0, frames = 0;
    Message final;  // a WRITE carries an immediate there
  };
  struct Position {
    std::int64_t message = 0, packet = 0;
    const Message* shape = nullptr;
  };
  Message make_message(const FlowShape& shape, std::int64_t bytes, bool is_final) const;
  Position position(std::size_t lane, std::int64_t index) const;
  Bytes wire_bytes_of_message(const Message& m) const;
  std::vector<Lane> lanes_;
  Message whole_;
  Bytes middle_;
};

}  // namespace rocelab
