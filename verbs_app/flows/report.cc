#include "verbs_app/flows/report.h"

#include "verbs_app/common/json_writer.h"

namespace rocelab::app {
namespace {

constexpr std::int64_t kPsPerNs = 1'000;

// Picoseconds since the epoch. The clock that they were read from has 1 ns.
std::optional<std::int64_t> since(std::int64_t epoch, std::optional<std::int64_t> ns) {
  if (!ns) return std::nullopt;
  return (*ns - epoch) * kPsPerNs;
}

void write_qpns(JsonWriter& json, const char* name, const std::vector<std::uint32_t>& qpns) {
  json.key(name);
  json.begin_array();
  for (const std::uint32_t qpn : qpns) json.value(qpn);
  json.end_array();
}

void write_messages(JsonWriter& json, const Transfer& t) {
  if (t.is_source()) return json.member("sent", t.script().done());
  const Arrivals& a = t.script().arrivals();
  json.member("delivered", a.messages);
  json.member("latency_sum_ps", a.latency_sum_ns * kPsPerNs);
  json.member("latency_max_ps", a.latency_max_ns * kPsPerNs);
  json.member("last_ps", a.last_ns < 0 ? std::nullopt : std::optional(a.last_ns * kPsPerNs));
}

void write_flow(JsonWriter& json, const Transfer& t, std::int64_t epoch) {
  const Flow& f = t.flow();
  const FlowRecord& r = t.record();
  json.begin_object();
  json.member("id", f.id);
  json.member("src", std::string_view(f.src));
  json.member("dst", std::string_view(f.dst));
  json.member("role", t.is_source() ? "source" : "sink");
  json.member("requester", t.is_requester());
  json.member("op", to_string(f.op));
  json.member("size", f.size);
  json.member("message_size", f.message_size);
  json.member("label", std::string_view(f.label));
  json.member("start_ps", f.start_ps);
  json.member("posted_ps", since(epoch, r.posted));
  json.member("placed_ps", since(epoch, r.placed));
  json.member("cqe_ps", since(epoch, r.cqe));
  json.member("status", r.over() ? std::string_view(r.status) : std::string_view("not finished"));
  json.member("bytes", r.bytes);
  if (f.numbered()) write_messages(json, t);
  json.member("verified", r.verified);
  write_qpns(json, "local_qpns", t.local_qpns());
  write_qpns(json, "remote_qpns", t.remote_qpns());
  json.end_object();
}

}  // namespace

std::string to_json(const ReportHeader& header, const std::vector<Transfer>& transfers) {
  JsonWriter json;
  json.begin_object();
  json.member("me", std::string_view(header.me));
  json.member("epoch_realtime_ns", header.epoch_date_ns);
  json.member("clock_resolution_ps", kPsPerNs);
  if (!header.error.empty()) json.member("error", std::string_view(header.error));
  json.key("missing_peers");
  json.begin_array();
  for (const std::string& name : header.missing) json.value(std::string_view(name));
  json.end_array();
  json.key("flows");
  json.begin_array();
  for (const Transfer& t : transfers) write_flow(json, t, header.epoch_ns);
  json.end_array();
  json.end_object();
  return json.text();
}

}  // namespace rocelab::app
