// SwitchActions on a switch of its own: the places of two mechanisms in the list do not disturb each other.
#include "ovs_patches/switch_model/actions.h"
#include "ovs_patches/switch_model/switch_path.h"
#include "ovs_patches/switch_model/test_support.h"

namespace rocelab {
namespace {

using namespace switch_test;

struct ActionsBench {
  PacketPool pool;
  TraceLog trace;
  std::vector<PortConfig> ports{4};
  SwitchCore core{SwitchConfig{}, ports, Rng(1), pool, trace, nullptr};
  SwitchActions a{core, 0}, b{core, 1};
};

TEST(SwitchActionsTest, AClassIsPausedWhileAnyMechanismOrTheBufferAsks) {
  ActionsBench f;
  f.a.pause(port(0), tc(3), true, at(1_us));
  EXPECT_TRUE(f.a.asks(port(0), tc(3)));
  f.b.pause(port(0), tc(3), true, at(2_us));
  f.a.pause(port(0), tc(3), false, at(3_us));
  EXPECT_TRUE(f.a.asks(port(0), tc(3))) << "the other still asks";
  EXPECT_EQ(f.trace.count(TraceKind::kXon), 0);
  f.b.pause(port(0), tc(3), false, at(4_us));
  EXPECT_FALSE(f.a.asks(port(0), tc(3)));
  EXPECT_EQ(f.trace.count(TraceKind::kXoff), 1);
  EXPECT_EQ(f.trace.count(TraceKind::kXon), 1);
}

TEST(SwitchActionsTest, ALossyClassIsNeverPaused) {
  ActionsBench f;
  f.a.pause(port(0), tc(0), true, at(1_us));
  EXPECT_FALSE(f.a.asks(port(0), tc(0)));
}

TEST(SwitchActionsTest, APortWatchesTheClassesOfAllMechanisms) {
  ActionsBench f;
  f.a.watch(port(1), bit_of(tc(3)));
  f.b.watch(port(1), static_cast<TcMask>(bit_of(tc(3)) | bit_of(tc(5))));
  f.a.watch(port(1), 0);
  EXPECT_EQ(f.core.at(port(1)).watched, bit_of(tc(3)) | bit_of(tc(5)));
  f.b.watch(port(1), 0);
  EXPECT_EQ(f.core.at(port(1)).watched, 0);
  f.b.watch_departures(port(1), bit_of(tc(2)));
  EXPECT_EQ(f.core.at(port(1)).watched_out, bit_of(tc(2)));
  EXPECT_EQ(f.core.at(port(2)).watched_out, 0);
}

TEST(SwitchActionsTest, NoFrameTakesTheShortCutWhileAdmissionIsWatched) {
  ActionsBench f;
  const PacketRef packet = make_packet(f.pool, 1000_B);
  EXPECT_TRUE(f.core.pass(port(0), port(1), *packet, at(1_us)));
  f.a.watch_admission(true);
  f.b.watch_admission(true);
  f.a.watch_admission(false);
  EXPECT_FALSE(f.core.pass(port(0), port(1), *packet, at(2_us)));
  f.b.watch_admission(false);
  EXPECT_TRUE(f.core.pass(port(0), port(1), *packet, at(3_us)));
}

TEST(SwitchActionsTest, AFrameThatIsTakenOutLeavesByTheOneWay) {
  ActionsBench f;
  PacketRef packet = make_packet(f.pool, 1000_B);
  packet->roce.dest = Qpn{7};
  const std::uint64_t flow = flow_of(*packet, port(0)).key();
  const PortId outs[] = {port(1)};
  f.core.receive(port(0), outs, std::move(packet), at(1_us));
  EXPECT_EQ(f.a.waiting(port(1)), bit_of(tc(3)));
  std::optional<QueuedFrame> frame = f.a.extract(port(1), tc(3), flow, at(2_us));
  ASSERT_TRUE(frame);
  EXPECT_EQ(f.a.waiting(port(1)), 0) << "the queue is empty";
  EXPECT_EQ(f.core.buffer.held(port(0), tc(3)), 1000_B) << "until give_back()";
  f.a.give_back(port(0), tc(3), 1000_B, frame->share, at(3_us));
  EXPECT_EQ(f.core.buffer.held(port(0), tc(3)), 0_B);
}

}  // namespace
}  // namespace rocelab
