// lossless_traffic: hosts without programs, for smoke tests and for the cost of the switch process. It
// creates a segment with switches in a line, plays every host itself, and lets each send a number of frames
// to the host `distance` places further on. The switch process attaches to the segment meanwhile (ovs-appctl
// lossless/attach).
//
//   lossless_traffic SEGMENT [--switches=N] [--hosts=N per switch] [--frames=N per host] [--distance=N]
//   [--gap-ns=N] [--trace-dir=DIR] [--pcap-dir=DIR]
//
// Prints one JSON line when the segment is ready and one when everything that can arrive has arrived.
#include <sched.h>

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/futex.h"
#include "lockstep/segment.h"
#include "ovs_patches/netdev/test_hosts.h"

namespace rocelab {
namespace {

using lockstep::RunState;

struct Options {
  std::string segment;
  std::map<std::string, std::string> values;
  std::int64_t number(const char* key, std::int64_t otherwise) const {
    const auto found = values.find(key);
    return found != values.end() ? std::strtoll(found->second.c_str(), nullptr, 10) : otherwise;
  }
  std::string text(const char* key) const { return values.contains(key) ? values.at(key) : ""; }
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::size_t equals = argument.find('=');
    if (argument.starts_with("--") && equals != std::string::npos)
      options.values[argument.substr(2, equals - 2)] = argument.substr(equals + 1);
    else
      options.segment = argument;
  }
  return options;
}

lockstep::SegmentPlan plan_of(const Options& o) {
  lockstep::SegmentPlan plan =
      TestPlan::make({.switches = static_cast<std::uint32_t>(o.number("switches", 1)),
                      .hosts_each = static_cast<std::uint32_t>(o.number("hosts", 2)),
                      .frames_per_vf = 16384});
  plan.expected_participants = static_cast<std::uint32_t>(plan.world.hosts.size());
  plan.trace_dir = o.text("trace-dir");
  plan.pcap_dir = o.text("pcap-dir");
  if (!plan.trace_dir.empty()) plan.sample_interval = 10_us;
  return plan;
}

int run(const Options& o) {
  lockstep::Segment segment = lockstep::Segment::create(o.segment, plan_of(o));
  lockstep::Header& header = segment.header();
  std::vector<std::unique_ptr<FakeVf>> vfs;
  for (std::uint32_t vf = 0; vf < segment.vfs().size(); ++vf)
    vfs.push_back(std::make_unique<FakeVf>(segment, vf));
  const std::int64_t frames = o.number("frames", 1), gap_ns = o.number("gap-ns", 0),
                     distance = o.number("distance", 1);
  for (std::size_t h = 0; h < vfs.size(); ++h)
    for (std::int64_t i = 0; i < frames; ++i)
      vfs[h]->send(at(Duration::from_ps(i * gap_ns * 1000)),
                   segment.hosts()[(h + static_cast<std::size_t>(distance)) % vfs.size()]);
  std::printf("{\"ready\": true, \"ports\": %u}\n", header.ports);
  std::fflush(stdout);

  const std::uint64_t expected = static_cast<std::uint64_t>(frames) * vfs.size();
  std::uint64_t received = 0;
  auto begin = std::chrono::steady_clock::now();
  bool started = false;
  std::uint64_t windows = 0;
  int idle = 0;
  auto moved = begin;
  while (received < expected && header.state.load() <= RunState::kRunning) {
    const auto now = std::chrono::steady_clock::now();
    if (header.windows.load() != windows) {
      if (!started) begin = now;
      started = true;
      windows = header.windows.load();
      moved = now;
      idle = 0;
    }
    if (started && now - moved > std::chrono::seconds(10)) break;  // time stands: the rest was lost
    received = 0;
    for (auto& vf : vfs) {
      vf->run();
      received += vf->data_received();
    }
    // Yielding alone starves on a busy machine; a sleeper is woken soon.
    lockstep::VfSlot& slot = vfs.front()->slot();
    if (++idle < 20)
      sched_yield();
    else
      lockstep::futex_wait(slot.grant_seq, slot.done_seq.load(), 100'000);
  }
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::uint64_t intact = 0;
  Time last = Time::zero();
  for (auto& vf : vfs)
    for (const auto& r : vf->data()) {
      intact += r.intact ? 1 : 0;
      last = std::max(last, r.due);
    }
  std::printf("{\"received\": %" PRIu64 ", \"expected\": %" PRIu64 ", \"intact\": %" PRIu64
              ", \"last_due_ps\": %" PRId64 ", \"windows\": %" PRIu64
              ", \"wall_s\": %.6f, \"error\": \"%s\"}\n",
              received, expected, intact, last.ps(), header.windows.load(), wall, header.error);
  return received == expected && intact == expected ? 0 : 1;
}

}  // namespace
}  // namespace rocelab

int main(int argc, char** argv) {
  const rocelab::Options options = rocelab::parse(argc, argv);
  if (options.segment.empty()) {
    std::fprintf(stderr,
                 "usage: lossless_traffic SEGMENT [--switches=N] [--hosts=N] [--frames=N] [--distance=N] "
                 "[--gap-ns=N] [--trace-dir=DIR] [--pcap-dir=DIR]\n");
    return 2;
  }
  try {
    return rocelab::run(options);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "lossless_traffic: %s\n", e.what());
    return 1;
  }
}
