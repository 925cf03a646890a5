// TrainPacker: which frames of a batch leave as one train (train.h), and in which order. Frames of one flow
// that leave together are one train as far as the kernel cuts it into just these frames again: all of one
// UDP payload length but the last, which may be shorter. A frame that Ethernet's smallest size has filled up
// is not UDP payload to its end, so it goes by itself. No I/O; the frames' bytes are the owner's.
//
// Order: frames of a flow leave as they come, with one exception. An acknowledgement that a longer frame of
// data follows moves behind it, so that the two are one train; FramePort::Kind says which frames those are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "irn_provider/realtime/frame_port.h"

namespace rocelab::direct {

class TrainPacker {
 public:
  struct Train {
    FramePort::Flow flow;
    FramePort::Kind kind = FramePort::Kind::kData;      // of its first frame
    std::size_t headers = 0, segment = 0, payload = 0;  // bytes; a frame's UDP payload, and all of it
    bool open = false;                                  // for another frame
    std::uint32_t first = 0, last = 0, frames = 1;      // numbers of frames; each_frame() has them in order
  };

  // `capacity`: frames between two calls of clear().
  explicit TrainPacker(std::uint32_t capacity) : lengths_(capacity), behind_(capacity) {
    trains_.reserve(capacity);
  }

  // Where the next frame, of `length` bytes, belongs. Returns the IPv4 ID that it must have: its place in the
  // train, but that IDs of trains that begin with an acknowledgement begin with 1. Called again before add(),
  // the last call counts.
  std::uint16_t choose(const FramePort::Flow& flow, std::size_t length, FramePort::Kind kind);
  // The frame that choose() was asked about is there. Frames are numbered from 0 on.
  void add(std::span<const std::byte> frame);

  std::uint32_t frames() const { return frames_; }
  const std::vector<Train>& trains() const { return trains_; }
  std::uint32_t length(std::uint32_t frame) const { return lengths_[frame]; }
  template <class F>
  void each_frame(const Train& train, F&& f) const {
    for (std::uint32_t n = 0, frame = train.first; n < train.frames; ++n, frame = behind_[frame]) f(frame);
  }

  void split(
      std::size_t from);  // trains from there on: each frame becomes one of its own, and all later ones
  void clear();

 private:
  bool extends(const Train& train, std::size_t payload) const;

  std::vector<Train> trains_;
  std::vector<std::uint32_t> lengths_, behind_;  // by number; the next one of the same train
  std::uint32_t frames_ = 0;
  bool makes_trains_ = true;
  // What choose() has found.
  std::size_t chosen_ = 0;  // trains_.size(): a new one
  FramePort::Flow flow_;
  FramePort::Kind kind_ = FramePort::Kind::kData;
};

}  // namespace rocelab::direct
