// rocelab_perf: latency and bandwidth of one RDMA connection, on plain libibverbs. Without a server's address
// it is the server. See README.md in verbs_app.
#include <getopt.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>

#include "verbs_app/common/arguments.h"
#include "verbs_app/common/json_writer.h"
#include "verbs_app/perf/measure.h"

namespace rocelab::app {
namespace {

constexpr char kUsage[] =
    "usage: rocelab_perf [options]            server\n"
    "       rocelab_perf [options] ADDRESS    client\n"
    "  --op send|write|read  (write)\n"
    "  --size BYTES          (65536); --all: 1, 2, 4 ... 1048576\n"
    "  --iters N             (1000)\n"
    "  --json FILE           results as JSON, too\n"
    "  --port N (18516)  --bind ADDRESS (0.0.0.0)  --device NAME  --gid-index N (1)  --mtu BYTES (1024)\n"
    "  --timeout N (14)  --retry-cnt N (7)\n"
    "What is measured is the client's choice; the server needs none of --op, --size, --iters.\n";

constexpr std::uint32_t kMaxSize = 1u << 30;
constexpr std::uint32_t kLargestOfAll = 1u << 20;
constexpr int kWaitSeconds = 60;
constexpr std::uint32_t kPlan = 7;  // frame type

struct Command {
  Plan plan;
  PathOptions path;
  std::string server, bind = "0.0.0.0", device, json;
  std::uint16_t port = 18'516;
  std::uint32_t size = 65'536;
  bool all = false;
};

enum Id {
  kOp = 1,
  kSize,
  kAll,
  kIterations,
  kJson,
  kPort,
  kBind,
  kDevice,
  kGidIndex,
  kMtu,
  kTimeout,
  kRetryCount,
  kHelp
};
constexpr option kOptions[] = {
    {"op", required_argument, nullptr, kOp},
    {"size", required_argument, nullptr, kSize},
    {"all", no_argument, nullptr, kAll},
    {"iters", required_argument, nullptr, kIterations},
    {"json", required_argument, nullptr, kJson},
    {"port", required_argument, nullptr, kPort},
    {"bind", required_argument, nullptr, kBind},
    {"device", required_argument, nullptr, kDevice},
    {"gid-index", required_argument, nullptr, kGidIndex},
    {"mtu", required_argument, nullptr, kMtu},
    {"timeout", required_argument, nullptr, kTimeout},
    {"retry-cnt", required_argument, nullptr, kRetryCount},
    {"help", no_argument, nullptr, kHelp},
    {nullptr, 0, nullptr, 0},
};

Op parse_op(const std::string& text) {
  for (const Op op : {Op::kSend, Op::kWrite, Op::kRead})
    if (text == to_string(op)) return op;
  throw std::runtime_error("--op is send, write or read");
}

void take(Command& c, int id, const char* text) {
  switch (id) {
    case kOp:
      c.plan.op = parse_op(text);
      break;
    case kSize:
      c.size = to_integer<std::uint32_t>("--size", text, 1, kMaxSize);
      break;
    case kAll:
      c.all = true;
      break;
    case kIterations:
      c.plan.iterations = to_integer<std::uint32_t>("--iters", text, 1, 100'000'000);
      break;
    case kJson:
      c.json = text;
      break;
    case kPort:
      c.port = to_integer<std::uint16_t>("--port", text, 1, 65'535);
      break;
    case kBind:
      c.bind = text;
      break;
    case kDevice:
      c.device = text;
      break;
    case kGidIndex:
      c.path.gid_index = to_integer<int>("--gid-index", text, 0, 255);
      break;
    case kMtu:
      c.path.mtu = to_integer<int>("--mtu", text, 256, 4'096);
      break;
    case kTimeout:
      c.path.timeout = to_integer<int>("--timeout", text, 0, 31);
      break;
    case kRetryCount:
      c.path.retry_count = to_integer<int>("--retry-cnt", text, 0, 7);
      break;
    case kHelp:
      std::fputs(kUsage, stdout);
      std::exit(0);
    default:
      throw std::runtime_error("see rocelab_perf --help");
  }
}

Command parse(int argc, char** argv) {
  Command c;
  for (int id; (id = getopt_long(argc, argv, "", kOptions, nullptr)) != -1;) take(c, id, optarg);
  if (optind + 1 < argc) throw std::runtime_error("more than one server");
  if (optind < argc) c.server = argv[optind];
  if (c.all) {
    for (std::uint32_t size = 1; size <= kLargestOfAll; size *= 2) c.plan.sizes.push_back(size);
  } else {
    c.plan.sizes = {c.size};
  }
  return c;
}

void print(const Plan& plan, const std::vector<Row>& rows) {
  std::printf("RDMA %s\n%10s %12s %18s %12s %15s %12s\n", to_string(plan.op), "#bytes", "#iterations",
              "BW average[Gb/s]", "t_min[usec]", "t_median[usec]", "t_max[usec]");
  for (const Row& r : rows)
    std::printf("%10u %12u %18.3f %12.3f %15.3f %12.3f\n", r.size, r.iterations, r.bandwidth_gbps,
                r.latency_us.min, r.latency_us.median, r.latency_us.max);
}

std::string to_json(const Plan& plan, const std::vector<Row>& rows) {
  JsonWriter json;
  json.begin_object();
  json.member("op", to_string(plan.op));
  json.key("rows");
  json.begin_array();
  for (const Row& r : rows) {
    json.begin_object();
    json.member("bytes", r.size);
    json.member("iterations", r.iterations);
    json.key("bandwidth_gbps").value(r.bandwidth_gbps, 4);
    json.key("latency_min_us").value(r.latency_us.min, 4);
    json.key("latency_median_us").value(r.latency_us.median, 4);
    json.key("latency_max_us").value(r.latency_us.max, 4);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return json.text();
}

std::uint32_t largest(const Plan& plan) {
  std::uint32_t size = 1;
  for (const std::uint32_t s : plan.sizes) size = s > size ? s : size;
  return size;
}

int run_client(const Command& c) {
  Connection tcp = connect_to(c.server, c.port, kWaitSeconds);
  tcp.set_timeout(kWaitSeconds);
  tcp.send(kPlan, c.plan.encode());
  Side side(tcp, c.device, c.path, largest(c.plan), 0xfffff0);
  const std::vector<Row> rows = measure(side, c.plan);
  print(c.plan, rows);
  if (!c.json.empty() && !write_file(c.json, to_json(c.plan, rows)))
    throw std::runtime_error(c.json + ": " + std::strerror(errno));
  return 0;
}

int run_server(const Command& c) {
  Connection tcp = Listener(c.bind, c.port).accept(24 * 3'600);
  tcp.set_timeout(kWaitSeconds);
  const Frame frame = tcp.receive();
  if (frame.type != kPlan) throw std::runtime_error("the client is not a rocelab_perf");
  const Plan plan = Plan::decode(frame.bytes);
  for (const std::uint32_t size : plan.sizes)
    if (size > kMaxSize) throw std::runtime_error("the client asks for messages above 1 GiB");
  Side side(tcp, c.device, c.path, largest(plan), 0x123456);
  serve(side, plan);
  return 0;
}

}  // namespace
}  // namespace rocelab::app

int main(int argc, char** argv) {
  using namespace rocelab::app;
  try {
    const Command command = parse(argc, argv);
    return command.server.empty() ? run_server(command) : run_client(command);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "rocelab_perf: %s\n", e.what());
    return 1;
  }
}
