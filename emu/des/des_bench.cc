// des_bench SCENARIO LABEL [--trace]: one run of the scenario's first seed in virtual time, to completion,
// and what it cost, as one line of JSON. `./rocelab bench des` runs it; callgrind counts its instructions.
#include <time.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <string>

#include "emu/des/des_run.h"
#include "emu/runner/scenario.h"

namespace rocelab::des {
namespace {

double cpu_seconds() {
  timespec ts{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
  return static_cast<double>(ts.tv_sec) + static_cast<double>(ts.tv_nsec) * 1e-9;
}

// Peak of the resident set; getrusage's would count the parent's before exec.
std::uint64_t peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6)) * 1024;
  return 0;
}

// Arrivals of frames at nodes, PFC frames not counted.
std::uint64_t packet_hops(const DesRun& run) {
  std::uint64_t hops = 0;
  for (std::uint32_t p = 0; p < run.plan().world.ports.size(); ++p) hops += run.port_counters(p).rx_frames;
  for (std::uint32_t h = 0; h < run.plan().world.hosts.size(); ++h)
    if (run.network().takes_part(h)) hops += run.network().host(h).nic().counters().rx_packets;
  return hops;
}

std::uint64_t drops(const DesRun& run) {
  std::uint64_t sum = 0;
  for (std::uint32_t p = 0; p < run.plan().world.ports.size(); ++p) sum += run.port_counters(p).drops;
  return sum;
}

RunPlan plan_of(const std::string& file, const std::string& label) {
  const Scenario scenario = read_scenario(file);
  for (const Settings& settings : scenario.settings)
    if (settings.label == label) return make_plan(scenario, settings, scenario.seeds.front());
  throw std::runtime_error(file + " has no label " + label);
}

int run(const std::string& file, const std::string& label, bool trace) {
  const double begin = cpu_seconds();
  DesOptions options;
  options.trace = trace;
  DesRun run(plan_of(file, label), options);
  const double ready = cpu_seconds();
  while (!run.advance(1 << 12)) {
  }
  const double end = cpu_seconds();
  std::uint64_t delivered = 0, completed = 0;
  const std::vector<FlowOutcome> flows = run.flows();
  for (std::size_t i = 0; i < flows.size(); ++i) {
    if (flows[i].placed.is_never()) continue;
    ++completed;
    delivered += run.plan().flows[i].packets;
  }
  std::printf("{\"label\": \"%s\", \"hosts\": %zu, \"switches\": %zu, \"flows\": %zu, \"completed\": %" PRIu64
              ", \"experiment_s\": %.9f, \"windows\": %" PRIu64 ", \"delivered_data_packets\": %" PRIu64
              ", \"packet_hops\": %" PRIu64 ", \"drops\": %" PRIu64
              ", \"setup_cpu_s\": %.3f, \"cpu_s\": %.3f, \"delivered_data_packets_per_cpu_s\": %.0f, "
              "\"ns_per_packet_hop\": %.1f, \"peak_packets\": %zu, \"peak_bytes\": %" PRIu64 "}\n",
              label.c_str(), run.plan().world.hosts.size(), run.plan().world.switches.size(), flows.size(),
              completed, run.now().seconds(), run.windows(), delivered, packet_hops(run), drops(run),
              ready - begin, end - ready, static_cast<double>(delivered) / (end - ready),
              (end - ready) * 1e9 / static_cast<double>(packet_hops(run)), run.network().peak_packets(),
              peak_bytes());
  return completed == flows.size() ? 0 : 1;
}

}  // namespace
}  // namespace rocelab::des

int main(int argc, char** argv) {
  const bool trace = argc == 4 && std::strcmp(argv[3], "--trace") == 0;
  if (argc != 3 && !trace) {
    std::fprintf(stderr, "usage: des_bench SCENARIO LABEL [--trace]\n");
    return 2;
  }
  try {
    return rocelab::des::run(argv[1], argv[2], trace);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "des_bench: %s\n", e.what());
    return 1;
  }
}
