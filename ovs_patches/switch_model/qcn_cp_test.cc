#include "ovs_patches/switch_model/qcn_cp.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace rocelab {
namespace {

// One frame of this length is a sample, whatever the interval.
constexpr Bytes kSampled = 1000_KB;
constexpr QcnPoint kExact{.jitter_percent = 0};

int feedback(QcnCp& cp, Bytes queue, Bytes frame = kSampled) {
  const auto sample = cp.on_frame(frame, queue);
  return sample ? sample->feedback : 0;
}

// -Fb = q_off + w q_delta, of Q_eq (2 w + 1) = 130,000 B so many 63rds.
TEST(QcnCpTest, FeedbackIsTheQueuesDistanceFromQeqAndItsGrowth) {
  struct Row {
    Bytes before, queue;
    int want;
  };
  for (const Row& row :
       {Row{26_KB, 26_KB, 0}, Row{28_KB, 28_KB, 0}, Row{29_KB, 29_KB, 1}, Row{52_KB, 52_KB, 12},
        Row{26_KB, 52_KB, 37}, Row{60_KB, 52_KB, 4}, Row{65_KB, 52_KB, 0}, Row{10_KB, 20_KB, 6},
        Row{0_KB, 52_KB, 63}, Row{0_KB, 51_KB, 61}, Row{0_KB, 900_KB, 63}, Row{900_KB, 0_KB, 0}}) {
    QcnCp cp(kExact, Rng(1));
    feedback(cp, row.before);  // sets the length to compare with
    const auto sample = cp.on_frame(kSampled, row.queue);
    EXPECT_EQ(sample ? sample->feedback : 0, row.want) << to_string(row.queue);
    if (!sample) continue;
    EXPECT_EQ(sample->q_offset, (row.queue - 26_KB).count());
    EXPECT_EQ(sample->q_delta, (row.queue - row.before).count());
  }
}

// Also a sample that tells nobody is what the next one is compared with.
TEST(QcnCpTest, EverySampleSetsTheLengthToCompareWith) {
  QcnCp cp(kExact, Rng(1));
  EXPECT_EQ(feedback(cp, 20_KB), 16) << "20 KB since the queue was empty";
  EXPECT_EQ(feedback(cp, 10_KB), 0);
  EXPECT_EQ(feedback(cp, 30_KB), 21);
}

// The frame that exceeds the interval is the sample; the interval follows from the last feedback.
TEST(QcnCpTest, TheMoreCongestionTheSoonerTheNextSample) {
  const struct {
    Bytes queue;
    int feedback;
    Bytes interval;
  } rows[] = {{26_KB, 0, 150_KB}, {52_KB, 12, 75_KB},  {60_KB, 16, 50_KB},     {78_KB, 25, 37'500_B},
              {95_KB, 33, 30_KB}, {112_KB, 41, 25_KB}, {128_KB, 49, 21'500_B}, {145_KB, 57, 18'500_B}};
  for (const auto& row : rows) {
    QcnCp cp(kExact, Rng(1));
    feedback(cp, row.queue);
    ASSERT_EQ(feedback(cp, row.queue), row.feedback);
    EXPECT_EQ(feedback(cp, 500_KB, row.interval), 0) << "exactly the interval: not yet";
    EXPECT_EQ(feedback(cp, 500_KB, 1_B), 63) << to_string(row.queue);
  }
}

TEST(QcnCpTest, IntervalsDifferByTheJitterAndFillIt) {
  for (const std::int64_t percent : {15, 0}) {
    QcnCp cp({.jitter_percent = percent}, Rng(7));
    std::int64_t least = 1'000'000, most = 0;
    for (int i = 0; i < 300; ++i) {
      std::int64_t bytes = 0;
      bool sampled = false;
      for (; !sampled; bytes += 100) sampled = cp.on_frame(100_B, bytes == 0 ? 26_KB : 1000_KB).has_value();
      if (i == 0) continue;  // the first interval begins with the queue
      least = std::min(least, bytes), most = std::max(most, bytes);
    }
    // After the largest feedback 18,500 B: the frame that exceeds them is counted.
    EXPECT_GE(least, 18'500 * (100 - percent) / 100);
    EXPECT_LE(most, 18'500 * (100 + percent) / 100 + 200);
    if (percent == 0) {
      EXPECT_EQ(least, most);
    } else {
      EXPECT_LT(least, 16'200);
      EXPECT_GT(most, 20'800);
    }
  }
}

}  // namespace
}  // namespace rocelab
