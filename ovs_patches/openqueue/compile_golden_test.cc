// golden/bad_programs.txt: programs with mistakes, and all that the compiler says of each, to the character.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "ovs_patches/openqueue/compile.h"

namespace rocelab {
namespace {

const char* const kRest =
    "on every port { qq = Queue(240KB);  ll = Queue(240KB);  oo = Port(qq, ll);\n"
    "  select { packet.class == 3 -> ll;  else -> qq; } }";
const char* const kQueue =
    "on every port as p { q = Queue(240KB);  l = Queue(240KB);  out = Port(q, l);\n"
    "  select { packet.class == 3 -> l;  else -> q; } }";

struct Bad {
  std::string name, text, said;
};

void replace(std::string& text, const std::string& from, const std::string& to) {
  if (const std::size_t at = text.find(from); at != std::string::npos) text.replace(at, from.size(), to);
}

std::string said_of(const std::string& program) {
  std::string text = program;
  replace(text, "$REST", kRest);
  replace(text, "$QUEUE", kQueue);
  PolicySource source;
  source.files = {{"bad.oq", text}, {"ring.oq", "use \"ring.oq\";\n"}};
  const std::vector<PortConfig> ports(4);
  const CompiledPolicy compiled = compile_policy(source, SwitchConfig{}, ports);
  std::string said;
  bool failed = false;
  for (const PolicyDiagnostic& diagnostic : compiled.diagnostics) {
    said += to_text(diagnostic) + "\n";
    failed |= !diagnostic.warning;
  }
  EXPECT_EQ(failed, compiled.program == nullptr) << text;
  return said;
}

TEST(CompileGoldenTest, SaysWhatIsWrongAndWhere) {
  const std::string path = ROCELAB_SOURCE_DIR "/ovs_patches/openqueue/golden/bad_programs.txt";
  std::ifstream file(path);
  ASSERT_TRUE(file) << path;
  std::string head, line;
  std::vector<Bad> programs;
  bool in_text = false;
  const bool update = std::getenv("ROCELAB_UPDATE_GOLDEN") != nullptr;
  while (std::getline(file, line)) {
    if (line.starts_with("=== ")) {
      programs.push_back({line, "", ""});
      in_text = true;
    } else if (programs.empty()) {
      head += line + "\n";
    } else if (line == "---") {
      in_text = false;
    } else {
      (in_text ? programs.back().text : programs.back().said) += line + "\n";
    }
  }
  EXPECT_GE(programs.size(), 60u);
  std::set<std::string> names;
  std::string now = head;
  for (const Bad& bad : programs) {
    EXPECT_TRUE(names.insert(bad.name).second) << bad.name;
    const std::string said = said_of(bad.text);
    EXPECT_NE(said, "") << bad.name << " is accepted without a word";
    now += bad.name + "\n" + bad.text + "---\n" + said;
    if (!update) {
      EXPECT_EQ(said, bad.said) << bad.name << "\n" << bad.text;
    }
  }
  if (update) std::ofstream(path) << now;
}

}  // namespace
}  // namespace rocelab
