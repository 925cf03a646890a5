#include "verbs_app/flows/flow_list.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <tuple>

namespace rocelab::app {
namespace {

constexpr std::uint32_t kMaxQps = 256;
constexpr std::uint64_t kMaxMessage = std::uint64_t{1} << 31;  // of RDMA
constexpr std::uint64_t kMaxRate = 100'000'000'000'000;        // bits per second
constexpr double kMaxStreamPs = 1e18;
constexpr std::uint64_t kMaxSettleNs = 1'000'000'000'000'000;

std::vector<std::string> words_of(std::string line) {
  line.erase(std::find(line.begin(), line.end(), '#'), line.end());
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::uint64_t number(const std::string& word, const char* what, std::uint64_t min, std::uint64_t max) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || value < min || value > max)
    throw std::runtime_error(std::string(what) + " must be a whole number from " + std::to_string(min) +
                             " to " + std::to_string(max) + ", not '" + word + "'");
  return value;
}

// Decimal nanoseconds to picoseconds, exactly.
std::int64_t picoseconds(const std::string& word, const char* what) {
  const std::size_t point = word.find('.');
  const std::string whole = word.substr(0, point);
  std::string fraction = point == std::string::npos ? "" : word.substr(point + 1);
  constexpr std::uint64_t kMaxNs = 1'000'000'000'000'000;
  if (fraction.size() > 3 || (point != std::string::npos && fraction.empty()))
    throw std::runtime_error(std::string(what) + " has one to three digits after the point, not '" + word +
                             "'");
  fraction.resize(3, '0');
  return static_cast<std::int64_t>(number(whole, what, 0, kMaxNs) * 1'000 + number(fraction, what, 0, 999));
}

Op parse_op(const std::string& word) {
  for (const Op op : {Op::kSend, Op::kWrite, Op::kRead})
    if (word == to_string(op)) return op;
  throw std::runtime_error("op must be send, write or read, not '" + word + "'");
}

// "2/0,1+500"
void parse_after(const std::string& word, Flow& f) {
  const std::size_t slash = word.find('/');
  if (slash == std::string::npos)
    throw std::runtime_error("after is N/IDS, for example 2/0,1, not '" + word + "'");
  std::istringstream ids(word.substr(slash + 1));
  for (std::string id; std::getline(ids, id, ',');) {
    const std::size_t plus = id.find('+');
    After after{.flow =
                    static_cast<std::uint32_t>(number(id.substr(0, plus), "a flow of after", 0, 0xffffffff))};
    if (plus != std::string::npos)
      after.delay_ns =
          static_cast<std::int64_t>(number(id.substr(plus + 1), "a delay of after", 0, kMaxSettleNs));
    f.after.push_back(after);
  }
  f.after_count = static_cast<std::uint32_t>(number(word.substr(0, slash), "N of after", 1, f.after.size()));
}

Service parse_service(const std::string& word) {
  for (const Service service : {Service::kRc, Service::kUc, Service::kUd})
    if (word == to_string(service)) return service;
  throw std::runtime_error("service must be rc, uc or ud, not '" + word + "'");
}

// "dscp=34"
void parse_key(const std::string& word, Flow& f) {
  const std::size_t equals = word.find('=');
  const std::string key = word.substr(0, equals), value = word.substr(equals + 1);
  if (key == "dscp")
    f.dscp = static_cast<std::uint8_t>(number(value, "dscp", 0, 63));
  else if (key == "connect")
    f.connect_ps = picoseconds(value, "connect");
  else if (key == "connection")
    f.connection = static_cast<std::uint32_t>(number(value, "connection", 1, 0xffffffff));
  else if (key == "rate")
    f.rate_bps = number(value, "rate", 1, kMaxRate);
  else if (key == "on")
    f.on_ps = picoseconds(value, "on");
  else if (key == "off")
    f.off_ps = picoseconds(value, "off");
  else if (key == "service")
    f.service = parse_service(value);
  else if (key == "datagram")
    f.datagram = number(value, "datagram", 1, 4'096);
  else if (key == "stop")
    f.stop_ps = picoseconds(value, "stop");
  else if (key == "settle")
    f.settle_ns = static_cast<std::int64_t>(number(value, "settle", 0, kMaxSettleNs));
  else
    throw std::runtime_error(
        "a flow has the keys connect, connection, dscp, rate, on, off, service, datagram, stop and settle, "
        "not '" +
        key + "'");
}

void check_stream(const Flow& f) {
  if (!f.is_stream() && (f.on_ps > 0 || f.off_ps > 0)) throw std::runtime_error("on and off need a rate");
  if ((f.on_ps > 0) != (f.off_ps > 0)) throw std::runtime_error("on and off are said together, above 0");
  if (!f.is_stream()) return;
  if (f.op == Op::kRead) throw std::runtime_error("a stream is of op send or write");
  const double on_ps = static_cast<double>(f.size) * 8e12 / static_cast<double>(f.rate_bps),
               share = f.on_ps == 0 ? 1 : 1 + static_cast<double>(f.off_ps) / static_cast<double>(f.on_ps);
  if (on_ps * share + static_cast<double>(f.off_ps) > kMaxStreamPs)
    throw std::runtime_error("the stream lasts longer than 1,000,000 s");
}

void check_service(const Flow& f) {
  if (f.service == Service::kUc && f.op == Op::kRead) throw std::runtime_error("service uc has no read");
  if (f.service == Service::kUd && f.op != Op::kSend)
    throw std::runtime_error("service ud has op send alone");
  if ((f.service == Service::kUd) != (f.datagram > 0))
    throw std::runtime_error("service ud and a datagram's size are said together");
  if (!f.reliable() && !f.after.empty())
    throw std::runtime_error("a flow of service uc or ud starts at a time, not after others");
  if (f.requests() > 0xffffffff) throw std::runtime_error("more than 2^32 datagrams");
}

Flow parse_flow(std::vector<std::string> words) {
  Flow f;
  while (words.size() > 9 && words.back().find('=') != std::string::npos) {
    parse_key(words.back(), f);
    words.pop_back();
  }
  if (words.size() < 8 || words.size() > 10)
    throw std::runtime_error(
        "a flow is: id src dst op size message_size start_ns qps [label [after] [KEY=VALUE ..]]");
  f.id = static_cast<std::uint32_t>(number(words[0], "id", 0, 0xffffffff));
  f.src = words[1];
  f.dst = words[2];
  f.op = parse_op(words[3]);
  f.size = number(words[4], "size", 1, std::uint64_t{1} << 40);
  f.message_size = number(words[5], "message_size", 1, kMaxMessage);
  f.start_ps = picoseconds(words[6], "start_ns");
  f.qps = static_cast<std::uint32_t>(number(words[7], "qps", 1, kMaxQps));
  if (words.size() > 8) f.label = words[8];
  if (words.size() > 9) parse_after(words[9], f);
  if (f.src == f.dst) throw std::runtime_error("src and dst are the same host");
  if (f.messages() > 0xffffffff) throw std::runtime_error("more than 2^32 messages");
  check_stream(f);
  check_service(f);
  if (f.has_stop() && f.op == Op::kRead)
    throw std::runtime_error("a flow with a stop is of op send or write");
  if (f.connection != 0 && (f.is_stream() || !f.reliable()))
    throw std::runtime_error("a flow of a connection has service rc and no rate");
  if (f.destroys() && (f.numbered() || !f.after.empty() || f.op == Op::kRead || f.connection != 0))
    throw std::runtime_error(
        "a flow with connect is of service rc and op send or write, without rate, after, stop and "
        "connection");
  if (f.connects_late() && f.connect_ns() >= f.start_ns())
    throw std::runtime_error("connect must be before the start, or 0");
  if (f.stop_ps <= f.start_ps) throw std::runtime_error("the stop must be after the start");
  return f;
}

void each_line(std::istream& in, const std::string& name,
               const std::function<void(const std::vector<std::string>&)>& f) {
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    const std::vector<std::string> words = words_of(line);
    if (words.empty()) continue;
    try {
      f(words);
    } catch (const std::runtime_error& e) {
      throw std::runtime_error(name + ":" + std::to_string(number) + ": " + e.what());
    }
  }
}

// `flows`: sorted by id.
void check_after(const std::vector<Flow>& flows, const std::string& name) {
  for (const Flow& f : flows)
    for (const auto& [id, delay_ns] : f.after) {
      const auto other = std::lower_bound(flows.begin(), flows.end(), id,
                                          [](const Flow& a, std::uint32_t b) { return a.id < b; });
      const std::string who =
          name + ": flow " + std::to_string(f.id) + " waits for flow " + std::to_string(id);
      if (other == flows.end() || other->id != id) throw std::runtime_error(who + ", which is none");
      if (other->id == f.id || !other->end_known_to(f.requester()))
        throw std::runtime_error(who + ", of whose end '" + f.requester() + "' does not learn");
    }
}

void check_connections(const std::vector<Flow>& flows, const std::string& name) {
  std::map<std::uint32_t, const Flow*> first;
  for (const Flow& f : flows) {
    if (f.connection == 0) continue;
    const Flow& other = *first.try_emplace(f.connection, &f).first->second;
    if (std::tie(f.src, f.dst, f.op, f.qps, f.dscp, f.stop_ps, f.settle_ns) !=
        std::tie(other.src, other.dst, other.op, other.qps, other.dscp, other.stop_ps, other.settle_ns))
      throw std::runtime_error(
          name + ": flows " + std::to_string(other.id) + " and " + std::to_string(f.id) +
          " are of one connection, and differ in source, destination, op, qps, dscp, stop or settle");
  }
}

}  // namespace

const char* to_string(Op op) {
  switch (op) {
    case Op::kSend:
      return "send";
    case Op::kWrite:
      return "write";
    case Op::kRead:
      return "read";
  }
  return "?";
}

std::int64_t Flow::due_ns(std::uint64_t message) const {
  if (!is_stream()) return start_ns();
  const unsigned __int128 bit_ps = static_cast<unsigned __int128>(message) * message_size * 8'000'000'000'000;
  auto after_ps = static_cast<std::int64_t>((bit_ps + rate_bps - 1) / rate_bps);
  if (on_ps > 0) after_ps += after_ps / on_ps * off_ps;
  return (start_ps + after_ps + 999) / 1'000;
}

const char* to_string(Service service) {
  switch (service) {
    case Service::kRc:
      return "rc";
    case Service::kUc:
      return "uc";
    case Service::kUd:
      return "ud";
  }
  return "?";
}

std::uint64_t Flow::requests() const {
  if (service != Service::kUd) return messages();
  const auto datagrams = [this](std::uint64_t bytes) { return (bytes + datagram - 1) / datagram; };
  return size / message_size * datagrams(message_size) + datagrams(size % message_size);
}

Part Flow::part(std::uint64_t request) const {
  const bool cut = service == Service::kUd;
  const std::uint64_t each = cut ? datagram : message_size, of_message = (message_size + each - 1) / each;
  Part part;
  part.message = request / of_message;
  const std::uint64_t begin = request % of_message * each;
  part.offset = part.message * message_size + begin;
  part.length = static_cast<std::uint32_t>(std::min({each, message_size - begin, size - part.offset}));
  return part;
}

std::vector<Flow> read_flows(std::istream& in, const std::string& name) {
  std::vector<Flow> flows;
  std::set<std::uint32_t> ids;
  each_line(in, name, [&](const std::vector<std::string>& words) {
    flows.push_back(parse_flow(words));
    if (!ids.insert(flows.back().id).second)
      throw std::runtime_error("flow id " + words[0] + " is used twice");
  });
  if (flows.empty()) throw std::runtime_error(name + ": no flows");
  std::sort(flows.begin(), flows.end(), [](const Flow& a, const Flow& b) { return a.id < b.id; });
  check_after(flows, name);
  check_connections(flows, name);
  return flows;
}

std::vector<Host> read_hosts(std::istream& in, const std::string& name) {
  std::vector<Host> hosts;
  std::set<std::string> names;
  each_line(in, name, [&](const std::vector<std::string>& words) {
    if (words.size() != 2) throw std::runtime_error("a host is: name address");
    if (!names.insert(words[0]).second) throw std::runtime_error("host '" + words[0] + "' is named twice");
    hosts.push_back({words[0], words[1]});
  });
  return hosts;
}

std::vector<Host> participants(const std::vector<Flow>& flows, const std::vector<Host>& hosts) {
  std::set<std::string> used;
  for (const Flow& f : flows) used.insert({f.src, f.dst});
  std::vector<Host> result;
  for (const Host& h : hosts)
    if (used.erase(h.name) > 0) result.push_back(h);
  if (!used.empty()) throw std::runtime_error("the hosts file has no address for '" + *used.begin() + "'");
  return result;
}

}  // namespace rocelab::app
