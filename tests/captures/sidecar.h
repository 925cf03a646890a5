// Sidecar: what a capture does not say of the exchange in it, and what its programs saw: NAME.toml beside
// NAME.pcap. The format is that of docs/reference/captures.md. What nobody noted is listed as unknown there
// and is a stand-in here (the defaults of QpAttr below).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/wire/frame.h"
#include "base/wire/test_frames.h"
#include "irn_provider/transport/verbs_types.h"

namespace rocelab::captures {

enum class End : std::uint8_t { kClient, kServer };
constexpr End other(End end) { return end == End::kClient ? End::kServer : End::kClient; }
std::string to_string(End end);
std::string to_string(WcStatus status);
std::string to_string(WcOpcode opcode);

// Bytes of memory or of a message.
struct Content {
  enum class Kind : std::uint8_t { kNone, kPattern, kBytes, kFrames };
  Kind kind = Kind::kNone;
  std::uint8_t first = 0, step = 0;  // kPattern: byte i is first + i * step
  test::ByteVector bytes;            // kBytes
  std::vector<int> frames;           // kFrames: the payloads of these frames, one behind the other
};

struct Region {
  std::uint64_t va = 0, length = 0;
  RKey rkey;                     // as its end named it
  std::optional<RKey> lkey;      // not on the wire; for the reader of the sidecar
  std::uint32_t access = 0;      // kAccess*
  Content content;               // before the first frame
  std::optional<Content> after;  // the last frame
};

struct Send {
  SendWqe wqe;  // without scatter list
  std::uint32_t length = 0;
  std::optional<std::uint64_t> local;  // null: not known where; `content` says what was there
  Content content;
  int posted_by = 1;  // frame by whose time it had been posted
};

struct Receive {
  std::uint64_t wr_id = 0;
  std::uint32_t length = 0;
  std::optional<std::uint64_t> local;
  int posted_by = 1;
};

struct Completion {
  bool receive = false;  // of a receive WQE
  std::size_t wqe = 0;   // its place in the list, from 0
  WcStatus status = WcStatus::kSuccess;
  WcOpcode opcode = WcOpcode::kSend;
  std::optional<std::uint32_t> byte_len, imm;
  std::optional<int> by;           // frame by whose time the program had seen it
  std::optional<Content> content;  // of the message, or of what a READ or an atomic brought
};

struct EndSpec {
  Gid gid{};
  MacAddress mac{};
  Qpn qpn;
  Psn first_psn;
  std::uint16_t udp_port = 0xc000;
  std::uint8_t dscp = 0;
  QpAttr attr;  // timers, retries, limits, rights, Q_Key
  std::vector<Region> regions;
  std::vector<Send> sends;
  std::vector<Receive> receives;
  std::vector<Completion> completions;
  bool send_completions_known = true, receive_completions_known = true;
};

// Where our legitimate behaviour is another than the recorded one.
struct Difference {
  enum class What : std::uint8_t {
    kMigReq,          // all frames of both ends have the other value
    kResponseBegins,  // FIRST or ONLY where `frames` have MIDDLE or LAST
    kNotSent,         // `frames` are not sent
    kSentAgain,       // a copy of each of `frames` more
  };
  What what = What::kMigReq;
  End end = End::kClient;
  std::vector<int> frames;
  std::string because;
};

struct Sidecar {
  std::filesystem::path path;
  bool has_connection = false;
  QpType type = QpType::kRc;
  std::uint32_t path_mtu = 1024;
  std::set<int> lost;       // frames that the capture shows and that did not arrive
  std::set<End> reordered;  // ends whose frames the network had reordered ahead of the capture
  EndSpec client, server;
  std::set<std::uint32_t> elsewhere;  // QPNs whose frames other tests look at
  std::vector<Difference> differences;

  const EndSpec& of(End end) const { return end == End::kClient ? client : server; }
};

// Throws ScenarioError with "file:line:column: complaint".
Sidecar read_sidecar(const std::filesystem::path& path);
Sidecar parse_sidecar(const std::string& text, const std::filesystem::path& path);

}  // namespace rocelab::captures
