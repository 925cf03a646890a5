// des_bench SCENARIO LABEL [--trace] [--threads N] [--parts N]: one run of the scenario's first seed in
// virtual time, to completion, and what it cost, as one line of JSON. `./rocelab bench des` runs it;
// callgrind counts its instructions. "speedup_of_parts" is what as many cores as parts could make of the run
// at best: the work of all parts over that of the longest part of each round.
#include <time.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <string>
#include <string_view>

#include "emu/des/des_run.h"
#include "emu/runner/scenario.h"

namespace rocelab::des {
namespace {

double seconds(clockid_t clock) {
  timespec ts{};
  clock_gettime(clock, &ts);
  return static_cast<double>(ts.tv_sec) + static_cast<double>(ts.tv_nsec) * 1e-9;
}
double cpu_seconds() { return seconds(CLOCK_PROCESS_CPUTIME_ID); }

std::uint64_t thread_ns() {
  timespec ts{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
  return static_cast<std::uint64_t>(ts.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(ts.tv_nsec);
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

std::string work_json(const Engine& engine) {
  const PartWork& work = engine.work();
  if (work.busy.empty()) return "";
  std::string text = ", \"part_busy_s\": [";
  double all = 0;
  for (const std::uint64_t busy : work.busy) {
    text += (all > 0 ? ", " : "") + std::to_string(static_cast<double>(busy) * 1e-9);
    all += static_cast<double>(busy);
  }
  return text + "], \"speedup_of_parts\": " + std::to_string(all / static_cast<double>(work.critical));
}

int run(const std::string& file, const std::string& label, DesOptions options) {
  const double begin = cpu_seconds();
  if (options.parts > 0) options.clock = thread_ns;
  DesRun run(plan_of(file, label), options);
  const double ready = cpu_seconds(), wall_begin = seconds(CLOCK_MONOTONIC);
  while (!run.advance(1 << 12)) {
  }
  const double end = cpu_seconds(), wall = seconds(CLOCK_MONOTONIC) - wall_begin;
  std::uint64_t delivered = 0, completed = 0;
  const std::vector<FlowOutcome> flows = run.flows();
  for (std::size_t i = 0; i < flows.size(); ++i) {
    if (flows[i].placed.is_never()) continue;
    ++completed;
    delivered += run.plan().flows[i].packets;
  }
  std::printf("{\"label\": \"%s\", \"hosts\": %zu, \"switches\": %zu, \"flows\": %zu, \"completed\": %" PRIu64
              ", \"experiment_s\": %.9f, \"rounds\": %" PRIu64 ", \"delivered_data_packets\": %" PRIu64
              ", \"packet_hops\": %" PRIu64 ", \"drops\": %" PRIu64
              ", \"setup_cpu_s\": %.3f, \"cpu_s\": %.3f, \"delivered_data_packets_per_cpu_s\": %.0f, "
              "\"ns_per_packet_hop\": %.1f, \"peak_packets\": %zu, \"peak_bytes\": %" PRIu64
              ", \"threads\": %u, \"parts\": %u, \"wall_s\": %.3f%s}\n",
              label.c_str(), run.plan().world.hosts.size(), run.plan().world.switches.size(), flows.size(),
              completed, run.now().seconds(), run.rounds(), delivered, packet_hops(run), drops(run),
              ready - begin, end - ready, static_cast<double>(delivered) / (end - ready),
              (end - ready) * 1e9 / static_cast<double>(packet_hops(run)), run.network().peak_packets(),
              peak_bytes(), run.engine().threads(), run.network().last_part(), wall,
              work_json(run.engine()).c_str());
  return completed == flows.size() ? 0 : 1;
}

}  // namespace
}  // namespace rocelab::des

int main(int argc, char** argv) {
  using rocelab::des::DesOptions;
  DesOptions options;
  options.trace = false;
  bool good = argc >= 3;
  for (int i = 3; i < argc && good; ++i) {
    const std::string_view word = argv[i];
    std::uint32_t* number = word == "--threads" ? &options.threads
                            : word == "--parts" ? &options.parts
                                                : nullptr;
    if (word == "--trace")
      options.trace = true;
    else if (number != nullptr && i + 1 < argc)
      *number = static_cast<std::uint32_t>(std::strtoul(argv[++i], nullptr, 10));
    else
      good = false;
  }
  if (!good || options.threads == 0) {
    std::fprintf(stderr, "usage: des_bench SCENARIO LABEL [--trace] [--threads N] [--parts N]\n");
    return 2;
  }
  try {
    return rocelab::des::run(argv[1], argv[2], options);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "des_bench: %s\n", e.what());
    return 1;
  }
}
