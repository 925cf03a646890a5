#include "irn_provider/cc/cc_algorithm.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "irn_provider/cc/algorithms.h"

namespace rocelab {
namespace {

TEST(CcAlgorithmTest, TheOrderOfTheListIsThatOfTheTable) {
  std::vector<std::string_view> names;
  for (const CcAlgorithm& a : cc_algorithms()) names.push_back(a.name);
  EXPECT_EQ(names, (std::vector<std::string_view>{"dcqcn", "timely", "aimd", "dctcp", "rocc", "hpcc", "p4qcn",
                                                  "qcn", "aimd_ecn", "p4qcn3", "rcp", "dcqcn-pi", "bfc"}));
}

TEST(CcAlgorithmTest, AConfigBelongsToTheAlgorithmThatWasChosenLast) {
  CcConfig config;
  EXPECT_FALSE(config.chosen());
  EXPECT_EQ(algorithm_of(config), nullptr);
  EXPECT_EQ(name_of(config), "none");
  config.use<Timely>().segment = 4_KB;
  EXPECT_EQ(name_of(config), "timely");
  EXPECT_EQ(config.burst().segment, 4_KB);
  EXPECT_TRUE(config.needs().paces_reads);
  EXPECT_EQ(config.get<DcqcnRp>(), nullptr);
  config.use<DcqcnRp>();
  EXPECT_EQ(config.get<Timely>(), nullptr);
  EXPECT_EQ(config.cnp_interval(), 50_us);
  EXPECT_EQ(config.burst().segment, 0_B);
  config.use_none();
  EXPECT_FALSE(config.chosen());
  EXPECT_FALSE(config.needs().cnps);
}

// As the shared segment carries it from the runner to a program.
TEST(CcAlgorithmTest, BytesOfAConfigAreTheConfig) {
  CcConfig there, here;
  there.use<Hpcc>().flows = 7;
  std::memcpy(static_cast<void*>(&here), &there, sizeof here);
  EXPECT_EQ(name_of(here), "hpcc");
  ASSERT_NE(here.get<Hpcc>(), nullptr);
  EXPECT_EQ(here.get<Hpcc>()->flows, 7u);
  EXPECT_TRUE(here.needs().telemetry);
}

TEST(CcAlgorithmTest, RttSegmentsAloneAreInUseButChooseNothing) {
  CcConfig config;
  EXPECT_FALSE(config.in_use());
  config.rtt_segment = 16_KB;
  EXPECT_TRUE(config.in_use());
  EXPECT_FALSE(config.chosen());
  EXPECT_EQ(config.timed_segment(), 16_KB);
}

TEST(CcAlgorithmTest, EachAlgorithmRunsWithTheDefaultsOfItsPreset) {
  for (const CcAlgorithm& a : cc_algorithms()) {
    const CcPreset preset = a.presets().front();
    const auto made = a.make(preset.config, {40_Gbps, 1024, 100});
    made->start(Time::zero());
    EXPECT_GT(made->rate(Time::zero()), Rate{}) << a.name;
    EXPECT_GE(made->window(), 1) << a.name;
  }
}

TEST(CcAlgorithmTest, WhatTheNetworkDecidesIsFilledInAndNothingElse) {
  CcConfig hpcc = cc_config("hpcc"), set = cc_config("hpcc"), rocc = cc_config("rocc");
  set.get<Hpcc>()->base_rtt = 5_us;
  for (CcConfig* config : {&hpcc, &set, &rocc}) algorithm_of(*config)->complete(*config, {9_us, 100_Gbps});
  EXPECT_EQ(hpcc.get<Hpcc>()->base_rtt, 9_us);
  EXPECT_EQ(set.get<Hpcc>()->base_rtt, 5_us);
  EXPECT_EQ(rocc.get<RoccRp>()->max_feedback, 100_Gbps);
}

TEST(CcAlgorithmTest, EveryKeyIsUniqueAndExplained) {
  for (const CcAlgorithm& a : cc_algorithms()) {
    std::set<std::string_view> keys{"preset"};
    for (const Field& field : a.fields()) {
      EXPECT_TRUE(keys.insert(field.key).second) << a.name << "." << field.key;
      EXPECT_FALSE(field.text.empty()) << a.name << "." << field.key;
      EXPECT_EQ(field.text.find('|'), std::string_view::npos) << "a table shows it";
    }
  }
}

TEST(CcAlgorithmTest, EveryPresetIsWithinTheBoundsOfItsKeys) {
  for (const CcAlgorithm& a : cc_algorithms()) {
    std::set<std::string_view> names;
    for (CcPreset& preset : a.presets()) {
      EXPECT_TRUE(names.insert(preset.name).second) << a.name << "." << preset.name;
      for (const Field& field : a.fields()) {
        const FieldValue value = field.get(a.params(preset.config));
        const bool is_word = !field.word.empty() && value == field.word_value;
        EXPECT_TRUE(is_word || in_bounds(field, value))
            << a.name << "." << field.key << " of " << preset.name;
      }
      EXPECT_FALSE(a.problem_of(preset.config)) << a.name << "." << preset.name;
    }
  }
}

TEST(CcAlgorithmTest, TimelysThresholdsMustBeInOrder) {
  CcConfig config;
  config.use<Timely>() = {.t_low = 600_us};
  const auto problem = algorithm_of(config)->problem_of(config);
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->key, "t_high");
}

}  // namespace
}  // namespace rocelab
