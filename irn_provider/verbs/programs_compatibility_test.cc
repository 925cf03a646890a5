// docs/reference/compatibility.md, run without Open vSwitch, so that sanitizers see all of it (through Open
// vSwitch: tests/live/test_live_programs.py): each row of its table is a program with options, between two
// hosts, in one of the modes that the row says yes to, by turns. The live tests run it in both.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>

#include "irn_provider/verbs/program_pair.h"
#include "irn_provider/verbs/sanitizer.h"

namespace rocelab::verbs {
namespace {

struct Row {
  std::vector<std::string> settings;  // NAME=VALUE in front of the program
  std::vector<std::string> command;
  bool roce = false, irn = false;
};

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

bool polls_memory(const Row& row) {
  return row.command[0] == "ib_write_lat" || row.command[0] == "riostream";
}
bool is_ucx(const Row& row) { return row.command[0] == "ucx_perftest"; }

// Whose rows need hosts with interfaces, or more than two programs: tests/live. By the first word.
constexpr std::array<std::string_view, 10> kElsewhere = {
    "libfabric", "Open", "MPICH", "fio", "DAPL", "QEMU", "libiscsi", "UCX-example", "gloo", "librpma"};

// | `program options` | RoCE | IRN | from | package version | rdma-core |; tests/live/program_table.py reads
// the last two.
std::vector<Row> rows() {
  std::ifstream in(ROCELAB_SOURCE_DIR "/docs/reference/compatibility.md");
  std::vector<Row> found;
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("| `")) continue;
    std::vector<std::string> cells;
    std::istringstream columns(line.substr(1));
    for (std::string cell; std::getline(columns, cell, '|');) cells.push_back(cell);
    if (cells.size() < 4) continue;  // another table
    std::erase(cells[0], '`');
    const auto yes = [&](std::size_t i) { return words_of(cells.at(i)) == std::vector<std::string>{"yes"}; };
    const char* only = std::getenv("ROCELAB_ROWS");  // by hand: rows that contain this
    if (only != nullptr && cells[0].find(only) == std::string::npos) continue;
    const std::vector<std::string> from = words_of(cells.at(3));
    if (std::ranges::find(kElsewhere, from[0]) != kElsewhere.end()) continue;
    Row row{.settings = {}, .command = words_of(cells[0]), .roce = yes(1), .irn = yes(2)};
    while (row.command[0].find('=') != std::string::npos) {
      row.settings.push_back(row.command[0]);
      row.command.erase(row.command.begin());
    }
    if (is_ucx(row)) row.settings.push_back("UCX_NET_DEVICES=rocelab0:1");
    // UCX writes over the first bytes of the C library's mmap; so does ThreadSanitizer.
    if (is_ucx(row) && kThreadSanitizer) row.settings.push_back("UCX_MEM_MMAP_HOOK_MODE=none");
    found.push_back(row);
  }
  return found;
}

// What runs on the server's host, and on the client's.
struct Commands {
  std::vector<std::string> server, client;
};

using Words = std::vector<std::string>;

constexpr std::chrono::seconds kPatience(300);  // with sanitizers, on a machine that has other things to do

bool over_rdma_cm(const Row& row) {
  return !(row.command[0].starts_with("ib") || is_ucx(row)) || std::ranges::count(row.command, "-R") > 0;
}

// Programs over rdma_cm, in the words of each family; h2 serves, at 10.0.0.2 and the family's own port. Of
// `rdma_client` the server is a program of its own.
Commands cm_commands(const Row& row) {
  const std::string program = row.command[0], address = "10.0.0.2";
  const auto with_options = [&](Words words) {
    words.insert(words.end(), row.command.begin() + 1, row.command.end());
    return words;
  };
  if (program.starts_with("ib_"))
    return {with_options({program, "-F"}), with_options({program, "-F", address})};
  if (program == "rping")
    return {with_options({program, "-s", "-a", address}), with_options({program, "-c", "-a", address})};
  if (program == "mckey")  // one joins a group and receives, one joins it and sends
    return {with_options({program, "-b", address}), with_options({program, "-s", "-b", "10.0.0.1"})};
  const std::string server = program == "rdma_client" ? "rdma_server" : program;
  return {with_options({server}), with_options({program, "-s", address})};
}

// Runs both; time begins when both are there, so the server listens first.
ProgramPair run_over_rdma_cm(const NicConfig& nic, const Commands& commands) {
  TestFabric fabric(2, 2, nic);
  const auto server = fabric.start(1, commands.server), client = fabric.start(0, commands.client);
  // cmtime's server has no end: it goes when its client has gone.
  const bool endless = commands.client[0] == "cmtime";
  EXPECT_TRUE(endless ? fabric.run_until_end_of(client, kPatience) : fabric.run(kPatience));
  return {{endless ? 0 : fabric.program(server).exit_code(), fabric.program(client).exit_code()},
          fabric.program(server).output(),
          fabric.program(client).output(),
          fabric.segment().header().detaches.load()};
}

// The program, with what names device, GID and TCP port in its family.
std::vector<std::string> command_of(const Row& row, int port) {
  const bool ping_pong = row.command[0].ends_with("_pingpong");
  std::vector<std::string> command = {row.command[0]};
  if (!is_ucx(row)) {
    for (const char* o : {"-d", "rocelab0", ping_pong ? "-g" : "-x", "1"}) command.push_back(o);
    if (!ping_pong) command.push_back("-F");
  }
  command.insert(command.end(), row.command.begin() + 1, row.command.end());
  command.push_back("-p");
  command.push_back(std::to_string(port));
  return command;
}

// librspreload turns a program's TCP sockets into rsockets. It stands before our library, which it calls, and
// behind a sanitizer's, which wants to be the first.
std::string with_rsockets() {
  const std::string ours = ROCELAB_PRELOAD;
  const std::size_t last = ours.find_last_of(':') + 1;
  return "LD_PRELOAD=" + ours.substr(0, last) + ROCELAB_RSPRELOAD ":" + ours.substr(last);
}

ProgramPair run_iperf3(const NicConfig& nic, const Row& row) {
  constexpr int kPort = 5201;  // iperf3's
  Words client = {"iperf3", "-c", "10.0.0.2"};
  client.insert(client.end(), row.command.begin() + 1, row.command.end());
  Words settings = row.settings;
  settings.push_back(with_rsockets());
  return run_server_and_client(nic, {"iperf3", "-s", "-1"}, client, kPort, Clock::kKept, settings);
}

class CompatibilityTest : public ::testing::TestWithParam<TransportMode> {};
INSTANTIATE_TEST_SUITE_P(Modes, CompatibilityTest,
                         ::testing::Values(TransportMode::kRoce, TransportMode::kIrn), [](const auto& mode) {
                           return mode.param == TransportMode::kRoce ? "Roce" : "Irn";
                         });

TEST_P(CompatibilityTest, EveryProgramOfTheTableRuns) {
  const std::vector<Row> table = rows();
  ASSERT_TRUE(table.size() > 15 || std::getenv("ROCELAB_ROWS") != nullptr);
  for (std::size_t i = 0; i < table.size(); ++i) {
    const Row& row = table[i];
    const TransportMode turn =
        !row.irn || (row.roce && i % 2 == 0) ? TransportMode::kRoce : TransportMode::kIrn;
    if (GetParam() != turn || !(row.roce || row.irn)) continue;
    if (kThreadSanitizer && polls_memory(row)) continue;
    const int port = free_port();
    NicConfig nic;
    nic.mode = GetParam();
    nic.active_mtu = 1'024;
    if (row.command[0] == "qperf") {
      if (!enter_own_network()) continue;  // not allowed to: the rows are run where tests run as root
      const ProgramPair pair = run_qperf(slow_nic(GetParam()), {row.command.begin() + 1, row.command.end()});
      EXPECT_EQ(pair.exit_codes[1], 0) << row.command.back() << "\n" << pair.client;
      EXPECT_NE(pair.client.find("  =  "), std::string::npos) << row.command.back() << "\n" << pair.client;
      continue;
    }
    if (row.command[0] == "iperf3") {
      if (kThreadSanitizer || !enter_own_network()) continue;  // its runtime and librspreload: orders differ
      const ProgramPair pair = run_iperf3(nic, row);
      EXPECT_EQ(pair.exit_codes[0], 0) << pair.server;
      EXPECT_EQ(pair.exit_codes[1], 0) << pair.client;
      EXPECT_NE(pair.client.find("receiver"), std::string::npos) << pair.client;
      continue;
    }
    const bool cm = over_rdma_cm(row);
    const std::vector<std::string> command = cm ? cm_commands(row).client : command_of(row, port);
    std::string text;
    for (const std::string& word : command) text += word + " ";
    const ProgramPair pair = cm ? run_over_rdma_cm(nic, cm_commands(row))
                                : run_pair(nic, command, port, Clock::kKept, row.settings);
    EXPECT_EQ(pair.exit_codes[0], 0) << text << "\n" << pair.server;
    ASSERT_EQ(pair.exit_codes[1], 0) << text << "\n" << pair.client;
    if (cm && !command[0].starts_with("ib")) continue;  // its status is its result
    // What a result looks like: perftest's header line, the ping-pongs' last one, the word of xsrq's, UCX's
    // sum.
    EXPECT_TRUE(pair.client.find("#bytes") != std::string::npos ||
                pair.client.find("usec/iter") != std::string::npos ||
                pair.client.find("Final: ") != std::string::npos || pair.client.ends_with("success\n"))
        << text << "\n"
        << pair.client;
  }
}

}  // namespace
}  // namespace rocelab::verbs
