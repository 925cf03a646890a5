// A small incast, counter by counter, against golden/incast.txt. Every law takes part in these integers, so a
// change of any shows here first. ROCELAB_UPDATE_GOLDEN=1 rewrites the file; the difference then belongs into
// the commit that caused it.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "ovs_patches/switch_model/test_net.h"

namespace rocelab {
namespace {

using namespace switch_test;

std::string table_of(const char* label, const SwitchConfig& config) {
  TestNet net;
  net.add_switch(config, std::vector<PortConfig>(5));
  for (int i = 0; i < 5; ++i) {
    const int index = net.add_host(0, i);
    net.route(0, index, i);
    TestHost& host = net.hosts[static_cast<std::size_t>(index)];
    host.to = 4;
    host.frames = i < 4 ? 200 : 0;
    host.start = at(Duration::from_ps(10'000 * i));
  }
  net.run(2_us);
  std::ostringstream out;
  out << "# " << label << '\n';
  for (int p = 0; p < 5; ++p) {
    const auto values = values_of(net.counters(0, p));
    for (std::size_t i = 0; i < switch_port_counters(); ++i) {
      if (values[i] != 0)
        out << "port " << p << ' ' << switch_port_counter_name(i) << ' ' << values[i] << '\n';
    }
  }
  out << "received " << net.hosts[4].received << " by " << net.hosts[4].last_received.ps() << " ps\n";
  return out.str();
}

TEST(SwitchSnapshotTest, SmallIncastMatchesGoldenTable) {
  SwitchConfig config;
  config.max_frame = 1098_B;
  config.ingress_buffer = 40_KB;
  config.egress_limit = 40_KB;
  config.classes[3].ecn = {.enabled = true, .k_min = 20_KB, .k_max = 60_KB, .p_max = 0.2};
  std::string got = table_of("lossless", config);
  config.queue_order = QueueOrder::kRoundRobin;
  got += table_of("lossless, round robin over ingress ports", config);
  config.pfc.enabled = false;
  got += table_of("lossy, round robin over ingress ports", config);
  config.input_buffered = true;
  config.input_buffer = 40_KB;
  got += table_of("input buffered", config);

  const std::string path = ROCELAB_SOURCE_DIR "/ovs_patches/switch_model/golden/incast.txt";
  if (std::getenv("ROCELAB_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << got;
  std::ostringstream want;
  want << std::ifstream(path).rdbuf();
  EXPECT_EQ(got, want.str());
}

}  // namespace
}  // namespace rocelab
