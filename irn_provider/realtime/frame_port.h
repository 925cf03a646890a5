// FramePort: what a DirectProcess sends frames by and gets them from: a packet socket on an interface
// (packet_socket.h), or memory that the programs of one machine share (ring_port.h). Under the process's
// lock, but for fd(), before_sleep(), after_sleep() and clear_error(), which any thread may call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/wire/local_frame.h"
#include "base/wire/opcode.h"

namespace rocelab::direct {

class FramePort {
 public:
  virtual ~FramePort() = default;

  // Whether its frames carry an ICRC: bytes that leave the machine do.
  virtual Icrc icrc() const = 0;

  // --- receiving. What has come may be written to, and stays in place until release().
  struct Arrival {
    std::span<std::byte> bytes;         // a frame from the destination address on, or a train
    std::size_t segment = 0;            // of a train, as cut_train() wants it; 0: a frame
    std::span<const std::byte> shared;  // not empty: `bytes` holds the headers, and this the whole frame,
                                        // which its sender can still change
  };
  static constexpr std::uint32_t kReceiveBatch = 16;
  virtual std::span<const Arrival> receive() = 0;  // kReceiveBatch: there may be more; empty: none waits
  virtual void release() = 0;                      // nobody looks at them any more

  // --- sleeping until frames come
  virtual int fd() const = 0;        // readable: wake up
  virtual bool before_sleep() = 0;   // from now on fd() tells of frames; false: one has come already
  virtual void after_sleep(bool) {}  // whether fd() was readable
  virtual void clear_error() {}      // fd() told of one (POLLERR), and would go on to
  virtual bool waits() const { return false; }  // a frame is there, as far as can be told without a call
  virtual void before_poll() {}                 // somebody polls: no need to tell

  // --- sending: frames are built in place, then leave together. Frames of an equal flow have equal headers
  // below the BTH, but for lengths.
  struct Flow {
    const void* path = nullptr;
    std::uint32_t dest = 0;  // QPN
    bool operator==(const Flow&) const = default;
  };
  // What the order of a flow asks for. Answers leave in the order of their requests (IBTA 9.5), so that an
  // acknowledgement never passes a READ response or an atomic's answer, nor one of those an acknowledgement;
  // requests leave in the order of their PSNs. The two are independent of one another.
  enum class Kind : std::uint8_t {
    kData,    // may pass an acknowledgement: requests; IRN's responses, which are numbered by themselves
    kAck,     // kData may pass it: what acknowledges or refuses requests, or IRN's responses
    kAnswer,  // passes nothing, and nothing passes it: RoCE's READ responses and atomic acknowledgements
  };
  struct Slot {
    std::span<std::byte> bytes;  // at least as many as were asked for
    std::uint16_t ip_id = 0;     // that the frame must have
  };
  // Where a frame of that length is to be built. Not while stuck().
  virtual Slot place(const Flow& flow, std::size_t length, Kind kind) = 0;
  virtual void fill() = 0;  // the frame is there. Without it, the next place() has the slot
  // False: no more is taken for now, and the rest waits for another call.
  virtual bool flush() = 0;
  virtual bool stuck() const = 0;    // the last fill() or flush() said so: no more is asked for
  virtual std::uint64_t lost() = 0;  // frames that came too fast for this process, or that nobody took
};

constexpr FramePort::Kind kind_of(const OpcodeInfo& info) {
  using enum FramePort::Kind;
  if (info.operation == Operation::kAck || info.operation == Operation::kNack ||
      info.operation == Operation::kAckBlocks || info.role == Role::kReadAck)
    return kAck;
  return info.is_response() && info.transport != TransportClass::kIrn ? kAnswer : kData;
}

}  // namespace rocelab::direct
