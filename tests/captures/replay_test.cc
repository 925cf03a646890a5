// Against Linux rxe: one of our NICs in the place of either end of every captured exchange. It must send what
// the kernel sent, to the byte, and its program must see what the kernel's saw (tests/data/captures, and the
// folders that ROCELAB_CAPTURES names; docs/reference/captures.md).
#include "tests/captures/replay.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/captures/compare.h"

namespace rocelab::captures {
namespace {

namespace fs = std::filesystem;

fs::path sidecar_of(const fs::path& capture) { return fs::path(capture).replace_extension(".toml"); }

bool has_sidecars(const fs::path& folder) {
  return std::ranges::any_of(fs::directory_iterator(folder),
                             [](const auto& entry) { return entry.path().extension() == ".toml"; });
}

std::vector<fs::path> own_files() { return test::capture_files(test::own_captures()); }
std::vector<fs::path> further_files() {
  std::vector<fs::path> files;
  for (const fs::path& folder : test::further_captures())
    for (const fs::path& file : test::capture_files(folder)) files.push_back(file);
  return files;
}

std::string name_of(const testing::TestParamInfo<fs::path>& info) {
  std::string name = info.param.stem().string();
  std::ranges::replace_if(
      name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return std::to_string(info.index) + "_" + name;
}

class CaptureReplayTest : public testing::TestWithParam<fs::path> {
 protected:
  void expect_no_differences(End ours) {
    const fs::path& file = GetParam();
    if (!has_sidecars(file.parent_path()))
      GTEST_SKIP() << file.parent_path() << " has no sidecars: its captures are read, not replayed";
    ASSERT_TRUE(fs::exists(sidecar_of(file)))
        << file << " has no sidecar: describe the exchange in " << sidecar_of(file).filename()
        << ", or list its queue pairs there as [[elsewhere]] (docs/reference/captures.md)";
    const Sidecar sidecar = read_sidecar(sidecar_of(file));
    const std::vector<Frame> frames = read_capture(file, sidecar);
    if (!sidecar.has_connection) return;
    Replay replay(sidecar, frames, ours);
    replay.run();
    for (const std::string& line : differences(sidecar, frames, ours, replay))
      ADD_FAILURE() << file.filename() << ", ours the " << to_string(ours) << ": " << line;
  }
};

INSTANTIATE_TEST_SUITE_P(Own, CaptureReplayTest, testing::ValuesIn(own_files()), name_of);
INSTANTIATE_TEST_SUITE_P(Further, CaptureReplayTest, testing::ValuesIn(further_files()), name_of);

TEST_P(CaptureReplayTest, OurServerAnswersAsTheKernelDid) { expect_no_differences(End::kServer); }

TEST_P(CaptureReplayTest, OurClientAsksRecoversAndCompletesAsTheKernelDid) {
  expect_no_differences(End::kClient);
}

// The kernel's udaddy answers from the buffer into which it has received, GRH and all.
TEST(CaptureGrhTest, OursWritesTheGrhThatTheKernelWrote) {
  const fs::path file = test::own_captures() / "cm_udaddy_sidr.pcap";
  const Sidecar sidecar = read_sidecar(sidecar_of(file));
  const std::vector<Frame> frames = read_capture(file, sidecar);
  Replay replay(sidecar, frames, End::kServer);
  replay.run();
  const auto kernels = std::span(frame(frames, 5).payload).first(kGrhBytes);
  EXPECT_EQ(test::to_hex(replay.memory_of(true, 1).first(kGrhBytes)), test::to_hex(kernels));
}

}  // namespace
}  // namespace rocelab::captures
