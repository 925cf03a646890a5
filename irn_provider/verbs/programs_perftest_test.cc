// perftest, unmodified: it reads the processor's counter and polls memory, and prints the figures of the
// emulated network all the same (libc/program.h). The figures are closed formulas of the wire format and the
// path: two links and an ideal switch between them.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <sstream>

#include "irn_provider/verbs/program_pair.h"
#include "irn_provider/verbs/sanitizer.h"

namespace rocelab::verbs {
namespace {

// The numbers of the result line for messages of `size` bytes; empty: there is none.
std::vector<double> results(const std::string& text, long size) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::vector<double> numbers;
    for (double x; words >> x;) numbers.push_back(x);
    if (numbers.size() >= 4 && std::lround(numbers[0]) == size) return numbers;
  }
  return {};
}
constexpr std::size_t kAverageBw = 3, kTypicalLatency = 4;

class PerftestTest : public ::testing::TestWithParam<TransportMode> {
 protected:
  bool irn() const { return GetParam() == TransportMode::kIrn; }
  NicConfig nic() const {
    NicConfig config;
    config.mode = GetParam();
    return config;
  }
  ProgramPair run(const std::string& program, const std::vector<std::string>& options,
                  const std::vector<std::string>& settings = {}) {
    const int port = free_port();
    std::vector<std::string> command = {program, "-d",   "rocelab0", "-x", "1",
                                        "-m",    "1024", "-F",       "-p", std::to_string(port)};
    command.insert(command.end(), options.begin(), options.end());
    ProgramPair pair = run_pair(nic(), command, port, Clock::kKept, settings);
    EXPECT_EQ(pair.exit_codes[0], 0) << program << "\n" << pair.server;
    EXPECT_EQ(pair.exit_codes[1], 0) << program << "\n" << pair.client;
    return pair;
  }
  // The column of the client's result line, of two runs that say the same.
  double twice_the_same(const std::string& program, const std::vector<std::string>& options, long size,
                        std::size_t column) {
    std::array<double, 2> said{};
    for (double& number : said) {
      const std::string client = run(program, options).client;
      const std::vector<double> numbers = results(client, size);
      EXPECT_GT(numbers.size(), column) << client;
      number = numbers.size() > column ? numbers[column] : 0;
    }
    EXPECT_EQ(said[0], said[1]) << program << ": not the same every time";
    return said[0];
  }
  // Wire bytes of a frame: Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4; FCS, preamble and gap 24.
  static double wire_us(std::int64_t headers, std::int64_t payload) {
    return static_cast<double>(std::max<std::int64_t>(60, 58 + headers + (payload + 3) / 4 * 4) + 24) *
           200e-6;
  }
};
INSTANTIATE_TEST_SUITE_P(Modes, PerftestTest, ::testing::Values(TransportMode::kRoce, TransportMode::kIrn),
                         [](const auto& mode) {
                           return mode.param == TransportMode::kRoce ? "Roce" : "Irn";
                         });

// 64 KiB are 64 packets of 1 KiB. A RETH stands in the first packet of a WRITE, in IRN mode in each; READ
// responses carry an AETH in the first and the last.
TEST_P(PerftestTest, BandwidthIsThePayloadsShareOfTheWire) {
  const double irn_send = irn() ? 8 : 0;
  const struct {
    const char* program;
    double header_bytes;  // of the message beyond BTH
  } programs[] = {
      {"ib_write_bw", irn() ? 64 * 16.0 : 16.0}, {"ib_send_bw", 64 * irn_send}, {"ib_read_bw", 8}};
  for (const auto& p : programs) {
    const std::vector<std::string> options = {"-s", "65536", "-n", "1000", "--report_gbits"};
    const double want = 40.0 * 65'536 / (64 * (1'024 + 58 + 24) + p.header_bytes);
    EXPECT_NEAR(twice_the_same(p.program, options, 65'536, kAverageBw), want, 0.01 * want) << p.program;
  }
}

// One way: the frame on two links. The answer leaves behind the ACK of what it answers. READ: a request, and
// a response behind, in IRN mode, the request's ACK.
TEST_P(PerftestTest, LatencyIsTheClosedFormula) {
  const double links = 4, ack = wire_us(4, 0);
  const double write = 2 * wire_us(16, 8) + links + ack, send = 2 * wire_us(irn() ? 8 : 0, 8) + links + ack;
  const double read = 2 * wire_us(irn() ? 20 : 16, 0) + 2 * wire_us(4, 8) + 2 * links + (irn() ? ack : 0);
  const struct {
    const char* program;
    double want;
  } programs[] = {{"ib_read_lat", read}, {"ib_write_lat", write}, {"ib_send_lat", send}};
  for (const auto& p : programs) {
    if (kThreadSanitizer && p.program == std::string("ib_write_lat")) continue;  // polls memory
    const std::vector<std::string> options = {"-s", "8", "-n", "200"};
    // When the server enters the first exchange is up to the wall's clock: the extremes, and by them the
    // average, are not compared.
    EXPECT_NEAR(twice_the_same(p.program, options, 8, kTypicalLatency), p.want, 0.02 * p.want) << p.program;
  }
}

// Where the processor could trap, too (libc/tsc_sites.h).
TEST_P(PerftestTest, TheCounterIsReadByReplacedInstructionsAsWell) {
  if (kThreadSanitizer) GTEST_SKIP() << "tsc_sites_test.cc says why";
  const std::vector<std::string> options = {"-s", "65536", "-n", "1000", "--report_gbits"};
  const ProgramPair by_code = run("ib_write_bw", options, {"ROCELAB_TSC=code"});
  const auto numbers = results(by_code.client, 65'536);
  ASSERT_GT(numbers.size(), kAverageBw) << by_code.client;
  EXPECT_EQ(numbers[kAverageBw], twice_the_same("ib_write_bw", options, 65'536, kAverageBw));
}

TEST_P(PerftestTest, AtomicsRun) {
  // One way and back: AtomicETH 28, in IRN mode read_WQE_SN; AETH and AtomicAckETH 12, in IRN mode behind the
  // ACK.
  const double want = 2 * wire_us(irn() ? 32 : 28, 0) + 2 * wire_us(12, 0) + 8 + (irn() ? wire_us(4, 0) : 0);
  for (const char* type : {"FETCH_AND_ADD", "CMP_AND_SWAP"}) {
    SCOPED_TRACE(type);
    const auto latency = results(run("ib_atomic_lat", {"-A", type, "-n", "200"}).client, 8);
    ASSERT_GT(latency.size(), kTypicalLatency);
    EXPECT_NEAR(latency[kTypicalLatency], want, 0.02 * want);
    const auto bandwidth = results(run("ib_atomic_bw", {"-A", type, "-n", "1000"}).client, 8);
    EXPECT_GT(bandwidth.size(), kAverageBw);
  }
}

}  // namespace
}  // namespace rocelab::verbs
