// What holds of the compiler for any text: used by the fuzzer and by tests.
#pragma once

#include <string>
#include <vector>

#include "base/check.h"
#include "ovs_patches/openqueue/ast.h"
#include "ovs_patches/openqueue/compile.h"
#include "ovs_patches/openqueue/reader.h"

namespace rocelab::oq {

// Compiles the text for a switch of two ports: either there is a program or there are errors, places are
// inside the text, and what was parsed is printed and parsed to the same.
inline void check_text(const std::string& text) {
  PolicySource source;
  source.files = {{"fuzz.oq", text}};
  const std::vector<PortConfig> ports(2);
  const CompiledPolicy compiled = compile_policy(source, SwitchConfig{}, ports);
  std::size_t lines = 1;
  for (const char c : text) lines += c == '\n';
  std::size_t errors = 0;
  for (const PolicyDiagnostic& one : compiled.diagnostics) {
    errors += one.warning ? 0 : 1;
    RL_CHECK(!one.text.empty() && one.line >= 1 && one.column >= 1);
    if (one.file != "fuzz.oq") continue;
    RL_CHECK(static_cast<std::size_t>(one.line) <= lines);
    RL_CHECK(static_cast<std::size_t>(one.column) <= one.line_text.size() + 1);
    RL_CHECK(!to_text(one).empty());
  }
  RL_CHECK((errors == 0) == (compiled.program != nullptr));
  used_files(text);

  Diagnostics diagnostics;
  const Text parsed = parse(diagnostics.add_file("fuzz.oq", text), text, diagnostics);
  if (diagnostics.failed()) return;
  const std::string printed = print(parsed);
  if (printed.size() > kMostText) return;
  Diagnostics again;
  const Text reparsed = parse(again.add_file("fuzz.oq", printed), printed, again);
  if (again.failed()) {  // brackets that the text left out may nest too deeply
    RL_CHECK(again.take().front().text.find("nested") != std::string::npos);
    return;
  }
  RL_CHECK(print(reparsed) == printed);
}

}  // namespace rocelab::oq
