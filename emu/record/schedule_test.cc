// Recorded schedules: what is written is read again; what is no schedule, or another run's, is refused; and a
// replay holds its run to what it has.
#include "emu/record/schedule.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace rocelab {
namespace {

constexpr std::size_t kSwitches = 2;
constexpr std::uint32_t kFull = 1100, kShort = 300;

RecordedSchedule two_streams() {
  RecordedSchedule made;
  made.switches = kSwitches;
  made.streams[stream_key(NodeId{7}, Qpn{20})] = {0xfffffe,
                                                  {{kFull, 900_ns}, {kShort, 400_ns}},
                                                  {1'000, 2'000'000, 5'000, 6'000,     // PSN 0xfffffe
                                                   2'000, 3'000'000, 7'000, 8'000,     // 0xffffff
                                                   3'000, 3'500'000, 9'000, 10'000}};  // 0
  made.streams[stream_key(NodeId{3}, Qpn{21})] = {5, {{kFull, 800_ns}}, {4'000, 1'900'000, 11'000, 12'000}};
  return made;
}

class ScheduleTest : public ::testing::Test {
 protected:
  ScheduleTest() : folder_(std::filesystem::temp_directory_path() / ("rocelab-schedule-test." + name())) {
    std::filesystem::create_directories(folder_);
  }
  ~ScheduleTest() override { std::filesystem::remove_all(folder_); }
  static std::string name() {
    return std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) + "." +
           std::to_string(::getpid());
  }
  ScheduleFile file(const std::string& key = "of-run-1") const {
    return {(folder_ / "schedule").string(), key};
  }
  std::string content() const {
    std::ifstream in(file().path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void put(const std::string& bytes) const { std::ofstream(file().path, std::ios::binary) << bytes; }
  std::string refusal(const std::string& key = "of-run-1") const {
    try {
      Schedule::open(file(key));
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return {};
  }
  std::filesystem::path folder_;
};

TEST_F(ScheduleTest, IsReadAsItWasRecorded) {
  RecordedSchedule recorded = two_streams();
  Schedule::write(recorded, file());
  EXPECT_TRUE(recorded.streams.empty());
  for (const bool in_memory : {false, true}) {
    RecordedSchedule again = two_streams();
    const Schedule read = in_memory ? Schedule::write(again, {}) : Schedule::open(file());
    EXPECT_EQ(read.packets(), 4u);
    EXPECT_EQ(read.switches(), kSwitches);
    const std::uint64_t key = stream_key(NodeId{7}, Qpn{20});
    const auto third = read.find(key, Psn(0));  // behind the largest PSN
    ASSERT_TRUE(third);
    EXPECT_EQ(third->in, Time::from_ps(3'000));
    EXPECT_EQ(third->out, Time::from_ps(3'500'000));
    EXPECT_TRUE(std::ranges::equal(third->hops, std::vector<std::int64_t>{9'000, 10'000}));
    EXPECT_EQ(read.least(key, kShort), 400_ns);
    EXPECT_EQ(read.least(stream_key(NodeId{3}, Qpn{21}), kFull), 800_ns);
    EXPECT_FALSE(read.find(key, Psn(1)));
    EXPECT_FALSE(read.find(key, Psn(0xfffffd)));
    EXPECT_FALSE(read.find(stream_key(NodeId{7}, Qpn{21}), Psn(5)));
    EXPECT_FALSE(read.least(key, kFull + 4));
  }
}

TEST_F(ScheduleTest, WhatIsNoScheduleOfTheRunIsRefused) {
  EXPECT_NE(refusal().find("No such file"), std::string::npos);
  RecordedSchedule recorded = two_streams();
  Schedule::write(recorded, file());
  EXPECT_EQ(refusal(), "");
  EXPECT_NE(refusal("of-run-2").find("it is the schedule of another run"), std::string::npos);
  const std::string good = content();
  for (std::size_t length = 0; length < good.size(); ++length) {
    put(good.substr(0, length));
    EXPECT_NE(refusal(), "") << length;
  }
  put(good + std::string(8, '\0'));
  EXPECT_NE(refusal().find("cut short, or longer"), std::string::npos);
  put("x" + good.substr(1));
  EXPECT_NE(refusal().find("it is no recorded schedule"), std::string::npos);
  put(good);
  EXPECT_EQ(refusal(), "");
}

// Whatever its bytes say, nothing outside the file is read.
TEST_F(ScheduleTest, DamagedBytesAreRefusedOrStayInTheFile) {
  RecordedSchedule recorded = two_streams();
  Schedule::write(recorded, file());
  const std::string good = content();
  int refused = 0;
  for (std::size_t at = 0; at < good.size(); ++at)
    for (const int flip : {0x01, 0x80, 0xff}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ flip);
      put(bad);
      if (!refusal().empty()) {
        ++refused;
        continue;
      }
      const Schedule read = Schedule::open(file());
      for (const NodeId node : {NodeId{3}, NodeId{7}})
        for (const Qpn qpn : {Qpn{20}, Qpn{21}})
          for (std::uint32_t psn = 0xfffff0; psn < 0x1000010; ++psn) {
            const auto entry = read.find(stream_key(node, qpn), Psn(psn & Psn::kMask));
            EXPECT_TRUE(!entry || entry->number < read.packets());
            static_cast<void>(read.least(stream_key(node, qpn), kFull));
          }
    }
  EXPECT_GT(refused, 200);
}

class ScheduleReplayTest : public ::testing::Test {
 protected:
  PacketRef packet(std::uint32_t psn, std::uint32_t frame = kFull, NodeId to = NodeId{7}) {
    PacketRef made = pool_.make();
    made->dst = to;
    made->roce.dest = Qpn{20};
    made->roce.psn = Psn(psn);
    made->frame_length = frame;
    return made;
  }
  static Schedule schedule() {
    RecordedSchedule recorded = two_streams();
    return Schedule::write(recorded, {});
  }
  std::string problem() const { return replay_.differences().problem("original", 0); }
  PacketPool pool_;
  const Schedule schedule_ = schedule();
  ScheduleReplay replay_{schedule_};
};

TEST_F(ScheduleReplayTest, APacketGetsTheSlackWithWhichItArrivesAsItDid) {
  const PacketRef p = packet(0xffffff);
  const Replayed replayed = replay_.departs(*p, Time::from_ps(2'000));
  EXPECT_EQ(replayed.out, Time::from_ps(3'000'000));
  EXPECT_EQ(replayed.slack, Duration::from_ps(3'000'000 - 2'000 - 900'000));
  EXPECT_TRUE(std::ranges::equal(replayed.hops, std::vector<std::int64_t>{7'000, 8'000}));
  PacketPool::put_slack(*p, {replayed.slack.ps(), -25, 1});
  replay_.arrives(*p, Time::from_ps(3'000'025));  // 25 ps late
  EXPECT_EQ(problem(), "");
}

TEST_F(ScheduleReplayTest, EachBreachIsCounted) {
  const auto says = [&](const std::string& what) { return problem().find(what) != std::string::npos; };
  replay_.departs(*packet(0xfffffe), Time::from_ps(1'001));
  EXPECT_TRUE(says("1 packets left their NICs at another instant, 0 are")) << problem();
  replay_.departs(*packet(0xfffffe), Time::from_ps(1'000));
  EXPECT_TRUE(says("2 packets left")) << "it has left before";
  replay_.departs(*packet(1), Time::from_ps(1'000));
  replay_.departs(*packet(0, kFull, NodeId{9}), Time::from_ps(3'000));
  replay_.departs(*packet(0, kFull - 4), Time::from_ps(3'000));
  EXPECT_TRUE(says("3 are not those of the original, 0 came")) << problem();
  const PacketRef p = packet(0, kShort);
  PacketPool::put_slack(*p, {0, 1, 0});
  replay_.arrives(*p, Time::from_ps(3'500'000));
  EXPECT_TRUE(says("0 came sooner than over an idle network, and of 1 the lateness is not")) << problem();
  PacketPool::put_slack(*p, {0, 3'500'000 - 402'999, 0});
  replay_.arrives(*p, Time::from_ps(402'999));  // in at 3 ns, and 400 ns is the least
  EXPECT_TRUE(says("1 came sooner than over an idle network, and of 1 the")) << problem();
}

}  // namespace
}  // namespace rocelab
