#include "tests/captures/sidecar.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "emu/runner/scenario.h"

namespace rocelab::captures {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  const test::ByteVector bytes = test::read_file(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The indented example of docs/reference/captures.md.
std::string example() {
  std::istringstream page(text_of(fs::path(ROCELAB_SOURCE_DIR) / "docs/reference/captures.md"));
  std::string text;
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    inside = inside || line.starts_with("    type = ");
    if (!inside) continue;
    if (!line.empty() && !line.starts_with("    ")) break;
    text += line.empty() ? "\n" : line.substr(4) + "\n";
  }
  return text;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), by);
}

std::string complaint_about(const std::string& text) {
  try {
    parse_sidecar(text, "x.toml");
  } catch (const ScenarioError& error) {
    return error.what();
  }
  return "none";
}

TEST(SidecarTest, TheExampleOfTheDocumentationIsRead) {
  const Sidecar s = parse_sidecar(example(), "x.toml");
  EXPECT_TRUE(s.has_connection);
  EXPECT_EQ(s.lost, std::set<int>{4});
  EXPECT_EQ(s.reordered, std::set<End>{End::kClient});
  EXPECT_EQ(s.elsewhere, std::set<std::uint32_t>{1});
  EXPECT_EQ(s.client.qpn, Qpn{0xbd});
  EXPECT_EQ(s.client.gid, ipv4_mapped({10, 77, 0, 11}));
  EXPECT_EQ(s.client.mac, (MacAddress{0x52, 0x54, 0, 0x77, 0, 0x0b}));
  EXPECT_EQ(s.client.attr.access_flags, kAccessRemoteWrite);
  ASSERT_EQ(s.client.sends.size(), 1u);
  const Send& send = s.client.sends[0];
  EXPECT_EQ(send.wqe.opcode, WrOpcode::kWrite);
  EXPECT_EQ(send.wqe.remote_addr, 0x559ac0104000u);
  EXPECT_EQ(send.wqe.rkey, RKey{0xb296});
  EXPECT_EQ(send.length, 8000u);
  EXPECT_FALSE(send.local);
  ASSERT_EQ(s.client.completions.size(), 1u);
  EXPECT_EQ(s.client.completions[0].opcode, WcOpcode::kWrite);
  ASSERT_EQ(s.server.regions.size(), 1u);
  EXPECT_EQ(s.server.regions[0].after->step, 7);
  EXPECT_EQ(s.server.receives.size(), 1u);
  EXPECT_EQ(s.differences.size(), 1u);
}

TEST(SidecarTest, KeysThatNobodyKnowsAreErrorsAtTheirPlace) {
  EXPECT_EQ(complaint_about(replaced(example(), "first_psn = 0x100000", "frist_psn = 0x100000")),
            "x.toml:6:2: this table needs the key \"client.first_psn\"");
  const std::string typo = complaint_about(replaced(example(), "solicited = true,", "x\nsolicted = true #"));
  EXPECT_NE(typo.find("unknown key \"client.sends.0.solicted\"; did you mean \"solicited\"?"),
            std::string::npos)
      << typo;
  EXPECT_EQ(typo.find("x.toml:"), 0u) << typo;
  EXPECT_NE(complaint_about("colour = 1\n" + example()).find("x.toml:1:1: unknown key \"colour\""),
            std::string::npos);
}

TEST(SidecarTest, WhatIsNeitherGivenNorUnknownIsAnError) {
  EXPECT_NE(complaint_about(replaced(example(), "\"sends.local\", ", ""))
                .find("needs the key \"client.sends.0.local\", or \"sends.local\" in the list `unknown`"),
            std::string::npos);
  EXPECT_NE(complaint_about(replaced(example(), "timeout = 14", "timeout = 14\nretry_cnt = 7 #"))
                .find("retry_cnt is given, and \"retry_cnt\" is listed as unknown"),
            std::string::npos);
  EXPECT_NE(complaint_about(replaced(example(), "\"sends.local\"", "\"sends.colour\", \"sends.local\""))
                .find("unknown = \"sends.colour\" names no attribute of this end"),
            std::string::npos);
}

TEST(SidecarTest, ValuesThatCannotBeAreErrors) {
  const auto complains = [&](const char* what, const char* by, const char* part) {
    const std::string complaint = complaint_about(replaced(example(), what, by));
    EXPECT_NE(complaint.find(part), std::string::npos) << complaint;
  };
  complains("\"10.77.0.11\"", "\"10.77.0\"", "client.ip = \"10.77.0\" is no IP address");
  complains("0b\"", "0b:1\"", "is no MAC address");
  complains("send = 1 ", "send = 2 ", "send = 2 is outside 1..1");
  complains("qpn = 0x0000bd", "qpn = 0x1000000", "client.qpn = 16777216 is outside");
  complains("op = \"write\"", "op = \"wirte\"", "did you mean \"write\"?");
  complains("\"success\"", "\"fine\"", "is none of success, local length error");
  complains("[\"remote_write\"]", "[\"remote\"]", "is none of local_write");
  complains("what = \"mig_req\"", "what = \"not_sent\"", "\"differs.0.end\"");
  complains("at_least = 8000 ", "at_least = 8000\nlength = 8000 ", "needs either \"length\"");
  complains("content = { first = 1, step = 7 }    # what is sent", "#", "needs \"content\"");
  EXPECT_EQ(complaint_about("type = \"rc\"\npath_mtu = 1024\n"),
            "x.toml:1:1: the sidecar needs the table [client]");
}

TEST(SidecarTest, OwnSidecarsHaveTheirCapturesAndNameTrueDeviations) {
  const std::string deviations = text_of(fs::path(ROCELAB_SOURCE_DIR) / "DEVIATIONS.md");
  int sidecars = 0;
  for (const auto& entry : fs::directory_iterator(test::own_captures())) {
    if (entry.path().extension() != ".toml") continue;
    ++sidecars;
    EXPECT_TRUE(fs::exists(fs::path(entry.path()).replace_extension(".pcap"))) << entry.path();
    for (const Difference& d : read_sidecar(entry.path()).differences)
      EXPECT_NE(deviations.find("- **" + d.because + "**"), std::string::npos) << entry.path() << d.because;
  }
  EXPECT_EQ(sidecars, 36);
}

}  // namespace
}  // namespace rocelab::captures
