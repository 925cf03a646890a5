#include "emu/record/host_trace.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
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
