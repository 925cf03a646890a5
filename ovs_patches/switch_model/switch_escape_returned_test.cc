// Escape's extensions: tokens that nobody can use come back, and free their places.
#include "base/wire/controls.h"
#include "ovs_patches/switch_model/mechanisms/escape.h"
#include "ovs_patches/switch_model/switch_core.h"
#include "ovs_patches/switch_model/test_escape_extensions.h"

namespace rocelab {
namespace {

using namespace switch_test;

TEST(SwitchEscapeReturnedTest, ATokenThatNobodyCanUseGoesBackTheWayItCame) {
  SwitchConfig config = extended_config_of();
  config.mechanisms.of<EscapeMechanism>().tokens = 1;
  More b(config);
  b.send_pfc(1, at(0_us), 3, 0xffff);
  b.send_from(6, 0, 1, at(0_us));                     // known here, and port 0 does not ask
  b.send_token(1, token_of(5, 2, 0xabcd), at(1_us));  // of a flow that is not here
  b.send_token(1, token_of(7, 1), at(1_us));          // its sender does not want it back
  b.send_token(3, token_of(5, 2, 0xabcd), at(1_us));  // from a host
  b.run_until(at(3_us));
  std::vector<Departure> tokens = b.of_kind(kind_of<EscapeToken>);
  ASSERT_EQ(tokens.size(), 1u);
  EXPECT_EQ(tokens[0].port, port(1));
  EXPECT_EQ(tokens[0].token.mark, EscapeTokenMark::kNothingWaits);
  EXPECT_EQ(tokens[0].token.number, 0xabcdu);
  EXPECT_EQ(tokens[0].token.hops, 2u);
  EXPECT_EQ(b.counters(1).escape_tokens_ignored, 2u);
}

TEST(SwitchEscapeReturnedTest, APlaceIsFreeAtOnceAndOnce) {
  More b;
  b.announce_from(5, 0, 1, at(0_us));
  b.ask(at(0_us));
  b.run_until(at(7_us));
  const std::vector<Departure> tokens = b.of_kind(kind_of<EscapeToken>);
  ASSERT_EQ(tokens.size(), 1u);
  const EscapeToken token = tokens[0].token;
  const auto places = [&] { return b.node.model().mechanism<EscapeMechanism>()->tokens(port(1)); };
  EXPECT_EQ(places(), 7u);
  std::vector<EscapeToken> forged(6, back(token));
  forged[0].number ^= 1;
  forged[1].number += 1u << 16;  // of another port
  forged[2].number |= 0xffff0000;
  forged[3].source = NodeId{6};
  forged[4].hops = 2;
  forged[5].tc = tc(2);
  for (const EscapeToken& each : forged) b.send_token(0, each, at(7_us));
  b.send_token(2, back(token), at(7_us));  // it did not leave that way
  b.ask(at(7_us), false);
  b.run_until(at(7_us) + 100_ns);
  EXPECT_EQ(places(), 7u);
  EXPECT_EQ(b.counters(0).escape_tokens_ignored, 6u);
  for (int i = 0; i < 3; ++i) b.send_token(0, back(token), at(8_us) + Duration::from_ps(i));
  b.run_until(at(9_us));
  EXPECT_EQ(places(), 8u);
  EXPECT_EQ(b.counters(0).escape_tokens_returned, 1u);
  EXPECT_EQ(b.counters(0).escape_tokens_ignored, 8u);
}

// Its place has come back by age: what comes later frees nobody else's.
TEST(SwitchEscapeReturnedTest, ATokenThatComesBackTooLateFreesNothing) {
  More b;
  b.announce_from(5, 0, 1, at(0_us));
  b.ask(at(0_us));
  b.run_until(at(5_us));
  const EscapeToken token = b.of_kind(kind_of<EscapeToken>).at(0).token;
  b.run_until(at(1005_us));  // one more each time it is served: they are all away
  const std::uint32_t then = b.node.model().mechanism<EscapeMechanism>()->tokens(port(1));
  b.send_token(0, back(token), at(1006_us));
  b.run_until(at(1006_us) + 1_ns);
  EXPECT_EQ(b.node.model().mechanism<EscapeMechanism>()->tokens(port(1)), then);
  EXPECT_EQ(b.counters(0).escape_tokens_returned, 0u);
}

// Over a switch between: each place on the way is free, and each switch has its own number.
TEST(SwitchEscapeReturnedTest, ATokenComesBackOverEverySwitchThatPassedItOn) {
  More b;
  b.ask(at(0_us));
  b.send_pfc(1, at(0_us), 3, 0xffff);
  b.announce_from(5, 0, 1, at(0_us));
  b.send_token(1, token_of(5, 3, 0x00050001), at(1_us));
  b.run_until(at(2_us));
  const std::vector<Departure> passed = b.of_kind(kind_of<EscapeToken>);
  ASSERT_EQ(passed.size(), 1u);
  EXPECT_EQ(passed[0].port, port(0));
  EXPECT_EQ(passed[0].token.hops, 4u);
  EXPECT_NE(passed[0].token.number, 0x00050001u);
  EXPECT_EQ(b.node.model().mechanism<EscapeMechanism>()->tokens(port(1)), 7u);
  b.send_token(0, back(passed[0].token, EscapeTokenMark::kNoPlace), at(2_us));
  b.run_until(at(3_us));
  const std::vector<Departure> all = b.of_kind(kind_of<EscapeToken>);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1].port, port(1));
  EXPECT_EQ(all[1].token.hops, 3u);
  EXPECT_EQ(all[1].token.number, 0x00050001u);
  EXPECT_EQ(all[1].token.mark, EscapeTokenMark::kNoPlace);
  EXPECT_EQ(b.node.model().mechanism<EscapeMechanism>()->tokens(port(1)), 8u);
}

// Delta^esc, then twice as long each time, the reclaim interval at most; a frame or an announcement ends it.
TEST(SwitchEscapeReturnedTest, AFlowWhoseTokensComeBackRests) {
  More b;
  b.announce_from(5, 0, 1, at(0_us));
  b.ask(at(0_us));
  std::vector<std::int64_t> sent;  // Delta^esc's
  const auto answer_until = [&](Time end) {
    for (Time t = at(1_us); t < end; t = t + 1_us) {
      const std::size_t before = b.of_kind(kind_of<EscapeToken>).size();
      b.run_until(t);
      const std::vector<Departure> tokens = b.of_kind(kind_of<EscapeToken>);
      for (std::size_t i = before; i < tokens.size(); ++i) {
        sent.push_back((tokens[i].time - Time::zero()) / 4_us);
        b.send_token(0, back(tokens[i].token), t);
      }
    }
  };
  answer_until(at(70_us));
  EXPECT_EQ(sent, (std::vector<std::int64_t>{1, 3, 6, 11}));
  b.announce_from(5, 0, 1, at(70_us));
  sent.clear();
  answer_until(at(90_us));
  EXPECT_EQ(sent, (std::vector<std::int64_t>{18, 20}));
}

}  // namespace
}  // namespace rocelab
