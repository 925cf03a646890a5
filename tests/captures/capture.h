// Capture: the frames of a file, read as its sidecar says who sent them.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/wire/frame.h"
#include "base/wire/opcode.h"
#include "tests/captures/sidecar.h"

namespace rocelab::captures {

struct Frame {
  int number = 0;  // as tshark counts
  Time at;         // since the first
  End from = End::kClient;
  bool lost = false;  // it did not arrive at the other end
  FrameAddress address;
  RoceHeaders roce;
  test::ByteVector payload;
  test::ByteVector bytes;  // all of it

  Role role() const { return opcode_info(roce.opcode).role; }
};

// The connection's frames. Throws std::runtime_error on a frame that is neither of the connection nor
// elsewhere, and on frames that the sidecar names and that are not there.
std::vector<Frame> read_capture(const std::filesystem::path& file, const Sidecar& sidecar);
std::vector<Frame> read_frames(const std::vector<test::NamedFrame>& all, const Sidecar& sidecar);
const Frame& frame(const std::vector<Frame>& frames, int number);

// As many bytes as `content` has; of a pattern, and of none (zeros), `length`.
test::ByteVector bytes_of(const Content& content, std::size_t length, const std::vector<Frame>& frames);

// What is compared of a frame's headers, as text.
std::string describe(const RoceHeaders& roce, std::size_t payload_length);
std::string describe(const FrameAddress& address);

}  // namespace rocelab::captures
