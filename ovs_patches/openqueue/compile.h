// The OpenQueue compiler: the text of a queueing policy, for one switch, into a PolicyProgram. No I/O: who
// calls it reads the files. README.md describes the stages, docs/reference/openqueue.md the language.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ovs_patches/switch_model/policy/program.h"
#include "ovs_patches/switch_model/switch_config.h"

namespace rocelab {

struct PolicySource {
  // Name and text. The first is the program; the others are those that `use` may name.
  std::vector<std::pair<std::string, std::string>> files;
  // Name and value, as the text of an expression: they replace that of a `const` of the program.
  std::vector<std::pair<std::string, std::string>> constants;
};

struct PolicyDiagnostic {
  struct Note {  // another place concerned
    std::string file;
    int line = 0, column = 0;
    std::string text;
  };
  std::string file;
  int line = 0, column = 0;  // from 1, in characters; 0: of the whole file
  bool warning = false;
  std::string text;
  std::string line_text;  // the line of the source
  std::vector<Note> notes;
};

struct CompiledPolicy {
  std::shared_ptr<const PolicyProgram> program;  // null: errors
  std::vector<PolicyDiagnostic> diagnostics;     // in the order of their places; at most 20 errors
};

// Compiles for a switch of this configuration with these ports, which problem_of() accepts. Any text is
// legal input.
CompiledPolicy compile_policy(const PolicySource& source, const SwitchConfig& config,
                              std::span<const PortConfig> ports);

// "file.oq:12:20: error: ...", then the line and a caret below the place, then the notes. No newline at its
// end.
std::string to_text(const PolicyDiagnostic& diagnostic);

// The names that `use` gives in `text`, in their order, each once. "standard.oq" needs no file and is left
// out.
std::vector<std::string> used_files(const std::string& text);

}  // namespace rocelab
