#include "tests/captures/sidecar.h"

#include <array>
#include <limits>

#include "tests/captures/sidecar_section.h"

namespace rocelab::captures {
namespace {

constexpr std::int64_t kMaxQpn = 0xffffff, kMaxWord = std::numeric_limits<std::int64_t>::max(),
                       kMax32 = 0xffffffff;
constexpr std::uint32_t kAllRights =
    kAccessLocalWrite | kAccessRemoteWrite | kAccessRemoteRead | kAccessRemoteAtomic;

constexpr std::array<Named<End>, 2> kEnds{{{"client", End::kClient}, {"server", End::kServer}}};
constexpr std::array<Named<QpType>, 3> kTypes{
    {{"rc", QpType::kRc}, {"uc", QpType::kUc}, {"ud", QpType::kUd}}};
constexpr std::array<Named<WrOpcode>, 7> kOps{{{"send", WrOpcode::kSend},
                                               {"send_imm", WrOpcode::kSendImm},
                                               {"write", WrOpcode::kWrite},
                                               {"write_imm", WrOpcode::kWriteImm},
                                               {"read", WrOpcode::kRead},
                                               {"compare_swap", WrOpcode::kCompareSwap},
                                               {"fetch_add", WrOpcode::kFetchAdd}}};
constexpr std::array<Named<WcOpcode>, 7> kCompleted{{{"send", WcOpcode::kSend},
                                                     {"write", WcOpcode::kWrite},
                                                     {"read", WcOpcode::kRead},
                                                     {"compare_swap", WcOpcode::kCompareSwap},
                                                     {"fetch_add", WcOpcode::kFetchAdd},
                                                     {"recv", WcOpcode::kRecv},
                                                     {"recv_write_imm", WcOpcode::kRecvWriteImm}}};
// As ibv_wc_status_str() has them.
constexpr std::array<Named<WcStatus>, 12> kStatuses{
    {{"success", WcStatus::kSuccess},
     {"local length error", WcStatus::kLocLenErr},
     {"local QP operation error", WcStatus::kLocQpOpErr},
     {"local protection error", WcStatus::kLocProtErr},
     {"Work Request Flushed Error", WcStatus::kWrFlushErr},
     {"bad response error", WcStatus::kBadRespErr},
     {"local access error", WcStatus::kLocAccessErr},
     {"remote invalid request error", WcStatus::kRemInvReqErr},
     {"remote access error", WcStatus::kRemAccessErr},
     {"remote operation error", WcStatus::kRemOpErr},
     {"transport retry counter exceeded", WcStatus::kRetryExcErr},
     {"RNR retry counter exceeded", WcStatus::kRnrRetryExcErr}}};
constexpr std::array<Named<Difference::What>, 4> kDifferences{
    {{"mig_req", Difference::What::kMigReq},
     {"response_begins", Difference::What::kResponseBegins},
     {"not_sent", Difference::What::kNotSent},
     {"sent_again", Difference::What::kSentAgain}}};

template <class Words, class Value>
std::string name_of(const Words& words, Value value) {
  for (const auto& [word, meaning] : words)
    if (meaning == value) return std::string(word);
  return std::to_string(static_cast<unsigned>(value));
}

// In the place of what is unknown: values with which nothing ends by itself, and everything is allowed.
QpAttr stand_ins() {
  QpAttr attr;
  attr.timeout = 14, attr.retry_cnt = 7, attr.rnr_retry = 7;
  attr.max_rd_atomic = attr.max_dest_rd_atomic = 16;
  attr.access_flags = kAllRights;
  return attr;
}

QpAttr read_attributes(ConfigSection& end, QpType type, Unknown& unknown) {
  QpAttr attr = stand_ins();
  const auto number = [&](const char* key, std::uint8_t& value, int most) {
    if (unknown.given(end, key, key)) value = static_cast<std::uint8_t>(end.integer(key, 0, 0, most));
  };
  if (type == QpType::kRc) {
    number("timeout", attr.timeout, 31);
    number("retry_cnt", attr.retry_cnt, 7);
    number("rnr_retry", attr.rnr_retry, 7);
    number("min_rnr_timer", attr.min_rnr_timer, 31);
    number("max_rd_atomic", attr.max_rd_atomic, 255);
    number("max_dest_rd_atomic", attr.max_dest_rd_atomic, 255);
  }
  if (type == QpType::kUd)
    attr.qkey = static_cast<std::uint32_t>(need_integer(end, "qkey", 0, kMax32));
  else if (unknown.given(end, "access", "access"))
    attr.access_flags = access(end, "access");
  return attr;
}

Region read_region(ConfigSection section, Unknown& unknown) {
  Region region;
  region.va = static_cast<std::uint64_t>(need_integer(section, "va", 0, kMaxWord));
  region.rkey = RKey{static_cast<std::uint32_t>(need_integer(section, "rkey", 0, kMax32))};
  region.length = need_length(section, kMaxMessageBytes);
  region.access = unknown.given(section, "access", "regions.access") ? access(section, "access") : kAllRights;
  if (unknown.given(section, "lkey", "regions.lkey"))
    region.lkey = RKey{static_cast<std::uint32_t>(section.integer("lkey", 0, 0, kMax32))};
  if (unknown.given(section, "content", "regions.content")) region.content = content(section, "content");
  if (section.has("after")) region.after = content(section, "after");
  section.finish();
  return region;
}

void read_remote(ConfigSection& section, Send& send) {
  SendWqe& wqe = send.wqe;
  wqe.remote_addr = static_cast<std::uint64_t>(need_integer(section, "remote_va", 0, kMaxWord));
  wqe.rkey = RKey{static_cast<std::uint32_t>(need_integer(section, "rkey", 0, kMax32))};
  if (wqe.opcode == WrOpcode::kFetchAdd) wqe.compare_add = need_64_bits(section, "add");
  if (wqe.opcode != WrOpcode::kCompareSwap) return;
  wqe.compare_add = need_64_bits(section, "compare");
  wqe.swap = need_64_bits(section, "swap");
}

Send read_send(ConfigSection& section, Unknown& unknown, std::size_t place) {
  Send send;
  SendWqe& wqe = send.wqe;
  wqe.opcode = need_one_of(section, "op", kOps);
  wqe.wr_id = unknown.given(section, "wr_id", "sends.wr_id")
                  ? static_cast<std::uint64_t>(section.integer("wr_id", 0, 0, kMaxWord))
                  : place + 1;
  send.length = is_atomic(wqe.opcode)
                    ? kAtomicBytes
                    : static_cast<std::uint32_t>(need_integer(section, "length", 0, kMaxMessageBytes));
  send.posted_by = static_cast<int>(need_integer(section, "posted_by", 1, kMaxWord >> 32));
  if (wqe.opcode != WrOpcode::kSend && wqe.opcode != WrOpcode::kSendImm) read_remote(section, send);
  if (wqe.opcode == WrOpcode::kSendImm || wqe.opcode == WrOpcode::kWriteImm)
    wqe.imm = static_cast<std::uint32_t>(need_integer(section, "imm", 0, kMax32));
  wqe.solicited = section.boolean("solicited", false);
  wqe.fence = section.boolean("fence", false);
  wqe.signaled = section.boolean("signaled", true);
  if (unknown.given(section, "local", "sends.local"))
    send.local = static_cast<std::uint64_t>(section.integer("local", 0, 0, kMaxWord));
  const bool brings_data = fetches(wqe.opcode) || send.length == 0 || send.local;
  if (section.has("content") == brings_data)
    section.fail(brings_data ? "\"content\" is of what is sent, where no \"local\" says where it stands"
                             : "needs \"content\", since it is not known where its data stands");
  send.content = content(section, "content");
  return send;
}

Receive read_receive(ConfigSection& section, Unknown& unknown, std::size_t place) {
  Receive receive;
  receive.wr_id = unknown.given(section, "wr_id", "receives.wr_id")
                      ? static_cast<std::uint64_t>(section.integer("wr_id", 0, 0, kMaxWord))
                      : place + 1;
  receive.length = static_cast<std::uint32_t>(need_length(section, kMaxMessageBytes));
  if (unknown.given(section, "local", "receives.local"))
    receive.local = static_cast<std::uint64_t>(section.integer("local", 0, 0, kMaxWord));
  receive.posted_by = static_cast<int>(section.integer("posted_by", 1, 1, kMaxWord >> 32));
  return receive;
}

// WQEs with `count` stand for as many alike.
template <class Wqe, class Read>
std::vector<Wqe> read_wqes(ConfigSection& end, const char* key, Unknown& unknown, Read read) {
  std::vector<Wqe> wqes;
  for (ConfigSection& section : end.tables(key)) {
    const std::int64_t count = section.integer("count", 1, 1, 65'536);
    for (std::int64_t i = 0; i < count; ++i) wqes.push_back(read(section, unknown, wqes.size()));
    section.finish();
  }
  return wqes;
}

Completion read_completion(ConfigSection section, const EndSpec& end) {
  Completion c;
  c.receive = section.has("receive");
  if (c.receive == section.has("send"))
    section.fail("needs either \"send\" or \"receive\": which WQE's it is");
  const std::size_t posted = c.receive ? end.receives.size() : end.sends.size();
  c.wqe = static_cast<std::size_t>(
              need_integer(section, c.receive ? "receive" : "send", 1, static_cast<std::int64_t>(posted))) -
          1;
  c.status = need_one_of(section, "status", kStatuses);
  c.opcode = need_one_of(section, "opcode", kCompleted);
  if (section.has("by")) c.by = static_cast<int>(section.integer("by", 1, 1, kMaxWord >> 32));
  if (section.has("byte_len"))
    c.byte_len = static_cast<std::uint32_t>(section.integer("byte_len", 0, 0, kMaxMessageBytes));
  if (section.has("imm")) c.imm = static_cast<std::uint32_t>(section.integer("imm", 0, 0, kMax32));
  if (section.has("content")) c.content = content(section, "content");
  section.finish();
  return c;
}

EndSpec read_end(ConfigSection section, QpType type, std::uint32_t path_mtu) {
  EndSpec end;
  Unknown unknown(section);
  end.gid = need_ip(section, "ip");
  end.mac = need_mac(section, "mac");
  end.qpn = Qpn{static_cast<std::uint32_t>(need_integer(section, "qpn", 2, kMaxQpn))};
  end.first_psn = Psn(static_cast<std::uint32_t>(need_integer(section, "first_psn", 0, Psn::kMask)));
  if (unknown.given(section, "udp_port", "udp_port"))
    end.udp_port = static_cast<std::uint16_t>(section.integer("udp_port", 0, 0, 0xffff));
  end.dscp = static_cast<std::uint8_t>(section.integer("dscp", 0, 0, 63));
  end.attr = read_attributes(section, type, unknown);
  end.attr.path_mtu = path_mtu;
  for (const ConfigSection& region : section.tables("regions"))
    end.regions.push_back(read_region(region, unknown));
  end.sends = read_wqes<Send>(section, "sends", unknown, read_send);
  end.receives = read_wqes<Receive>(section, "receives", unknown, read_receive);
  end.send_completions_known = !unknown.lists("completions.send");
  end.receive_completions_known = !unknown.lists("completions.receive");
  for (const ConfigSection& completion : section.tables("completions")) {
    const Completion c = read_completion(completion, end);
    if (!(c.receive ? end.receive_completions_known : end.send_completions_known))
      completion.fail("is given, and its kind is listed as unknown");
    end.completions.push_back(c);
  }
  unknown.finish(section);
  section.finish();
  return end;
}

Difference read_difference(ConfigSection section) {
  Difference d;
  d.what = need_one_of(section, "what", kDifferences);
  if (d.what != Difference::What::kMigReq) {
    d.end = need_one_of(section, "end", kEnds);
    d.frames = need_frames(section, "frames");
  }
  d.because = need_text(section, "because");
  section.finish();
  return d;
}

void read_connection(ConfigSection& root, Sidecar& sidecar) {
  sidecar.type = need_one_of(root, "type", kTypes);
  sidecar.path_mtu = static_cast<std::uint32_t>(need_integer(root, "path_mtu", 256, 4096));
  if (root.has("lost"))
    for (const int frame : need_frames(root, "lost")) sidecar.lost.insert(frame);
  for (const std::string& end : root.texts("reordered", {}))
    sidecar.reordered.insert(value_of(root, "reordered", end, kEnds));
  for (const ConfigSection& difference : root.tables("differs"))
    sidecar.differences.push_back(read_difference(difference));
  for (const char* end : {"client", "server"})
    if (!root.has(end)) root.fail(std::string("the sidecar needs the table [") + end + "]");
  sidecar.client = read_end(root.table("client"), sidecar.type, sidecar.path_mtu);
  sidecar.server = read_end(root.table("server"), sidecar.type, sidecar.path_mtu);
  sidecar.has_connection = true;
}

}  // namespace

std::string to_string(End end) { return name_of(kEnds, end); }

std::string to_string(WcStatus status) { return name_of(kStatuses, status); }
std::string to_string(WcOpcode opcode) { return name_of(kCompleted, opcode); }

Sidecar parse_sidecar(const std::string& text, const std::filesystem::path& path) {
  const ConfigNode document = parse_toml(text, path.string());
  ConfigSection root(&document, "", nullptr);
  Sidecar sidecar;
  sidecar.path = path;
  for (ConfigSection& section : root.tables("elsewhere")) {
    sidecar.elsewhere.insert(static_cast<std::uint32_t>(need_integer(section, "qpn", 0, kMaxQpn)));
    need_text(section, "test");
    section.finish();
  }
  if (sidecar.elsewhere.empty() || root.has("type")) read_connection(root, sidecar);
  root.finish();
  return sidecar;
}

Sidecar read_sidecar(const std::filesystem::path& path) {
  const test::ByteVector bytes = test::read_file(path);
  return parse_sidecar({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

}  // namespace rocelab::captures
