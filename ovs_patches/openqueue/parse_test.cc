#include <gtest/gtest.h>

#include "ovs_patches/openqueue/ast.h"
#include "ovs_patches/openqueue/reader.h"
#include "ovs_patches/openqueue/test_compile.h"

namespace rocelab {
namespace {

std::string printed(const std::string& text) {
  oq::Diagnostics diagnostics;
  const std::string printed = oq::print(oq::parse(diagnostics.add_file("a", text), text, diagnostics));
  for (const PolicyDiagnostic& one : diagnostics.take()) ADD_FAILURE() << to_text(one);
  return printed;
}

TEST(ParseTest, WhatIsPrintedParsesToTheSame) {
  for (const std::string& name : scenario_programs()) {
    SCOPED_TRACE(name);
    const std::string once = printed(source_of(name));
    EXPECT_EQ(printed(once), once);
    const PolicyProgram a = Compiler().good(source_of(name)), b = Compiler().good(once);
    EXPECT_EQ(a.code.size(), b.code.size());
    EXPECT_EQ(a.constants, b.constants);
  }
}

TEST(ParseTest, OperatorsBindAsInMathematics) {
  EXPECT_EQ(
      printed("x(a, b) = not a.y + 2 * -3 % 4 < 5 - 6 - 7 and a.z or true;"),
      "openqueue 1;\nx(a, b) = (((not ((a.y + ((2 * (-3)) % 4)) < ((5 - 6) - 7))) and a.z) or true);\n");
}

TEST(ParseTest, PercentIsAUnitWhereNoOperandFollows) {
  EXPECT_EQ(
      printed("const a = 100%;\nconst b = 100 % 30;\nconst c = 50% * 3;\nconst d = 7%3;"),
      "openqueue 1;\nconst a = 100%;\nconst b = (100 % 30);\nconst c = (50% * 3);\nconst d = (7 % 3);\n");
}

TEST(ParseTest, UnitsAreExact) {
  const Compiler compile;
  for (const auto& [text, bytes] :
       {std::pair{"1.5KB", 1500}, {"2KiB", 2048}, {"0.25MB", 250'000}, {"1 KB", 1000}}) {
    const PolicyProgram program = compile.good(std::string("const s = ") + text + ";\n" + kQueue +
                                               "p[*].q.congestion = queue.bytes > s, drop(1);");
    EXPECT_EQ(program.constants.at(program.code[program.queues[0].congestion[0].predicate.first].operand),
              bytes)
        << text;
  }
}

}  // namespace
}  // namespace rocelab
