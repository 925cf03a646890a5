#include "ovs_patches/switch_model/switch_config.h"

#include "ovs_patches/switch_model/mechanisms/escape.h"
#include "ovs_patches/switch_model/test_support.h"

namespace rocelab {
namespace {

const std::vector<PortConfig> kPorts(2);

TEST(SwitchConfigTest, DefaultsAreLosslessClassThreeAndStrictFeedback) {
  const SwitchConfig config;
  EXPECT_EQ(problem_of(config, kPorts), "");
  for (int tc = 0; tc < kTrafficClasses; ++tc) {
    const ClassConfig& c = config.classes[tc];
    EXPECT_EQ(c.lossless, tc == 3) << tc;
    EXPECT_EQ(c.selection, tc >= 6 ? Selection::kStrict : Selection::kEts) << tc;
    EXPECT_EQ(c.weight, 1) << tc;
    EXPECT_FALSE(c.ecn.enabled) << tc;
    EXPECT_EQ(c.ecn.k_max, 200_KB) << tc;
  }
}

// Changes one thing and expects a line that names it.
template <class Change>
void expect_problem(const char* fragment, Change&& change) {
  SwitchConfig config;
  std::vector<PortConfig> ports(2);
  change(config, ports);
  EXPECT_NE(problem_of(config, ports).find(fragment), std::string::npos)
      << "expected '" << fragment << "' in '" << problem_of(config, ports) << "'";
}

TEST(SwitchConfigTest, SaysWhatIsWrong) {
  expect_problem("0 ports", [](auto&, auto& ports) { ports.clear(); });
  expect_problem("513 ports", [](auto&, auto& ports) { ports.resize(513); });
  expect_problem("port 1: rate", [](auto&, auto& ports) { ports[1].rate = 0_bps; });
  expect_problem("port 1: delay", [](auto&, auto& ports) { ports[1].delay = 0_us - 1_us; });
  expect_problem("ingress buffer is too small", [](auto& c, auto&) { c.ingress_buffer = 20_KB; });
  expect_problem("need at least 70KB", [](auto& c, auto&) {
    c.pfc.xoff = 50_KB, c.pfc.headroom = 20_KB, c.ingress_buffer = 60_KB;
  });
  expect_problem("need 0 <= XON <= XOFF", [](auto& c, auto&) { c.pfc.xoff = 5_KB; });
  expect_problem("refresh", [](auto& c, auto&) { c.pfc.quanta = 100; });
  expect_problem("refresh_percent", [](auto& c, auto&) { c.pfc.refresh_percent = 100; });
  expect_problem("class 2: ETS weight", [](auto& c, auto&) { c.classes[2].weight = 0; });
  expect_problem("class 3: ECN K_min", [](auto& c, auto&) { c.classes[3].ecn = {true, 2_KB, 1_KB, 0.5}; });
  expect_problem("port 1: ECN K_min", [](auto&, auto& ports) { ports[1].ecn = {true, 2_KB, 1_KB, 0.5}; });
  expect_problem("class 3: ECN P_max", [](auto& c, auto&) { c.classes[3].ecn = {true, 1_KB, 2_KB, 1.5}; });
  expect_problem("DSCP map names class 8", [](auto& c, auto&) { c.class_map.classes[5] = 8; });
  expect_problem("max_frame", [](auto& c, auto&) { c.max_frame = 60_B; });
  expect_problem("shared_pool", [](auto& c, auto&) {
    c.shared_pool = 1_MB;
    c.alpha_lossy = -1;
  });
}

TEST(SwitchConfigTest, EscapeNeedsAClassAndAPeriod) {
  expect_problem("switch.escape.classes names class 4, which is not in lossless_classes",
                 [](SwitchConfig& c, auto&) {
                   c.mechanisms.of<EscapeMechanism>().enabled = true;
                   c.mechanisms.of<EscapeMechanism>().classes = 1 << 4;
                 });
  expect_problem("port 1: delay 0, of which Escape's period", [](SwitchConfig& c, auto& ports) {
    c.mechanisms.of<EscapeMechanism>().enabled = true;
    ports[1].delay = 0_us;
  });
}

TEST(SwitchConfigTest, BufferOnlyMattersWherePfcIsOn) {
  SwitchConfig config;
  config.ingress_buffer = 20_KB;
  config.pfc.enabled = false;
  EXPECT_EQ(problem_of(config, kPorts), "");
}

}  // namespace
}  // namespace rocelab
