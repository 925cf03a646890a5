#include "emu/runner/schema_reader.h"

#include <gtest/gtest.h>

#include "emu/runner/complaint_fixture.h"
#include "emu/runner/config_tree.h"
#include "emu/runner/schema_tables.h"

namespace rocelab {
namespace {

enum class Shape : std::uint8_t { kRound, kFlat };
constexpr std::string_view kShapes[] = {"round", "flat"};

struct Params {
  double share = 0.5;
  std::uint16_t count = 3;
  bool flag = true;
  Duration period = 10_us;
  Rate rate = 1_Gbps;
  Bytes size = 4_KB;
  Shape shape = Shape::kFlat;
  std::uint32_t window = 0;
  std::optional<Bytes> limit;
};

constexpr auto kFields =
    fields(field<&Params::share>("share", "a share").within(0, 1),
           field<&Params::count>("count", "a number").within(1, 9), field<&Params::flag>("flag", "a flag"),
           field<&Params::period>("period", "a time").positive(),
           field<&Params::rate>("rate", "a rate").at_least(1_Mbps),
           field<&Params::size>("size", "a size").within(1_KB, 1_MB),
           choice<&Params::shape>("shape", kShapes, "a shape"),
           field<&Params::window>("window", "packets").within(1, 100).or_word("bdp"),
           field<&Params::limit>("limit", "a limit").positive().or_word("none"));

Params read(const std::string& text, std::vector<Parameter>* parameters = nullptr) {
  const ConfigNode tree = parse_toml("[t]\n" + text, "t.toml");
  ConfigSection section(tree.find("t"), "t", parameters);
  Params params;
  read_schema(section, Schema<Params>(kFields), params);
  section.finish();
  return params;
}

std::string complaint(const std::string& text) {
  return complaint_of([&] { read(text); });
}

TEST(SchemaReaderTest, AbsentKeysKeepTheDefaultsOfTheStruct) {
  std::vector<Parameter> parameters;
  const Params p = read("", &parameters);
  EXPECT_EQ(p.share, 0.5);
  EXPECT_EQ(p.shape, Shape::kFlat);
  EXPECT_FALSE(p.limit);
  const std::vector<Parameter> want = {
      {"t.share", "0.5"},       {"t.count", "3"},        {"t.flag", "true"},
      {"t.period", "\"10us\""}, {"t.rate", "\"1Gbps\""}, {"t.size", "\"4KB\""},
      {"t.shape", "\"flat\""},  {"t.window", "\"bdp\""}, {"t.limit", "\"none\""}};
  EXPECT_EQ(parameters, want);
}

TEST(SchemaReaderTest, EveryKindIsRead) {
  const Params p = read(R"(share = 0.25
count = 9
flag = false
period = "1us"
rate = "2Gb/s"
size = "1MB"
shape = "round"
window = 4
limit = "10KB"
)");
  EXPECT_EQ(p.share, 0.25);
  EXPECT_EQ(p.count, 9);
  EXPECT_FALSE(p.flag);
  EXPECT_EQ(p.period, 1_us);
  EXPECT_EQ(p.rate, 2_Gbps);
  EXPECT_EQ(p.size, 1_MB);
  EXPECT_EQ(p.shape, Shape::kRound);
  EXPECT_EQ(p.window, 4u);
  EXPECT_EQ(p.limit, 10_KB);
  EXPECT_EQ(read("window = \"bdp\"\nlimit = \"none\"\n").window, 0u);
}

TEST(SchemaReaderTest, MistakesAreOneLineWithPlaceBoundsAndRemedy) {
  EXPECT_EQ(complaint("share = 2\n"), "t.toml:2:9: t.share = 2 is outside 0..1");
  EXPECT_EQ(complaint("count = 10\n"), "t.toml:2:9: t.count = 10 is outside 1..9");
  EXPECT_EQ(complaint("count = 1.5\n"), "t.toml:2:9: t.count must be a whole number, not 1.5");
  EXPECT_EQ(complaint("period = \"0us\"\n"), "t.toml:2:10: t.period must be more than 0");
  EXPECT_EQ(complaint("period = 5\n"),
            "t.toml:2:10: t.period has no unit: write for example period = \"2us\"");
  EXPECT_EQ(complaint("rate = \"1kb/s\"\n"), "t.toml:2:8: t.rate = \"1kbps\" is less than \"1Mbps\"");
  EXPECT_EQ(complaint("size = \"2MB\"\n"), "t.toml:2:8: t.size = \"2MB\" is outside \"1KB\"..\"1MB\"");
  EXPECT_EQ(complaint("shape = \"rond\"\n"),
            "t.toml:2:9: t.shape = \"rond\" is none of round, flat; did you mean \"round\"?");
  EXPECT_EQ(complaint("window = \"bpd\"\n"),
            "t.toml:2:10: t.window = \"bpd\" is neither \"bdp\" nor a whole number");
  EXPECT_EQ(complaint("limit = \"non\"\n"),
            "t.toml:2:9: t.limit = \"non\" is neither \"none\" nor a size such as \"240KB\"");
  EXPECT_EQ(complaint("limit = \"0B\"\n"), "t.toml:2:9: t.limit must be more than 0, or \"none\"");
  EXPECT_EQ(complaint("flag = 1\n"), "t.toml:2:8: t.flag must be true or false, not 1");
  EXPECT_EQ(complaint("perod = \"1us\"\n"), "t.toml:2:1: unknown key \"t.perod\"; did you mean \"period\"?");
}

TEST(SchemaReaderTest, AContradictionNamesTheKeyAtItsPlace) {
  const ConfigNode tree = parse_toml("[t]\nshare = 0.1\ncount = 2\n", "t.toml");
  ConfigSection section(tree.find("t"), "t", nullptr);
  EXPECT_EQ(complaint_of([&] {
              refuse_problem(section, SchemaProblem{"count", "is less than share"});
            }),
            "t.toml:3:9: t.count is less than share");
  EXPECT_EQ(complaint_of([&] { refuse_problem(section, std::nullopt); }), "none");
}

// A mistake in the text of a page would go unseen.
TEST(SchemaTablesTest, EveryRowHasAValueForEachColumn) {
  for (const SchemaTable& table : schema_tables()) {
    EXPECT_FALSE(table.rows.empty()) << table.section;
    for (const SchemaRow& row : table.rows)
      EXPECT_EQ(row.values.size(), table.columns.size()) << table.section << "." << row.key;
  }
}

TEST(SchemaTablesTest, RoccsValuesByLinkAreThoseOfTheLaw) {
  for (const SchemaTable& table : schema_tables()) {
    if (table.section != "congestion_control.rocc, by-link") continue;
    for (const SchemaRow& row : table.rows)
      if (row.key == "q_ref") {
        EXPECT_EQ(row.values, (std::vector<std::string>{"\"75KB\"", "\"150KB\"", "\"300KB\""}));
        return;
      }
  }
  FAIL() << "the table is gone";
}

}  // namespace
}  // namespace rocelab
