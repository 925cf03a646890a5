#include "emu/record/host_trace.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace rocelab {
namespace {

TraceRecord sent(std::int64_t ns) {
  return {.time = Time::from_ps(ns * 1'000), .kind = TraceKind::kComplete, .flow = 1, .bytes = 1'024};
}

TEST(HostTraceTest, EveryRecordIsInTheFile) {
  const auto path = std::filesystem::temp_directory_path() / ("host_trace_test." + std::to_string(getpid()));
  constexpr int kRecords = 10'000;  // more than are kept in memory
  {
    HostTrace trace(path, Duration());
    for (int i = 0; i < kRecords; ++i) trace.record(sent(i));
    trace.flush();
    EXPECT_EQ(std::filesystem::file_size(path), kRecords * sizeof(TraceRecord));
    EXPECT_EQ(trace.records(), static_cast<std::uint64_t>(kRecords));
  }
  std::filesystem::remove(path);
}

TEST(HostTraceTest, KeepsTheDeliveriesOfEvery16thPsn) {
  const auto path = std::filesystem::temp_directory_path() / ("host_trace_hops." + std::to_string(getpid()));
  Digest with, without;
  {
    HostTrace trace(path, Duration()), unrecorded("", Duration());
    for (std::uint32_t psn = 0xFFFFE0; psn <= 0xFFFFFF; ++psn) {
      const TraceRecord delivery{.time = Time::from_ps(psn), .flow = 7, .bytes = 1'082, .psn = psn};
      trace.record(delivery);
      unrecorded.record(delivery);
    }
    trace.flush();
    with = trace.digest();
    without = unrecorded.digest();
  }
  EXPECT_EQ(with, without) << "what is kept does not change the hash";
  std::ifstream file(path, std::ios::binary);
  std::array<TraceRecord, 2> kept{};
  ASSERT_EQ(std::filesystem::file_size(path), sizeof kept);
  file.read(reinterpret_cast<char*>(kept.data()), sizeof kept);
  EXPECT_EQ(kept[0].psn, 0xFFFFE0u);
  EXPECT_EQ(kept[1].psn, 0xFFFFF0u);
  for (const TraceRecord& hop : kept) {
    EXPECT_EQ(hop.kind, TraceKind::kHop);
    EXPECT_EQ(hop.flow, 7u);
    EXPECT_EQ(hop.bytes, 1'082u);
  }
  std::filesystem::remove(path);
}

TEST(HostTraceTest, AFullDiskIsSaid) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full here";
  HostTrace trace("/dev/full", Duration());
  trace.record(sent(1));
  try {
    trace.flush();
    FAIL() << "nothing was said";
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "cannot write /dev/full: No space left on device");
  }
}

TEST(HostTraceTest, WhoeverWantsToIsToldInsteadOfAnException) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full here";
  HostTrace trace("/dev/full", Duration());
  struct Told {
    std::string line;
  };
  trace.set_on_failure([](const std::string& line) { throw Told{line}; });
  trace.record(sent(1));
  try {
    trace.flush();
    FAIL() << "nobody was told";
  } catch (const Told& told) {
    EXPECT_EQ(told.line, "cannot write /dev/full: No space left on device");
  }
}

TEST(HostTraceTest, AFileThatCannotBeMadeIsSaid) {
  EXPECT_THROW(HostTrace("/nowhere/at/all", Duration()), std::runtime_error);
}

}  // namespace
}  // namespace rocelab
