#include "verbs_app/common/json_writer.h"

#include <gtest/gtest.h>

namespace rocelab::app {
namespace {

TEST(JsonWriterTest, WritesNestedDocumentsWithCommasWhereTheyBelong) {
  JsonWriter json;
  json.begin_object();
  json.member("a", 1);
  json.key("list");
  json.begin_array();
  json.value(std::uint64_t{18446744073709551615u});
  json.begin_object();
  json.end_object();
  json.end_array();
  json.member("none", std::optional<std::int64_t>());
  json.member("yes", std::optional<bool>(true));
  json.key("x").value(1.5, 3);
  json.end_object();
  EXPECT_EQ(json.text(),
            "{\n  \"a\": 1,\n  \"list\": [\n    18446744073709551615,\n    {}\n  ],\n  \"none\": null,\n"
            "  \"yes\": true,\n  \"x\": 1.500\n}\n");
}

TEST(JsonWriterTest, EscapesWhatJsonForbidsInText) {
  JsonWriter json;
  json.value("a\"b\\c\n\x01");
  EXPECT_EQ(json.text(), "\"a\\\"b\\\\c\\u000a\\u0001\"");
}

}  // namespace
}  // namespace rocelab::app
