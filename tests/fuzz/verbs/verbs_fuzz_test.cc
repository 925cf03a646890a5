// Sessions of verbs calls on a host of its own, in both modes: the kept ones, and random ones from a fixed
// seed (ROCELAB_FUZZ_SEED overrides; ROCELAB_FUZZ_SESSIONS says how many).
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>

#include "irn_provider/verbs/test_fabric.h"

namespace rocelab::verbs {
namespace {

constexpr char kSessions[] = "500";

std::string from_environment(const char* name, const char* otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? text : otherwise;
}

std::vector<std::string> corpus() {
  std::vector<std::string> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(ROCELAB_SOURCE_DIR "/tests/corpora/fuzz_verbs"))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

class VerbsFuzzTest : public ::testing::TestWithParam<TransportMode> {};
INSTANTIATE_TEST_SUITE_P(Modes, VerbsFuzzTest, ::testing::Values(TransportMode::kRoce, TransportMode::kIrn),
                         [](const auto& mode) {
                           return mode.param == TransportMode::kRoce ? "Roce" : "Irn";
                         });

TEST_P(VerbsFuzzTest, NoSequenceOfCallsCrashesOrBreaksAPromise) {
  NicConfig nic;
  nic.mode = GetParam();
  TestFabric fabric(1, 1, nic);
  const std::string seed = from_environment("ROCELAB_FUZZ_SEED", "1");
  RecordProperty("seed", seed);
  const std::string last =
      std::filesystem::temp_directory_path() / ("verbs_session." + std::to_string(getpid()));
  std::vector<std::string> command = {ROCELAB_VERBS_FUZZ};
  for (const std::string& file : corpus()) command.push_back(file);
  ASSERT_GT(command.size(), 4u) << "the corpus is gone";
  for (const std::string& word :
       {std::string("--random"), seed, from_environment("ROCELAB_FUZZ_SESSIONS", kSessions)})
    command.push_back(word);
  const auto p = fabric.start(0, command, {"ROCELAB_FUZZ_LAST=" + last});
  EXPECT_TRUE(fabric.run(std::chrono::seconds(600)));
  const std::string output = fabric.program(p).output();
  ASSERT_EQ(fabric.program(p).exit_code(), 0) << output << "\nthe session, if it was a random one: " << last;
  std::filesystem::remove(last);
  // Sessions that all ended at the first refusal would prove nothing.
  const std::size_t at = output.rfind("calls ");  // behind what the library said of refusals
  ASSERT_NE(at, std::string::npos) << output;
  std::map<std::string, std::uint64_t> reached;
  std::istringstream sum(output.substr(at));
  for (std::string what; sum >> what >> reached[what];) {
  }
  std::printf("%s", sum.str().c_str());
  EXPECT_GT(reached["calls"], 10'000u);
  EXPECT_GT(reached["calls"] - reached["refused"], 5'000u);
  EXPECT_GT(reached["completions"], 1'000u);  // those that RESET takes away are not among them
  EXPECT_GT(reached["completions"] - reached["errors"], 100u);
  EXPECT_GT(reached["events"], 20u);
  EXPECT_GE(reached["xrc"], 3u);
  EXPECT_GT(reached["binds"], 20u);
  EXPECT_GE(reached["invalidated"], 5u);
  EXPECT_GT(reached["reregistered"], 20u);
  EXPECT_GT(reached["moved"], 10u);
}

}  // namespace
}  // namespace rocelab::verbs
