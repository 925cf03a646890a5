// Compiling texts in tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "ovs_patches/openqueue/compile.h"

namespace rocelab {

// Two queues a port: l for the lossless class, q for the others.
inline const char* const kQueue =
    "on every port as p { q = Queue(240KB);  l = Queue(240KB);  out = Port(q, l);\n"
    "  select { packet.class == 3 -> l;  else -> q; } }\n";

struct Compiler {
  SwitchConfig config;
  std::vector<PortConfig> ports = std::vector<PortConfig>(4);
  std::vector<std::pair<std::string, std::string>> constants{}, more{};

  CompiledPolicy operator()(const std::string& text) const {
    PolicySource source{{{"test.oq", text}}, constants};
    source.files.insert(source.files.end(), more.begin(), more.end());
    return compile_policy(source, config, ports);
  }
  // The program; a failure of the test if there is none, or if there is anything to say of it.
  PolicyProgram good(const std::string& text) const {
    const CompiledPolicy compiled = (*this)(text);
    for (const PolicyDiagnostic& one : compiled.diagnostics) ADD_FAILURE() << to_text(one);
    return compiled.program ? *compiled.program : PolicyProgram{};
  }
  std::string first_error(const std::string& text) const {
    const CompiledPolicy compiled = (*this)(text);
    EXPECT_EQ(compiled.program, nullptr);
    return compiled.diagnostics.empty() ? "" : compiled.diagnostics.front().text;
  }
};

// Of scenarios/openqueue.
inline std::string source_of(const std::string& name) {
  std::ifstream file(ROCELAB_SOURCE_DIR "/scenarios/openqueue/" + name);
  EXPECT_TRUE(file) << name;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

inline std::vector<std::string> scenario_programs() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(ROCELAB_SOURCE_DIR "/scenarios/openqueue"))
    if (entry.path().extension() == ".oq") names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace rocelab
