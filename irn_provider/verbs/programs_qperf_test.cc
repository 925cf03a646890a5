// qperf, unmodified: it ends a test by setitimer and measures with times(), and prints the figures of the
// emulated network all the same, the same every time. It measures whole seconds, so the links here are slow
// and long. Closed formulas: two links and an ideal switch between them.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "irn_provider/verbs/program_pair.h"
#include "irn_provider/verbs/sanitizer.h"

namespace rocelab::verbs {
namespace {

// "    latency  =  42.1 us": in seconds, or bytes a second; 0: there is no such line.
double value_of(const std::string& text, const std::string& name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string first, equals, unit;
    double number = 0;
    if (!(words >> first >> equals >> number >> unit) || first != name || equals != "=") continue;
    for (const auto& [prefix, factor] :
         {std::pair('G', 1e9), {'M', 1e6}, {'K', 1e3}, {'m', 1e-3}, {'u', 1e-6}, {'n', 1e-9}})
      if (unit[0] == prefix) return number * factor;
    return number;
  }
  return 0;
}

class QperfTest : public ::testing::TestWithParam<TransportMode> {
 protected:
  void SetUp() override {
    if (!enter_own_network()) GTEST_SKIP() << "needs root: a network namespace";
  }
  bool irn() const { return GetParam() == TransportMode::kIrn; }
  // The client's line, of two runs that say the same.
  double twice_the_same(const std::string& test, const std::string& name, const std::string& size) {
    std::string said[2];
    for (std::string& text : said) {
      const ProgramPair pair = run_qperf(nic_, {"-cm", "1", "-m", size, test});
      EXPECT_EQ(pair.exit_codes[1], 0) << test << "\n" << pair.client;
      text = pair.client;
    }
    EXPECT_EQ(said[0], said[1]) << test;
    return value_of(said[0], name);
  }
  double wire_s(std::int64_t headers, std::int64_t payload) const {
    return wire_time(Bytes::from_count(std::max<std::int64_t>(60, 58 + headers + (payload + 3) / 4 * 4)),
                     nic_.link_rate)
        .seconds();
  }
  NicConfig nic_ = slow_nic(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Modes, QperfTest, ::testing::Values(TransportMode::kRoce, TransportMode::kIrn),
                         [](const auto& mode) {
                           return mode.param == TransportMode::kRoce ? "Roce" : "Irn";
                         });

// 16 packets of 1 KiB each; the first RTT of the second carries nothing, and 0.1 % is what that may cost, as
// may a message more or less. At this rate neither changes the third digit, which is the last that qperf
// prints.
TEST_P(QperfTest, BandwidthIsThePayloadsShareOfTheWire) {
  const double share = 16'384 / (16 * wire_s(irn() ? 8 : 0, 1'024));
  EXPECT_NEAR(twice_the_same("rc_bw", "bw", "16K"), share, 0.01 * share);
  const double write = 16'384 / (16 * wire_s(irn() ? 16 : 0, 1'024));  // RETH: in IRN mode in each packet
  EXPECT_NEAR(twice_the_same("rc_rdma_write_bw", "bw", "16K"), write, 0.01 * write);
}

// One way: the frame on two links. The answer leaves behind the ACK of what it answers.
TEST_P(QperfTest, LatencyIsTheClosedFormula) {
  const double want = 2 * wire_s(irn() ? 8 : 0, 1) + 2 * nic_.link_delay.seconds() + wire_s(4, 0);
  EXPECT_NEAR(twice_the_same("rc_lat", "latency", "1"), want, 0.01 * want);
}

// docs/reference/compatibility.md: what cannot pass. They address by LID, -cm or not. An end that fails says
// so to the other one by TCP's urgent data, whose handler of SIGURG calls exit() while its thread waits.
TEST_P(QperfTest, DatagramTestsFailAndBothEndsEnd) {
  if (kThreadSanitizer) GTEST_SKIP() << "signals come late: sanitizer.h";
  const ProgramPair pair = run_qperf(nic_, {"-cm", "1", "ud_lat"});
  EXPECT_EQ(pair.exit_codes[1], 1) << pair.client;
  EXPECT_NE(pair.client.find("-cm set but not used"), std::string::npos) << pair.client;
  // Whichever end fails first ends the other one, which may not have got as far.
  EXPECT_TRUE(pair.client.find("failed to create address handle") != std::string::npos ||
              pair.client.find("\nserver:") != std::string::npos || pair.client.starts_with("server:"))
      << pair.client;
}

}  // namespace
}  // namespace rocelab::verbs
