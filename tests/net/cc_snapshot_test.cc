// Each congestion control on the same small incast, in integers, against golden/incast.txt: a change of any
// law shows here first. ROCELAB_UPDATE_GOLDEN=1 rewrites the file; the difference then belongs into the
// commit that caused it.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "irn_provider/cc/aimd.h"
#include "irn_provider/cc/cc_algorithm.h"
#include "ovs_patches/switch_model/mechanisms/rocc.h"
#include "tests/net/star_net.h"

namespace rocelab {
namespace {

struct Scheme {
  const char* label;
  TransportMode mode;
  std::string_view kind;
  bool tcp = false;
};

// Four flows of 2 MB into one port; every 200 us what had arrived of each, in packets, and the queue in
// bytes.
std::string table_of(const Scheme& scheme) {
  NicConfig nic;
  nic.mode = scheme.mode;
  nic.active_mtu = 1024;
  nic.roce_rto = 320_us;
  nic.recovery_timers = scheme.mode == TransportMode::kIrn;
  nic.cc = cc_config(scheme.kind);
  nic.ecn_capable = nic.cc.needs().marks;
  if (scheme.tcp)
    nic.irn.tcp = true, nic.irn.bdp_cap = 0, nic.cc.use<Aimd>() = {.initial_window = 4, .slow_start = true};
  SwitchConfig config;
  config.pfc.enabled = scheme.mode == TransportMode::kRoce;
  config.classes[3].ecn = {nic.ecn_capable, 20_KB, 100_KB, 0.2};
  config.input_buffered = scheme.mode == TransportMode::kIrn;
  config.mechanisms.of<RoccMechanism>().enabled = scheme.kind == "rocc";
  config.queue_order = config.input_buffered ? QueueOrder::kRoundRobin : QueueOrder::kFifo;

  StarNet net(5, nic, config);
  std::array<std::uint64_t, 4> packets{};
  net.on_delivery = [&](std::size_t port, const Packet& packet, Time) {
    if (port == 4 && packet.payload_length > 0) ++packets[(packet.flow >> 12) - 1];
  };
  for (std::size_t h = 0; h < 4; ++h) net.post(net.connect(h, 4), WrOpcode::kWrite, 2'000'000);
  std::ostringstream out;
  out << "# " << scheme.label << '\n';
  for (int step = 1; step <= 10; ++step) {
    net.run_until(Time::zero() + 200_us * step);
    out << step * 200 << " us";
    for (const std::uint64_t p : packets) out << ' ' << p;
    out << " queue " << net.queue(4).count() << '\n';
  }
  net.run();
  NicCounters senders;
  for (std::size_t h = 0; h < 4; ++h) senders = senders + net.counters(h);
  out << "marks " << net.port(4).ecn_marked << " cnps " << senders.rp_cnp_handled << " resent "
      << senders.retransmitted_packets << " ends";
  for (std::size_t f = 0; f < 4; ++f) out << ' ' << net.flow(f).completed.ps();
  out << " ps\n";
  return out.str();
}

TEST(CcSnapshotTest, SmallIncastMatchesGoldenTable) {
  std::string got;
  for (const Scheme& scheme :
       {Scheme{"irn", TransportMode::kIrn, "none"}, Scheme{"roce+pfc+dcqcn", TransportMode::kRoce, "dcqcn"},
        Scheme{"irn+dcqcn", TransportMode::kIrn, "dcqcn"},
        Scheme{"roce+pfc+timely", TransportMode::kRoce, "timely"},
        Scheme{"irn+timely", TransportMode::kIrn, "timely"},
        Scheme{"roce+pfc+rocc", TransportMode::kRoce, "rocc"},
        Scheme{"irn+rocc", TransportMode::kIrn, "rocc"}, Scheme{"irn+aimd", TransportMode::kIrn, "aimd"},
        Scheme{"irn+dctcp", TransportMode::kIrn, "dctcp"},
        Scheme{"iwarp", TransportMode::kIrn, "aimd", true}})
    got += table_of(scheme);
  const std::string path = ROCELAB_SOURCE_DIR "/tests/net/golden/incast.txt";
  if (std::getenv("ROCELAB_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << got;
  std::ostringstream want;
  want << std::ifstream(path).rdbuf();
  EXPECT_EQ(got, want.str());
}

}  // namespace
}  // namespace rocelab
