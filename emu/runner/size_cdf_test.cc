#include "emu/runner/size_cdf.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "emu/runner/complaint_fixture.h"
#include "emu/runner/scenario.h"
#include "emu/runner/text_file.h"

namespace rocelab {
namespace {

std::string complaint(const std::string& text) {
  return complaint_of([&] { SizeCdf::parse(text, "c.cdf"); });
}

TEST(SizeCdfTest, InterpolatesBetweenLines) {
  const SizeCdf cdf = SizeCdf::parse("# source\n0 0\n1000 50 # half\n\n3000 100\n", "c.cdf");
  ASSERT_EQ(cdf.points().size(), 3u);
  EXPECT_EQ(cdf.at(0), 1_B);  // nobody sends nothing
  EXPECT_EQ(cdf.at(25), 500_B);
  EXPECT_EQ(cdf.at(50), 1000_B);
  EXPECT_EQ(cdf.at(75), 2000_B);
  EXPECT_EQ(cdf.at(100), 3000_B);
  EXPECT_DOUBLE_EQ(cdf.mean(), 500 * 0.5 + 2000 * 0.5);
}

TEST(SizeCdfTest, DrawsFollowTheDistribution) {
  const SizeCdf cdf = SizeCdf::parse("0 0\n1000 50\n3000 100\n", "c.cdf");
  Rng rng(11);
  double sum = 0;
  int small = 0;
  constexpr int kDraws = 100'000;
  for (int i = 0; i < kDraws; ++i) {
    const Bytes size = cdf.draw(rng);
    ASSERT_GE(size, 1_B);
    ASSERT_LE(size, 3000_B);
    sum += static_cast<double>(size.count());
    small += size < 1000_B;
  }
  EXPECT_NEAR(sum / kDraws, cdf.mean(), 10);
  EXPECT_NEAR(static_cast<double>(small) / kDraws, 0.5, 0.01);
}

TEST(SizeCdfTest, StepsHaveNoSizesButTheirOwn) {
  const SizeCdf cdf =
      SizeCdf::parse("100 0.25\n5000 0.25\n1000000 0.75\n2000000 1\n", "c.cdf", CdfForm::kSteps);
  Rng rng(5);
  std::map<std::int64_t, int> drawn;
  constexpr int kDraws = 40'000;
  for (int i = 0; i < kDraws; ++i) ++drawn[cdf.draw(rng).count()];
  ASSERT_EQ(drawn.size(), 3u) << "5000 has no share of its own";
  EXPECT_NEAR(drawn[100] / double{kDraws}, 0.25, 0.01);
  EXPECT_NEAR(drawn[1'000'000] / double{kDraws}, 0.5, 0.01);
  EXPECT_NEAR(drawn[2'000'000] / double{kDraws}, 0.25, 0.01);
  EXPECT_DOUBLE_EQ(cdf.mean(), 0.25 * 100 + 0.5 * 1'000'000 + 0.25 * 2'000'000);
  EXPECT_EQ(cdf.largest(), 2_MB);
}

TEST(SizeCdfTest, AFirstStepOfShare0IsNoSize) {
  const SizeCdf cdf = SizeCdf::parse("0 0\n64 50\n128 100\n", "c.cdf", CdfForm::kSteps);
  EXPECT_EQ(cdf.at(0), 64_B);
  EXPECT_EQ(cdf.at(49.9), 64_B);
  EXPECT_EQ(cdf.at(50), 128_B);
  EXPECT_EQ(cdf.at(100), 128_B);
  EXPECT_NE(complaint_of([] {
              SizeCdf::parse("0 10\n64 100\n", "c.cdf", CdfForm::kSteps);
            }).find("flows of 0 bytes"),
            std::string::npos);
}

TEST(SizeCdfTest, FractionsAreTheSameAsPercent) {
  const std::string percent = "0 0\n1000 7\n2000 28.5\n20000 90\n300000 100\n";
  const std::string fraction = "0 0\n1000 0.07\n2000 2.85e-1\n20000 .9\n300000 1.0\n";
  EXPECT_EQ(SizeCdf::parse(fraction, "c.cdf").points(), SizeCdf::parse(percent, "c.cdf").points());
  EXPECT_EQ(SizeCdf::parse("0,0\n1000, 0.07\n2000,\t0.285\n20000 ,0.9\r\n300000,1\n", "c.csv").points(),
            SizeCdf::parse(percent, "c.cdf").points());
  EXPECT_EQ(SizeCdf::parse("0.0 0\n1e3 100\n", "c.cdf").points(),
            SizeCdf::parse("0 0\n1000 100\n", "c.cdf").points());
}

TEST(SizeCdfTest, StepsWithoutFlowsAreSkipped) {
  for (const char* text : {"0 0\n1500 0\n6000 40\n20000 40\n90000 100\n",
                           "0 0\n1500 0\n6000 0.4\n20000 0.4\n90000 1\n100000 1\n"}) {
    const SizeCdf cdf = SizeCdf::parse(text, "c.cdf");
    EXPECT_EQ(cdf.at(0), 1500_B);
    EXPECT_EQ(cdf.at(20), 3750_B);
    EXPECT_EQ(cdf.at(40), 20_KB);  // nobody is between 6000 and 20000
    EXPECT_EQ(cdf.at(39.999), 5999_B);
    EXPECT_EQ(cdf.at(100), 90_KB);
    EXPECT_EQ(cdf.largest(), 90_KB);
    EXPECT_DOUBLE_EQ(cdf.mean(), 0.4 * 3750 + 0.6 * 55'000);
  }
}

TEST(SizeCdfTest, SizesMayHaveAShareOfTheirOwn) {
  // 20 % have 100 bytes, 30 % have 1000, the others are up to 2000.
  const SizeCdf cdf = SizeCdf::parse("100 20\n1000 20\n1000 50\n2000 100\n", "c.cdf");
  EXPECT_EQ(cdf.at(0), 100_B);
  EXPECT_EQ(cdf.at(19.9), 100_B);
  EXPECT_EQ(cdf.at(20), 1_KB);
  EXPECT_EQ(cdf.at(49.9), 1_KB);
  EXPECT_EQ(cdf.at(75), 1500_B);
  EXPECT_DOUBLE_EQ(cdf.mean(), 0.2 * 100 + 0.3 * 1000 + 0.5 * 1500);
  EXPECT_EQ(SizeCdf::parse("4096 1\n", "c.cdf").at(50), 4096_B);
  EXPECT_EQ(SizeCdf::parse("0 50\n10 100\n", "c.cdf").at(10), 1_B);  // nobody sends nothing
}

TEST(SizeCdfTest, ComplaintsNameTheLine) {
  const std::string falls = "a CDF falls neither in bytes nor in percent from line to line";
  EXPECT_EQ(complaint("0 0\n10 50\n9 100\n"), "c.cdf:3: " + falls);
  EXPECT_EQ(complaint("0 0\n10 50\n20 40\n30 100\n"), "c.cdf:3: " + falls);
  EXPECT_EQ(complaint("0 0\n10 50\n20 1\n"), "c.cdf:3: " + falls);
  const std::string ends = ", and not at 100 percent, nor at 1 in fractions";
  EXPECT_EQ(complaint("0 0\n# only half\n10 50\n"), "c.cdf:3: the CDF ends at 50" + ends);
  EXPECT_EQ(complaint("0 0\n10 0.5\n"), "c.cdf:2: the CDF ends at 0.5" + ends);
  EXPECT_EQ(complaint("0 0\n"), "c.cdf:1: the CDF ends at 0" + ends);
  EXPECT_EQ(complaint("0 50\n0 100\n"), "c.cdf:2: all sizes of the CDF are 0");
  EXPECT_EQ(complaint("-1 0\n10 100\n"), "c.cdf:1: a size cannot be negative");
  EXPECT_EQ(complaint("0 0\n10 101\n"), "c.cdf:2: the percentage 101 is outside 0..100");
  EXPECT_EQ(complaint("0 0\n10 nan\n"), "c.cdf:2: the percentage must be a number, not \"nan\"");
  EXPECT_EQ(complaint("0 0\n1.5 100\n"), "c.cdf:2: the size in bytes must be a whole number, not \"1.5\"");
  EXPECT_EQ(complaint("1 0\n9000000000000000000 100\n"),
            "c.cdf:2: a flow of 9000000000000000000 bytes is more than 1000GB");
  EXPECT_EQ(complaint("1 0\n1000000000000 100\n"), "none");
  const std::string two = "a line of a CDF has two numbers: bytes and percent, for example \"10000 15\"";
  EXPECT_EQ(complaint("0\n"), "c.cdf:1: " + two);
  EXPECT_EQ(complaint("0 0\n0,5 10\n"), "c.cdf:2: " + two);  // no decimal comma
  EXPECT_EQ(complaint("").substr(0, 8), "c.cdf:0:");
}

TEST(SizeCdfTest, TheProjectsDistributionsAreWhatTheirReadmeSays) {
  const std::filesystem::path folder = std::string(ROCELAB_SOURCE_DIR) + "/scenarios/workloads";
  const auto mean = [&](const char* name) {
    const std::filesystem::path file = folder / (std::string(name) + ".cdf");
    return SizeCdf::parse(read_text(file), file.string()).mean();
  };
  EXPECT_NEAR(mean("web_search"), 1'711'250, 1);
  EXPECT_NEAR(mean("fb_hadoop"), 120'421, 1);
  EXPECT_NEAR(mean("fb_hadoop_2015"), 121'849, 1);
  EXPECT_NEAR(mean("ali_storage_2019"), 40'870, 1);
  EXPECT_NEAR(mean("solar_2022"), 39'424, 1);
  EXPECT_NEAR(mean("google_rpc_2008"), 2'892, 1);
  EXPECT_NEAR(mean("irn_uniform"), 2'750'000, 1);
  EXPECT_NEAR(mean("irn_heavy_tailed"), 169'484, 1);
}

TEST(SizeCdfTest, TheIrnMixHasThePublishedShares) {
  const std::string file = std::string(ROCELAB_SOURCE_DIR) + "/scenarios/workloads/irn_heavy_tailed.cdf";
  const SizeCdf cdf = SizeCdf::parse(read_text(file), file);
  EXPECT_EQ(cdf.at(0), 32_B);      // 4.3.1: 50 % of the flows between 32 B and 1 KB,
  EXPECT_EQ(cdf.at(50), 1_KB);     // single packets;
  EXPECT_EQ(cdf.at(85), 200_KB);   // 15 % between 200 KB
  EXPECT_EQ(cdf.largest(), 3_MB);  // and 3 MB
}

}  // namespace
}  // namespace rocelab
