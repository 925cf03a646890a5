// What a program's user is told of a refused call: the lines of refused.h, by claims of
// tests/probes/verbs/refusal_probe.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "irn_provider/verbs/test_fabric.h"

namespace rocelab::verbs {
namespace {

// Lines of ours that the probe's claims leave behind, without ROCELAB_DEBUG unless `settings` say so.
std::vector<std::string> lines_of(const std::string& claims, const std::vector<std::string>& settings = {},
                                  const std::string& redirection = "") {
  TestFabric fabric(1, 1, NicConfig{});
  std::vector<std::string> words = {"env", "-u", "ROCELAB_DEBUG"};
  words.insert(words.end(), settings.begin(), settings.end());
  words.insert(words.end(),
               {"sh", "-c", "\"$0\" --gtest_filter=\"$1\" " + redirection, ROCELAB_PROBE, claims});
  const auto p = fabric.start(0, words);
  EXPECT_TRUE(fabric.run());
  const std::string output = fabric.program(p).output();
  EXPECT_EQ(fabric.program(p).exit_code(), 0) << output;
  EXPECT_NE(output.find("[  PASSED  ] "), std::string::npos) << output;
  std::vector<std::string> lines;
  std::istringstream text(output);
  for (std::string line; std::getline(text, line);)
    if (line.starts_with("rocelab: ")) lines.push_back(line);
  return lines;
}

constexpr char kManyRefusals[] = "RefusalProbe.AttributesOutOfRange*";

TEST(RefusedCallTest, TheFirstOneIsExplainedInOneLine) {
  EXPECT_EQ(lines_of(kManyRefusals),
            std::vector<std::string>{
                "rocelab: verbs_probe: ibv_modify_qp: EINVAL: port_num is 2; 1 to 1 can be had "
                "(ROCELAB_DEBUG=1 explains every refusal, ROCELAB_QUIET=1 none)"});
}

TEST(RefusedCallTest, TheLineGoesToStandardErrorAlone) {
  EXPECT_TRUE(lines_of(kManyRefusals, {}, "2>/dev/null").empty());
}

TEST(RefusedCallTest, AVariableSwitchesItOff) {
  EXPECT_TRUE(lines_of(kManyRefusals, {"ROCELAB_QUIET=1"}).empty());
  EXPECT_EQ(lines_of(kManyRefusals, {"ROCELAB_QUIET=0"}).size(), 1u);
  EXPECT_EQ(lines_of(kManyRefusals, {"ROCELAB_QUIET="}).size(), 1u);
}

TEST(RefusedCallTest, DebugExplainsThemAll) {
  const std::vector<std::string> lines = lines_of(kManyRefusals, {"ROCELAB_DEBUG=1", "ROCELAB_QUIET=1"});
  const std::string start = "rocelab: verbs_probe: ibv_modify_qp: EINVAL: ";
  EXPECT_EQ(lines.size(), 10u);
  for (const char* what :
       {"path_mtu, in bytes, is 0; 256 to 4096 can be had",
        "dest_qp_num is 16777216; 0 to 16777215 can be had", "max_dest_rd_atomic is 17; 0 to 16 can be had",
        "ah_attr: is_global is 0, an address by LID", "ah_attr: grh.sgid_index is beyond the GID table",
        "ah_attr: grh.sgid_index and grh.dgid are one IPv4", "ah_attr: grh.dgid belongs to no host here"})
    EXPECT_EQ(std::ranges::count_if(lines, [&](const auto& l) { return l.starts_with(start + what); }), 1)
        << what;
}

TEST(RefusedCallTest, CallsOfEachKindAreExplained) {
  const std::pair<const char*, const char*> kinds[] = {
      {"RefusalProbe.EveryRequired*", "ibv_modify_qp: EINVAL: RESET to INIT also needs IBV_QP_PKEY_INDEX"},
      {"RefusalProbe.PostsAreRefused*", "ibv_post_recv: EINVAL: the queue pair's state: "},
      {"RefusalProbe.ReportedLimits*",
       "ibv_create_qp: EINVAL: cap.max_send_wr is 16385, and the device's limit is 16384"},
      {"RefusalProbe.MemoryMustBe*", "ibv_reg_mr: EFAULT: not all of the 8192 bytes at 0x"},
      {"BuilderProbe.ABatch*", "ibv_wr_complete: E"},
      {"SrqProbe.ReportedLimits*", "ibv_create_srq: EINVAL: max_wr is "},
      {"ExhaustionProbe.RegionsCount*", "ibv_reg_mr: ENOMEM: "},
  };
  for (const auto& [claims, what] : kinds) {
    const std::vector<std::string> lines = lines_of(claims);
    ASSERT_EQ(lines.size(), 1u) << claims;
    EXPECT_TRUE(lines[0].starts_with(std::string("rocelab: verbs_probe: ") + what)) << lines[0];
  }
}

TEST(RefusedCallTest, WhatProgramsFindOutByTryingAndWhatTheyDestroyTooEarlyIsNot) {
  EXPECT_TRUE(lines_of("RefusalProbe.WhatADeviceHasMayBeTried:RefusalProbe.ObjectsInUse*").empty());
}

}  // namespace
}  // namespace rocelab::verbs
