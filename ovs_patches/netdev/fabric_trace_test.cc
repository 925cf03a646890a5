// What the fabric writes: digests, events, samples, captures.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "ovs_patches/netdev/fabric.h"
#include "ovs_patches/netdev/test_world.h"

namespace rocelab {
namespace {

TEST(FabricTraceTest, SavesDigestEventsSamplesAndCapture) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("rocelab-fabric-save-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  lockstep::SegmentPlan plan = TestPlan::make({.hosts_each = 3});
  plan.trace_dir = plan.pcap_dir = folder.string();
  plan.sample_interval = 1_us;
  TestWorld w(plan);
  for (std::uint32_t h = 1; h < 3; ++h)
    for (int i = 0; i < 20; ++i) w.vf(h).send(at(0_us), w.host(0));
  w.run();
  w.fabric->save();
  std::ifstream digest(folder / "s1.digest");
  std::string hex;
  digest >> hex;
  EXPECT_EQ(hex, to_hex(w.fabric->trace(0).digest()));

  std::ifstream events(folder / "s1.events", std::ios::binary);
  std::int64_t samples = 0;
  std::uint64_t longest = 0;
  for (TraceRecord r; events.read(reinterpret_cast<char*>(&r), sizeof r);) {
    if (r.kind != TraceKind::kSample) continue;
    ++samples;
    EXPECT_EQ(r.time.ps() % (1_us).ps(), 0);
    longest = std::max(longest, r.bytes);
  }
  EXPECT_GT(samples, 5);
  EXPECT_GT(longest, 10'000u);
  EXPECT_LE(longest, w.counters(0).queue_peak_bytes[3]);

  w.fabric.reset();  // closes the capture
  std::ifstream file(folder / "s1.pcapng", std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  auto reader = PcapngReader::open(std::as_bytes(std::span(text)));
  ASSERT_TRUE(reader.has_value());
  std::int64_t frames = 0, last = 0;
  while (const auto frame = reader->next()) {
    ++frames;
    EXPECT_GE(frame->picoseconds, last);
    last = frame->picoseconds;
  }
  EXPECT_TRUE(reader->complete());
  EXPECT_EQ(frames, 2 * 40);
  EXPECT_EQ(reader->interfaces(), (std::vector<std::string>{"s1-eth1", "s1-eth2", "s1-eth3"}));
  std::filesystem::remove_all(folder);
}

TEST(FabricTraceTest, FlushedEventsAreInTheFileWhileTheRunGoesOn) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("rocelab-fabric-flush-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  lockstep::SegmentPlan plan = TestPlan::make({.hosts_each = 2});
  plan.trace_dir = folder.string();
  plan.sample_interval = 1_us;
  TestWorld w(plan);
  for (int i = 0; i < 20; ++i) w.vf(1).send(at(0_us), w.host(0));
  w.run();
  EXPECT_EQ(std::filesystem::file_size(folder / "s1.events"), 0u);
  w.fabric->flush_events();
  const auto size = std::filesystem::file_size(folder / "s1.events");
  EXPECT_GT(size, 5 * sizeof(TraceRecord));
  EXPECT_FALSE(std::filesystem::exists(folder / "s1.digest"));
  w.fabric->save();
  EXPECT_EQ(std::filesystem::file_size(folder / "s1.events"), size);
  w.fabric.reset();
  std::filesystem::remove_all(folder);
}

TEST(FabricTraceTest, SamplingChangesNothing) {
  std::string first;
  for (const Duration interval : {Duration(), 700_ns, 10_us}) {
    const auto folder =
        std::filesystem::temp_directory_path() / ("rocelab-fabric-same-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
    lockstep::SegmentPlan plan = TestPlan::make({.switches = 2, .hosts_each = 3});
    plan.sample_interval = interval;
    plan.trace_dir = interval > Duration() ? folder.string() : "";
    TestWorld w(plan);
    for (std::uint32_t h = 1; h < 6; ++h)
      for (int i = 0; i < 100; ++i) w.vf(h).send(at(0_us), w.host(0));
    w.run();
    if (first.empty()) first = w.digests();
    EXPECT_EQ(w.digests(), first);
    std::filesystem::remove_all(folder);
  }
}

}  // namespace
}  // namespace rocelab
