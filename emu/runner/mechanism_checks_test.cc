#include "emu/runner/mechanism_checks.h"

#include <gtest/gtest.h>

#include "emu/runner/complaint_fixture.h"
#include "emu/runner/plan.h"

namespace rocelab {
namespace {

RunPlan plan_of(const std::string& text) {
  const Scenario s = parse_scenario(text, "t.toml");
  return make_plan(s, s.settings.at(0), 1);
}

const std::string kLeafSpine =
    "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 3\nhosts_per_leaf = 2\n"
    "[switch.load_balance]\nenabled = true\n";
const std::string kPipeline =
    "[topology]\nkind = \"star\"\nhosts = 3\n[switch.class.3]\negress_max = \"100KB\"\n"
    "may_drop = true\n[switch.pipeline]\nenabled = true\n";
const std::string kWorkload = "[[workload]]\nkind = \"incast\"\nreceiver = \"h1\"\nsize = \"10KB\"\n";

TEST(MechanismChecksTest, EqualCostPortsHaveANumber) {
  const RunPlan plan = plan_of("transport = \"irn\"\n" + kLeafSpine);
  for (const SwitchEntry& entry : plan.world.switches)
    for (std::uint32_t p = 0; p < entry.ports; ++p) {
      const PortEntry& port = plan.world.ports[entry.first_port + p];
      const bool up = port.config.peer == PeerKind::kSwitch && entry.name[0] == 'l';
      EXPECT_EQ(port.config.equal_cost, up ? 1 : 0) << port.interface;
    }
}

TEST(MechanismChecksTest, WithoutLoadBalancingPortsHaveNone) {
  std::string text = kLeafSpine;
  text.replace(text.find("true"), 4, "false");
  for (const PortEntry& port : plan_of("transport = \"irn\"\n" + text).world.ports)
    EXPECT_EQ(port.config.equal_cost, 0);
}

TEST(MechanismChecksTest, WhatARunCannotHaveIsNamed) {
  const auto complaint = [](const std::string& text) {
    return complaint_of([&] { plan_of(text + kWorkload); });
  };
  const std::string irn = "transport = \"irn+pfc\"\n", roce = "transport = \"roce+pfc\"\n";
  EXPECT_EQ(complaint(irn + kLeafSpine), "none");
  EXPECT_NE(complaint(roce + kLeafSpine).find("go-back-N"), std::string::npos);
  EXPECT_NE(complaint(irn + kLeafSpine + "[irn]\ngo_back_n = true\n").find("irn.go_back_n"),
            std::string::npos);
  EXPECT_NE(complaint(irn + kLeafSpine + "[switch.escape]\nenabled = true\n").find("excludes Escape"),
            std::string::npos);
  EXPECT_NE(complaint(irn + kLeafSpine + "low = \"64KB\"\n").find("high"), std::string::npos);
  EXPECT_NE(complaint(irn + kLeafSpine +
                      "[[link_event]]\nat = \"1ms\"\nbetween = [\"leaf1\", \"spine1\"]\nstate = \"down\"\n")
                .find("without link events"),
            std::string::npos);
  EXPECT_EQ(complaint(roce + kPipeline), "none");
  EXPECT_NE(complaint(roce + kPipeline + "[switch.capfc]\nenabled = true\n").find("before a pipeline"),
            std::string::npos);
  EXPECT_NE(
      complaint(roce + kPipeline + "full = \"stop\"\n[engine]\nclock = \"wall\"\n").find("foreign devices"),
      std::string::npos);
}

// Each mistake is one line that names its place.
TEST(MechanismChecksTest, MistakesInCapfcAndItsMemoriesAreNamed) {
  const auto complaint = [](const std::string& label, const std::string& text) {
    return complaint_of([&] {
      plan_of("transport = \"" + label + "\"\n[topology]\nkind = \"star\"\nhosts = 3\n" + text + kWorkload);
    });
  };
  const std::string capfc = "[switch.capfc]\nenabled = true\n", pfc = "roce+pfc";
  const std::string memory =
      "[switch]\nlossless_buffer = \"240KB\"\nshared_memory.enabled = true\n[switch.class.3]\n"
      "may_drop = true\negress_max = ";
  const struct {
    std::string label, text, says;
  } cases[] = {
      {pfc, capfc + "xoff = \"25KB\"\nwarn = \"20KB\"\nxon = \"21KB\"\n", "capfc.xon is more than warn"},
      {pfc, capfc + "xoff = \"25KB\"\nwarn = \"26KB\"\nxon = \"20KB\"\n", "capfc.warn is more than xoff"},
      {pfc, capfc + "xoff = \"25KB\"\nxon = \"26KB\"\n", "capfc.xon is more than xoff"},
      {pfc, capfc + "cut = 0\n", "capfc.cut"},
      {pfc, capfc + "cut = 1.01\n", "capfc.cut"},
      {pfc, capfc + "xof = \"25KB\"\n", "xoff"},
      {pfc, "[switch.class.3]\nmay_drop = true\negress_max = \"1KB\"\n", "holds no frame"},
      {"roce", capfc, "needs PFC"},
      {pfc, capfc + "[switch.escape]\nenabled = true\n", "Escape"},
      {pfc, memory + "\"240KB\"\n", "set switch.pipeline.enabled"},
      {pfc, memory + "\"60KB\"\n[switch.pipeline]\nenabled = true\n", "egress_max 60KB is less"},
  };
  for (const auto& [label, text, says] : cases) {
    const std::string line = complaint(label, text);
    EXPECT_NE(line.find(says), std::string::npos) << line;
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
    EXPECT_EQ(line.rfind("t.toml:", 0), 0u) << line;
  }
}

}  // namespace
}  // namespace rocelab
