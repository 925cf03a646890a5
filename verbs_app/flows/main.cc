// rocelab_flows: runs a list of RDMA flows between hosts, on plain libibverbs. See README.md beside it.
#include <getopt.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "verbs_app/common/arguments.h"
#include "verbs_app/common/json_writer.h"
#include "verbs_app/flows/report.h"
#include "verbs_app/flows/runner.h"

namespace rocelab::app {
namespace {

constexpr char kUsage[] =
    "usage: rocelab_flows --flows FILE --hosts FILE --me NAME [options]\n"
    "  --flows FILE        id src dst op size message_size start_ns qps [label [after] [dscp=N]], one a "
    "line\n"
    "  --hosts FILE        name and IPv4 address, one a line\n"
    "  --me NAME[,NAME..]  which of the hosts this process is; several: one for each device of a machine\n"
    "  --out FILE          write the records there as JSON (default: standard output)\n"
    "  --verify            fill payload with a pattern and check it at the destination\n"
    "  --port N            TCP port of all processes (18515)\n"
    "  --device NAME[,..]  RDMA device (the first one); of several hosts: as many\n"
    "  --gid-index N       (1)\n"
    "  --mtu BYTES         path MTU (1024)\n"
    "  --timeout N         local ACK timeout, 4.096 us * 2^N, 0: none (14)\n"
    "  --retry-cnt N       (7)\n"
    "  --rnr-retry N       7: for ever (7)\n"
    "  --traffic-class N   (0)\n"
    "  --depth N           messages posted ahead per QP (64)\n"
    "  --recv-depth N      receives posted ahead per QP, SEND flows (256)\n"
    "  --exact-starts      flows start at their nanosecond, not up to one late, whatever came meanwhile\n"
    "  --epoch-delay NS    from the latest clock of all processes to start time 0 (0)\n"
    "  --setup-timeout S   to connect to all peers (60)\n"
    "  --leave-timeout S   to wait for peers when our own flows are over (2)\n";

struct Command {
  RunOptions run;
  std::vector<std::string> me, devices;
  std::string flows, hosts, out;
};

enum Id {
  kFlows = 1,
  kHosts,
  kMe,
  kOut,
  kVerify,
  kPort,
  kDevice,
  kGidIndex,
  kMtu,
  kTimeout,
  kRetryCount,
  kRnrRetry,
  kTrafficClass,
  kDepth,
  kRecvDepth,
  kExactStarts,
  kEpochDelay,
  kSetupTimeout,
  kLeaveTimeout,
  kHelp
};
constexpr option kOptions[] = {
    {"flows", required_argument, nullptr, kFlows},
    {"hosts", required_argument, nullptr, kHosts},
    {"me", required_argument, nullptr, kMe},
    {"out", required_argument, nullptr, kOut},
    {"verify", no_argument, nullptr, kVerify},
    {"port", required_argument, nullptr, kPort},
    {"device", required_argument, nullptr, kDevice},
    {"gid-index", required_argument, nullptr, kGidIndex},
    {"mtu", required_argument, nullptr, kMtu},
    {"timeout", required_argument, nullptr, kTimeout},
    {"retry-cnt", required_argument, nullptr, kRetryCount},
    {"rnr-retry", required_argument, nullptr, kRnrRetry},
    {"traffic-class", required_argument, nullptr, kTrafficClass},
    {"depth", required_argument, nullptr, kDepth},
    {"recv-depth", required_argument, nullptr, kRecvDepth},
    {"exact-starts", no_argument, nullptr, kExactStarts},
    {"epoch-delay", required_argument, nullptr, kEpochDelay},
    {"setup-timeout", required_argument, nullptr, kSetupTimeout},
    {"leave-timeout", required_argument, nullptr, kLeaveTimeout},
    {"help", no_argument, nullptr, kHelp},
    {nullptr, 0, nullptr, 0},
};

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ',');) words.push_back(word);
  return words;
}

void take(Command& c, int id, const char* text) {
  RunOptions& r = c.run;
  switch (id) {
    case kFlows:
      c.flows = text;
      break;
    case kHosts:
      c.hosts = text;
      break;
    case kMe:
      c.me = words_of(text);
      break;
    case kOut:
      c.out = text;
      break;
    case kVerify:
      r.verify = true;
      break;
    case kPort:
      r.port = to_integer<std::uint16_t>("--port", text, 1, 65'535);
      break;
    case kDevice:
      c.devices = words_of(text);
      break;
    case kGidIndex:
      r.path.gid_index = to_integer<int>("--gid-index", text, 0, 255);
      break;
    case kMtu:
      r.path.mtu = to_integer<int>("--mtu", text, 256, 4'096);
      break;
    case kTimeout:
      r.path.timeout = to_integer<int>("--timeout", text, 0, 31);
      break;
    case kRetryCount:
      r.path.retry_count = to_integer<int>("--retry-cnt", text, 0, 7);
      break;
    case kRnrRetry:
      r.path.rnr_retry = to_integer<int>("--rnr-retry", text, 0, 7);
      break;
    case kTrafficClass:
      r.path.traffic_class = to_integer<int>("--traffic-class", text, 0, 255);
      break;
    case kDepth:
      r.transfer.depth = to_integer<int>("--depth", text, 1, 16'384);
      break;
    case kRecvDepth:
      r.transfer.recv_depth = to_integer<int>("--recv-depth", text, 1, 16'384);
      break;
    case kExactStarts:
      r.exact_starts = true;
      break;
    case kEpochDelay:
      r.epoch_delay_ns = to_integer<std::int64_t>("--epoch-delay", text, 0, 1'000'000'000'000);
      break;
    case kSetupTimeout:
      r.setup_timeout_s = to_integer<int>("--setup-timeout", text, 1, 86'400);
      break;
    case kLeaveTimeout:
      r.leave_timeout_s = to_integer<int>("--leave-timeout", text, 0, 86'400);
      break;
    case kHelp:
      std::fputs(kUsage, stdout);
      std::exit(0);
    default:
      throw std::runtime_error("see rocelab_flows --help");
  }
}

Command parse(int argc, char** argv) {
  Command c;
  for (int id; (id = getopt_long(argc, argv, "", kOptions, nullptr)) != -1;) take(c, id, optarg);
  if (optind < argc) throw std::runtime_error(std::string("unexpected argument '") + argv[optind] + "'");
  if (c.flows.empty() || c.hosts.empty() || c.me.empty())
    throw std::runtime_error("--flows, --hosts and --me are needed; see rocelab_flows --help");
  if (c.devices.empty() && c.me.size() == 1) c.devices = {""};
  if (c.devices.size() != c.me.size())
    throw std::runtime_error("--device names " + std::to_string(c.devices.size()) + " devices and --me " +
                             std::to_string(c.me.size()) + " hosts: give each host its device");
  return c;
}

std::ifstream open(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error(path + ": " + std::strerror(errno));
  return in;
}

void write(const std::string& path, const std::string& json) {
  if (path.empty()) {
    std::fputs(json.c_str(), stdout);
  } else if (!write_file(path, json)) {
    throw std::runtime_error(path + ": " + std::strerror(errno));
  }
}

void complain(const Runner& runner) {
  for (const Transfer& t : runner.transfers())
    if (!t.record().over() || t.record().failed())
      std::fprintf(stderr, "rocelab_flows: flow %u (%s -> %s): %s\n", t.flow().id, t.flow().src.c_str(),
                   t.flow().dst.c_str(), t.record().over() ? t.record().status.c_str() : "not finished");
}

// One host's part of the run.
struct Part {
  RunOptions options;
  std::unique_ptr<Runner> runner;
  ReportHeader header{};
  std::exception_ptr failure;  // to connect to the others

  void connect(const std::vector<Flow>& flows, const std::vector<Host>& hosts) {
    try {
      runner = std::make_unique<Runner>(options, flows, hosts);
    } catch (...) {
      failure = std::current_exception();
    }
  }
  void run() {
    try {
      runner->run();
    } catch (const std::exception& e) {
      header.error = e.what();
      std::fprintf(stderr, "rocelab_flows: %s\n", e.what());
    }
    header.me = options.me;
    header.epoch_ns = runner->epoch();
    header.epoch_date_ns = runner->epoch_date();
    header.missing = runner->missing();
  }
  bool ok() const { return header.error.empty() && runner->all_ok(); }
};

// The first in the calling thread, each of the others in one of its own. They do not depend on each other.
template <class Work>
void in_threads(std::vector<Part>& parts, const Work& work) {
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < parts.size(); ++i)
    threads.emplace_back([&work, &part = parts[i]] { work(part); });
  work(parts.front());
  for (std::thread& thread : threads) thread.join();
}

std::string document_of(const std::vector<Part>& parts) {
  if (parts.size() == 1) return to_json(parts[0].header, parts[0].runner->transfers());
  std::string all;
  for (const Part& part : parts)
    all += (all.empty() ? "[" : ",") + to_json(part.header, part.runner->transfers());
  return all + "]\n";
}

int run(const Command& c) {
  std::ifstream flows_file = open(c.flows), hosts_file = open(c.hosts);
  const std::vector<Flow> flows = read_flows(flows_file, c.flows);
  const std::vector<Host> hosts = read_hosts(hosts_file, c.hosts);
  std::vector<Part> parts(c.me.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i].options = c.run;
    parts[i].options.me = c.me[i];
    parts[i].options.device = c.devices[i];
  }
  in_threads(parts, [&](Part& part) { part.connect(flows, hosts); });
  for (const Part& part : parts)
    if (part.failure) std::rethrow_exception(part.failure);
  in_threads(parts, [](Part& part) { part.run(); });
  write(c.out, document_of(parts));
  for (const Part& part : parts) complain(*part.runner);
  return std::ranges::all_of(parts, &Part::ok) ? 0 : 1;
}

}  // namespace
}  // namespace rocelab::app

int main(int argc, char** argv) {
  try {
    return rocelab::app::run(rocelab::app::parse(argc, argv));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "rocelab_flows: %s\n", e.what());
    return 2;
  }
}
