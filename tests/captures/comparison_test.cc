// The comparison itself: whatever is changed in what was recorded, or in what its sidecar says, is noticed.
#include <gtest/gtest.h>

#include <functional>

#include "base/wire/aeth.h"
#include "tests/captures/compare.h"

namespace rocelab::captures {
namespace {

namespace fs = std::filesystem;

// A recorded exchange with ours in the place of one end, played once.
struct Played {
  Played(const std::string& name, End end)
      : sidecar(read_sidecar(test::own_captures() / (name + ".toml"))),
        frames(read_capture(test::own_captures() / (name + ".pcap"), sidecar)),
        ours(end),
        replay(sidecar, frames, ours) {
    replay.run();
  }
  bool notices(const Sidecar& other_sidecar, const std::vector<Frame>& other_frames) {
    return !differences(other_sidecar, other_frames, ours, replay).empty();
  }
  bool notices(const std::vector<Frame>& other_frames) { return notices(sidecar, other_frames); }
  bool notices(const Sidecar& other_sidecar) { return notices(other_sidecar, frames); }

  const Sidecar sidecar;
  const std::vector<Frame> frames;
  const End ours;
  Replay replay;
};

std::vector<std::string> connections() {
  std::vector<std::string> names;
  for (const fs::path& file : test::capture_files(test::own_captures()))
    if (read_sidecar(fs::path(file).replace_extension(".toml")).has_connection)
      names.push_back(file.stem().string());
  return names;
}

void for_each_connection(const std::function<void(Played&)>& look) {
  const auto names = connections();
  EXPECT_EQ(names.size(), 35u);
  for (const std::string& name : names)
    for (const End end : {End::kClient, End::kServer}) {
      SCOPED_TRACE(name + ", ours the " + to_string(end));
      Played played(name, end);
      ASSERT_FALSE(played.notices(played.frames));
      look(played);
    }
}

// One change to each field that a frame has.
std::vector<std::pair<const char*, std::function<void(Frame&)>>> changes_of(const Frame& frame) {
  std::vector<std::pair<const char*, std::function<void(Frame&)>>> all{
      {"PSN", [](Frame& f) { f.roce.psn = Psn(f.roce.psn.value() ^ 1); }},
      {"QPN", [](Frame& f) { f.roce.dest.value ^= 1; }},
      {"AckReq", [](Frame& f) { f.roce.ack_req = !f.roce.ack_req; }},
      {"solicited", [](Frame& f) { f.roce.solicited = !f.roce.solicited; }},
      {"MigReq", [](Frame& f) { f.roce.mig_req = !f.roce.mig_req; }},
      {"P_Key", [](Frame& f) { f.roce.pkey ^= 1; }},
      {"pad", [](Frame& f) { f.roce.pad ^= 1; }},
      {"opcode", [](Frame& f) { f.roce.opcode ^= 0x20; }},
      {"source address", [](Frame& f) { f.address.src_gid[15] ^= 1; }},
      {"destination MAC", [](Frame& f) { f.address.dst_mac[5] ^= 1; }},
      {"UDP port", [](Frame& f) { f.address.udp_src_port ^= 1; }},
      {"DSCP", [](Frame& f) { f.address.dscp ^= 1; }}};
  const auto add = [&](Header header, const char* name, std::function<void(Frame&)> change) {
    if (opcode_info(frame.roce.opcode).has(header)) all.emplace_back(name, std::move(change));
  };
  add(Header::kAeth, "syndrome", [](Frame& f) { f.roce.syndrome ^= 1; });
  add(Header::kAeth, "MSN", [](Frame& f) { f.roce.msn.value ^= 1; });
  add(Header::kReth, "VA", [](Frame& f) { f.roce.va ^= 1; });
  add(Header::kReth, "R_Key", [](Frame& f) { f.roce.rkey.value ^= 1; });
  add(Header::kReth, "DMA length", [](Frame& f) { f.roce.dma_length ^= 1; });
  add(Header::kAtomicEth, "VA", [](Frame& f) { f.roce.va ^= 1; });
  add(Header::kAtomicEth, "add", [](Frame& f) { f.roce.swap_or_add ^= 1; });
  add(Header::kAtomicEth, "compare", [](Frame& f) { f.roce.compare ^= 1; });
  add(Header::kAtomicAckEth, "original", [](Frame& f) { f.roce.swap_or_add ^= 1; });
  add(Header::kImmDt, "immediate", [](Frame& f) { f.roce.imm ^= 1; });
  add(Header::kDeth, "Q_Key", [](Frame& f) { f.roce.qkey ^= 1; });
  add(Header::kDeth, "source QPN", [](Frame& f) { f.roce.src_qpn.value ^= 1; });
  if (!frame.payload.empty()) {
    all.emplace_back("first byte", [](Frame& f) { f.payload.front() ^= std::byte{1}; });
    all.emplace_back("last byte", [](Frame& f) { f.payload.back() ^= std::byte{1}; });
    all.emplace_back("length", [](Frame& f) { f.payload.pop_back(); });
  }
  return all;
}

bool is_not_sent(const Played& played, const Frame& frame) {
  return std::ranges::any_of(played.sidecar.differences, [&](const Difference& d) {
    return d.what == Difference::What::kNotSent && std::ranges::count(d.frames, frame.number) > 0;
  });
}

TEST(ComparisonTest, NoticesAChangeInAnyFieldOfAnyFrame) {
  for_each_connection([](Played& played) {
    for (std::size_t i = 0; i < played.frames.size(); ++i) {
      if (played.frames[i].from != played.ours || is_not_sent(played, played.frames[i])) continue;
      for (const auto& [name, change] : changes_of(played.frames[i])) {
        std::vector<Frame> changed = played.frames;
        change(changed[i]);
        EXPECT_TRUE(played.notices(changed)) << "frame " << changed[i].number << ": " << name;
      }
    }
  });
}

TEST(ComparisonTest, NoticesAFrameMoreAndAFrameLess) {
  for_each_connection([](Played& played) {
    for (std::size_t i = 0; i < played.frames.size(); ++i) {
      if (played.frames[i].from != played.ours || is_not_sent(played, played.frames[i])) continue;
      std::vector<Frame> less = played.frames, more = played.frames;
      less[i].from = other(played.ours);
      more.push_back(played.frames[i]);
      EXPECT_TRUE(played.notices(less)) << "without frame " << played.frames[i].number;
      EXPECT_TRUE(played.notices(more)) << "frame " << played.frames[i].number << " twice";
    }
  });
}

TEST(ComparisonTest, NoticesAnswersThatComeLaterThanTheRecordedOnes) {
  Played played("rc_send", End::kServer);
  std::vector<Frame> earlier = played.frames;
  ASSERT_EQ(earlier[1].role(), Role::kResponse);
  earlier[1].at = earlier[0].at - 1_us;
  EXPECT_TRUE(played.notices(earlier));
}

TEST(ComparisonTest, NoticesAChangeInAnyCompletion) {
  for_each_connection([](Played& played) {
    const auto with = [&](std::size_t i, const std::function<void(Completion&)>& change) {
      Sidecar changed = played.sidecar;
      change((played.ours == End::kClient ? changed.client : changed.server).completions[i]);
      return changed;
    };
    const EndSpec& end = played.sidecar.of(played.ours);
    for (std::size_t i = 0; i < end.completions.size(); ++i) {
      const Completion& c = end.completions[i];
      EXPECT_TRUE(played.notices(with(i, [](Completion& x) { x.status = WcStatus::kFatalErr; })));
      EXPECT_TRUE(played.notices(with(i, [](Completion& x) { x.opcode = WcOpcode::kBindMw; })));
      EXPECT_TRUE(played.notices(with(i, [](Completion& x) { x.receive = !x.receive, x.wqe = 0; })));
      if (c.byte_len) {
        EXPECT_TRUE(played.notices(with(i, [](Completion& x) { ++*x.byte_len; })));
      }
      if (c.imm) {
        EXPECT_TRUE(played.notices(with(i, [](Completion& x) { ++*x.imm; })));
      }
      if (c.by) {
        std::vector<Frame> earlier = played.frames;
        for (Frame& f : earlier) f.at = f.at - 10_s;
        EXPECT_TRUE(played.notices(earlier)) << "seen by frame " << *c.by;
      }
      if (c.content) {
        const Content other{Content::Kind::kPattern, 0xee, 0, {}, {}};
        EXPECT_TRUE(played.notices(with(i, [&](Completion& x) { x.content = other; })));
      }
    }
  });
}

TEST(ComparisonTest, NoticesOtherMemoryAfterwards) {
  int regions = 0;
  for_each_connection([&](Played& played) {
    Sidecar changed = played.sidecar;
    for (Region& region : (played.ours == End::kClient ? changed.client : changed.server).regions) {
      if (!region.after) continue;
      ++regions;
      region.after = Content{Content::Kind::kPattern, 0xee, 0, {}, {}};
      EXPECT_TRUE(played.notices(changed));
    }
  });
  EXPECT_EQ(regions, 15);
}

// So that no entry outlives its reason.
TEST(ComparisonTest, EveryDifferenceThatASidecarNamesIsNeeded) {
  for (const std::string& name : connections()) {
    SCOPED_TRACE(name);
    Played client(name, End::kClient), server(name, End::kServer);
    for (std::size_t i = 0; i < client.sidecar.differences.size(); ++i) {
      Sidecar without = client.sidecar;
      without.differences.erase(without.differences.begin() + static_cast<std::ptrdiff_t>(i));
      EXPECT_TRUE(client.notices(without) || server.notices(without)) << "difference " << i + 1;
    }
  }
}

// What reaches ours decides: with a lost frame that arrives, or one more that is lost, it does otherwise.
TEST(ComparisonTest, NoticesAnotherLoss) {
  const auto differs = [](const std::string& name, End ours, const std::set<int>& lost) {
    Sidecar sidecar = read_sidecar(test::own_captures() / (name + ".toml"));
    sidecar.lost = lost;
    const auto frames = read_capture(test::own_captures() / (name + ".pcap"), sidecar);
    Replay replay(sidecar, frames, ours);
    replay.run();
    return !differences(sidecar, frames, ours, replay).empty();
  };
  EXPECT_FALSE(differs("loss_write_mid", End::kServer, {4}));
  EXPECT_TRUE(differs("loss_write_mid", End::kServer, {}));
  EXPECT_TRUE(differs("loss_write_mid", End::kServer, {4, 10}));  // and its repair
  EXPECT_TRUE(differs("loss_write_mid", End::kClient, {6}));      // the NAK
  EXPECT_TRUE(differs("loss_ack_write", End::kClient, {}));
  EXPECT_TRUE(differs("loss_read_resp_mid", End::kClient, {}));
  EXPECT_TRUE(differs("loss_atomic_ack", End::kClient, {2, 4}));
  EXPECT_TRUE(differs("err_retry_exceeded", End::kServer, {3, 4, 5}));
  EXPECT_TRUE(differs("rc_send", End::kServer, {1}));
}

}  // namespace
}  // namespace rocelab::captures
