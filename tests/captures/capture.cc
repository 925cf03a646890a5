#include "tests/captures/capture.h"

#include <algorithm>
#include <optional>
#include <stdexcept>

namespace rocelab::captures {
namespace {

// Whose frame it is. UD packets name the QP that sent them, too.
std::optional<End> sender_of(const ParsedFrame& parsed, const Sidecar& sidecar) {
  const bool datagram = opcode_info(parsed.roce.opcode).has(Header::kDeth);
  for (const End end : {End::kClient, End::kServer}) {
    const EndSpec &from = sidecar.of(end), &to = sidecar.of(other(end));
    if (parsed.address.src_gid == from.gid && parsed.address.dst_gid == to.gid &&
        parsed.roce.dest == to.qpn && (!datagram || parsed.roce.src_qpn == from.qpn))
      return end;
  }
  return std::nullopt;
}

void check_that_all_are_there(const std::vector<Frame>& frames, const Sidecar& sidecar) {
  for (const int number : sidecar.lost) frame(frames, number);
  for (const Difference& difference : sidecar.differences)
    for (const int number : difference.frames)
      if (frame(frames, number).from != difference.end)
        throw std::runtime_error(sidecar.path.string() + ": frame " + std::to_string(number) +
                                 " is not from the " + to_string(difference.end));
  for (const End end : {End::kClient, End::kServer}) {
    for (const Send& send : sidecar.of(end).sends)
      for (const int number : send.content.frames) frame(frames, number);
    for (const Completion& completion : sidecar.of(end).completions)
      if (completion.by) frame(frames, *completion.by);
  }
}

}  // namespace

std::vector<Frame> read_frames(const std::vector<test::NamedFrame>& all, const Sidecar& sidecar) {
  std::vector<Frame> frames;
  for (std::size_t i = 0; i < all.size(); ++i) {
    FrameError why{};
    const auto parsed = parse_frame(all[i].bytes, IcrcCheck::kVerify, &why);
    if (!parsed) throw std::runtime_error(all[i].name + ": " + to_string(why));
    if (sidecar.elsewhere.contains(parsed->roce.dest.value)) continue;
    const auto from = sidecar.has_connection ? sender_of(*parsed, sidecar) : std::nullopt;
    if (!from)
      throw std::runtime_error(all[i].name + " is of no connection of " + sidecar.path.filename().string() +
                               ": " + to_string(parsed->roce));
    Frame f;
    f.number = static_cast<int>(i) + 1, f.at = all[i].at, f.from = *from;
    f.lost = sidecar.lost.contains(f.number);
    f.address = parsed->address, f.roce = parsed->roce;
    f.payload.assign(parsed->payload.begin(), parsed->payload.end());
    f.bytes = all[i].bytes;
    frames.push_back(std::move(f));
  }
  check_that_all_are_there(frames, sidecar);
  return frames;
}

std::vector<Frame> read_capture(const std::filesystem::path& file, const Sidecar& sidecar) {
  return read_frames(test::load_capture(file), sidecar);
}

const Frame& frame(const std::vector<Frame>& frames, int number) {
  const auto found = std::ranges::find(frames, number, &Frame::number);
  if (found == frames.end())
    throw std::runtime_error("the sidecar names frame " + std::to_string(number) +
                             ", which is none of the connection");
  return *found;
}

test::ByteVector bytes_of(const Content& content, std::size_t length, const std::vector<Frame>& frames) {
  test::ByteVector bytes;
  switch (content.kind) {
    case Content::Kind::kNone:
      bytes.resize(length);
      break;
    case Content::Kind::kPattern:
      for (std::size_t i = 0; i < length; ++i)
        bytes.push_back(static_cast<std::byte>(content.first + i * content.step));
      break;
    case Content::Kind::kBytes:
      bytes = content.bytes;
      break;
    case Content::Kind::kFrames:
      for (const int number : content.frames) {
        const test::ByteVector& payload = frame(frames, number).payload;
        bytes.insert(bytes.end(), payload.begin(), payload.end());
      }
      break;
  }
  return bytes;
}

std::string describe(const RoceHeaders& roce, std::size_t payload_length) {
  std::string text = to_string(roce) + ", pad " + std::to_string(roce.pad);
  text += ", MigReq " + std::to_string(roce.mig_req) + ", P_Key " + std::to_string(roce.pkey);
  return text + ", " + std::to_string(payload_length) + " B";
}

std::string describe(const FrameAddress& a) {
  return rocelab::to_string(a.src_mac) + " " + test::to_hex(std::as_bytes(std::span(a.src_gid))) + ":" +
         std::to_string(a.udp_src_port) + " > " + rocelab::to_string(a.dst_mac) + " " +
         test::to_hex(std::as_bytes(std::span(a.dst_gid))) + ", DSCP " + std::to_string(a.dscp);
}

}  // namespace rocelab::captures
