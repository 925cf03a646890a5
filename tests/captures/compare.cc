#include "tests/captures/compare.h"

#include <algorithm>

#include "base/psn.h"
#include "base/wire/aeth.h"

namespace rocelab::captures {
namespace {

using Lines = std::vector<std::string>;
using What = Difference::What;

// A frame that ours is to send, after the sidecar's differences.
struct Expected {
  Frame frame;
  bool copy = false;  // of one that was recorded once less
};

bool names(const Difference& difference, What what, const Frame& frame) {
  return difference.what == what &&
         std::ranges::find(difference.frames, frame.number) != difference.frames.end();
}

// FIRST or ONLY for MIDDLE or LAST, with the AETH that the response's last packet has.
void begin_response(Frame& frame, const std::vector<Frame>& frames) {
  using enum Operation;
  const OpcodeInfo& info = opcode_info(frame.roce.opcode);
  frame.roce.opcode =
      make_opcode(info.transport, info.ends_message() ? kReadResponseOnly : kReadResponseFirst);
  for (const Frame& later : frames) {
    const OpcodeInfo& last = opcode_info(later.roce.opcode);
    if (later.number < frame.number || later.from != frame.from || !last.is_read_response()) continue;
    if (!last.has(Header::kAeth)) continue;
    frame.roce.syndrome = later.roce.syndrome, frame.roce.msn = later.roce.msn;
    return;
  }
}

std::vector<Expected> expected_of(const Sidecar& sidecar, const std::vector<Frame>& frames, End ours,
                                  Role role) {
  std::vector<Expected> all;
  for (const Frame& frame : frames) {
    if (frame.from != ours || frame.role() != role) continue;
    Expected one{frame};
    int times = 1;
    for (const Difference& difference : sidecar.differences) {
      if (difference.what == What::kMigReq) one.frame.roce.mig_req = !one.frame.roce.mig_req;
      if (names(difference, What::kResponseBegins, frame)) begin_response(one.frame, frames);
      if (names(difference, What::kNotSent, frame)) times = 0;
      if (names(difference, What::kSentAgain, frame)) times = 2;
    }
    for (; times > 0; --times, one.copy = true) all.push_back(one);
  }
  return all;
}

std::string hex(std::span<const std::byte> bytes) {
  return test::to_hex(bytes.first(std::min<std::size_t>(bytes.size(), 16))) + (bytes.size() > 16 ? ".." : "");
}

void compare_bytes(std::span<const std::byte> wanted, std::span<const std::byte> got, const std::string& of,
                   Lines& lines) {
  if (std::ranges::equal(wanted, got)) return;
  const auto at = static_cast<std::size_t>(std::ranges::mismatch(wanted, got).in1 - wanted.begin());
  if (wanted.size() != got.size())
    lines.push_back(of + ": " + std::to_string(got.size()) + " B, recorded " + std::to_string(wanted.size()));
  else
    lines.push_back(of + " differs from byte " + std::to_string(at) + ": " + hex(got.subspan(at)) +
                    ", recorded " + hex(wanted.subspan(at)));
}

// --- frames

void compare_frame(const Expected& wanted, const Sent& got, Lines& lines) {
  const Frame& recorded = wanted.frame;
  const std::string of = "frame " + std::to_string(recorded.number);
  if (got.roce != recorded.roce)
    lines.push_back(of + ": " + describe(got.roce, got.payload.size()) + "\n     recorded " +
                    describe(recorded.roce, recorded.payload.size()));
  if (describe(got.address) != describe(recorded.address))
    lines.push_back(of + ": " + describe(got.address) + "\n     recorded " + describe(recorded.address));
  compare_bytes(recorded.payload, got.payload, of + " payload", lines);
  if (recorded.role() == Role::kResponse && !wanted.copy && got.at > recorded.at)
    lines.push_back(of + " at " + to_string(got.at) + ", recorded at " + to_string(recorded.at));
}

// Of frames that the network reordered ahead of the capture only PSNs say which is which.
template <class Frames, class PsnOf>
void sort_by_psn(Frames& frames, UnwrappedPsn first, PsnOf psn_of) {
  std::ranges::stable_sort(frames, {}, [&](const auto& f) { return unwrap(psn_of(f), first); });
}

void compare_stream(const Sidecar& sidecar, const std::vector<Frame>& frames, End ours, Role role,
                    const Replay& replay, Lines& lines) {
  std::vector<Expected> wanted = expected_of(sidecar, frames, ours, role);
  std::vector<Sent> got;
  for (const Sent& s : replay.sent())
    if (opcode_info(s.roce.opcode).role == role) got.push_back(s);
  if (sidecar.reordered.contains(ours)) {
    const EndSpec& numbers = sidecar.of(role == Role::kRequest ? ours : other(ours));
    const auto first = static_cast<UnwrappedPsn>(numbers.first_psn.value());
    sort_by_psn(wanted, first, [](const Expected& e) { return e.frame.roce.psn; });
    sort_by_psn(got, first, [](const Sent& s) { return s.roce.psn; });
  }
  for (std::size_t i = 0; i < std::min(wanted.size(), got.size()); ++i)
    compare_frame(wanted[i], got[i], lines);
  for (std::size_t i = got.size(); i < wanted.size(); ++i)
    lines.push_back("not sent: frame " + std::to_string(wanted[i].frame.number) + ": " +
                    describe(wanted[i].frame.roce, wanted[i].frame.payload.size()));
  for (std::size_t i = wanted.size(); i < got.size(); ++i)
    lines.push_back("not recorded, at " + to_string(got[i].at) + ": " +
                    describe(got[i].roce, got[i].payload.size()));
}

// --- completions and memory

std::string text_of(const Cqe& cqe) {
  std::string text = "wr_id " + std::to_string(cqe.wr_id) + " " + to_string(cqe.opcode) + ": " +
                     to_string(cqe.status) + ", " + std::to_string(cqe.byte_len) + " B";
  return cqe.has_imm ? text + ", imm " + std::to_string(cqe.imm) : text;
}

void compare_completion(const Completion& wanted, const EndSpec& end, const Cqe& got, const std::string& of,
                        Lines& lines) {
  Cqe like = got;
  like.wr_id = wanted.receive ? end.receives[wanted.wqe].wr_id : end.sends[wanted.wqe].wqe.wr_id;
  like.status = wanted.status, like.opcode = wanted.opcode;
  like.byte_len = wanted.byte_len.value_or(got.byte_len);
  if (wanted.receive) like.has_imm = wanted.imm.has_value();
  like.imm = wanted.imm.value_or(got.imm);
  if (text_of(like) != text_of(got))
    lines.push_back(of + ": " + text_of(got) + "\n     seen " + text_of(like));
}

void compare_completions(const Sidecar& sidecar, const std::vector<Frame>& frames, End ours, bool receives,
                         Replay& replay, Lines& lines) {
  const EndSpec& end = sidecar.of(ours);
  if (!(receives ? end.receive_completions_known : end.send_completions_known)) return;
  const std::string queue = receives ? "receive completion " : "send completion ";
  const std::vector<Cqe>& got = replay.completions(receives);
  std::size_t place = 0;
  for (const Completion& wanted : end.completions) {
    if (wanted.receive != receives) continue;
    const std::string of = queue + std::to_string(++place);
    if (place > got.size()) {
      lines.push_back(of + " is missing");
      continue;
    }
    compare_completion(wanted, end, got[place - 1], of, lines);
    if (wanted.by && got[place - 1].time > frame(frames, *wanted.by).at)
      lines.push_back(of + " at " + to_string(got[place - 1].time) + ", seen by frame " +
                      std::to_string(*wanted.by));
    if (!wanted.content || got[place - 1].status != WcStatus::kSuccess) continue;
    const std::size_t grh = receives && sidecar.type == QpType::kUd ? kGrhBytes : 0;
    const auto memory = replay.memory_of(receives, wanted.wqe).subspan(grh);
    const std::size_t length =
        std::min<std::size_t>(memory.size(), receives ? got[place - 1].byte_len - grh : memory.size());
    compare_bytes(bytes_of(*wanted.content, length, frames), memory.first(length), of + " content", lines);
  }
  for (; place < got.size(); ++place)
    lines.push_back(queue + std::to_string(place + 1) + " was not seen: " + text_of(got[place]));
}

}  // namespace

std::vector<std::string> differences(const Sidecar& sidecar, const std::vector<Frame>& frames, End ours,
                                     Replay& replay) {
  Lines lines;
  for (const Role role : {Role::kRequest, Role::kResponse, Role::kNotification})
    compare_stream(sidecar, frames, ours, role, replay, lines);
  for (const bool receives : {false, true})
    compare_completions(sidecar, frames, ours, receives, replay, lines);
  const EndSpec& end = sidecar.of(ours);
  for (std::size_t i = 0; i < end.regions.size(); ++i)
    if (const auto& after = end.regions[i].after)
      compare_bytes(bytes_of(*after, end.regions[i].length, frames), replay.memory_of_region(i),
                    "region " + std::to_string(i + 1) + " afterwards", lines);
  if (!replay.ended()) lines.push_back("still waits for something long after the last frame");
  return lines;
}

}  // namespace rocelab::captures
