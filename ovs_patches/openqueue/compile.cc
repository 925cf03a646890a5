#include "ovs_patches/openqueue/compile.h"

#include <algorithm>
#include <map>
#include <set>

#include "ovs_patches/openqueue/expand.h"
#include "ovs_patches/openqueue/lexer.h"
#include "ovs_patches/openqueue/lower.h"
#include "ovs_patches/openqueue/reader.h"
#include "ovs_patches/openqueue/stages.h"
#include "ovs_patches/openqueue/standard.h"

namespace rocelab {
namespace oq {
namespace {

constexpr std::size_t kDeepestUse = 8;

// The files of a program in the order in which their items count: a file's uses before it.
class Files {
 public:
  Files(const PolicySource& source, Diagnostics& diagnostics) : source_(source), diagnostics_(diagnostics) {}

  // kProgramFile and kLibraryFile come first.
  Text read() {
    const auto& [name, text] = source_.files.front();
    const std::uint32_t program = diagnostics_.add_file(name, text);
    const std::uint32_t library = diagnostics_.add_file("standard.oq", kStandardText);
    open_.push_back(name);
    read(program, text);
    return parse(library, kStandardText, diagnostics_);
  }
  std::vector<const Text*> texts() const {
    std::vector<const Text*> all;
    for (const auto& text : texts_) all.push_back(text.get());
    return all;
  }

 private:
  void read(std::uint32_t file, const std::string& text) {
    auto parsed = std::make_unique<Text>(parse(file, text, diagnostics_));
    for (const Use& use : parsed->uses) {
      try {
        follow(use);
      } catch (const Complaint& complaint) {
        diagnostics_.error(complaint);
      }
    }
    texts_.push_back(std::move(parsed));
  }

  void follow(const Use& use) {
    if (use.file == "standard.oq") return;
    if (std::find(open_.begin(), open_.end(), use.file) != open_.end())
      complain(use.place, use.file + " uses itself, by way of this");
    if (!done_.insert(use.file).second) return;
    if (open_.size() >= kDeepestUse)
      complain(use.place, "files use each other more than " + std::to_string(kDeepestUse) + " deep");
    for (std::size_t i = 1; i < source_.files.size(); ++i) {
      if (source_.files[i].first != use.file) continue;
      open_.push_back(use.file);
      read(diagnostics_.add_file(use.file, source_.files[i].second), source_.files[i].second);
      open_.pop_back();
      return;
    }
    std::vector<std::string> known{"standard.oq"};
    for (std::size_t i = 1; i < source_.files.size(); ++i) known.push_back(source_.files[i].first);
    complain(use.place, "there is no file " + use.file + did_you_mean(use.file, known));
  }

  const PolicySource& source_;
  Diagnostics& diagnostics_;
  std::vector<std::unique_ptr<Text>> texts_;
  std::vector<std::string> open_;
  std::set<std::string> done_;
};

// A constant's text, as if it stood in a program.
std::optional<Expr> value_of_constant(const std::string& name, const std::string& value,
                                      Diagnostics& diagnostics) {
  const std::uint32_t file = diagnostics.add_file("const " + name, value);
  Text text = parse(file, "const value =\n" + value + "\n;", diagnostics);
  if (text.items.size() != 1 || text.items[0].kind != Item::Kind::kConst) {
    if (!diagnostics.failed())
      diagnostics.error({Place{file, 1, 1}, "this is no value: write a number and its unit", {}});
    return std::nullopt;
  }
  return std::move(*text.items[0].value->expr);
}

std::uint64_t hash_of(const PolicySource& source) {  // FNV-1a
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](const std::string& text) {
    for (const char c : text + '\0') hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  };
  for (const auto& [name, text] : source.files) add(text);
  for (const auto& [name, value] : source.constants) add(name), add(value);
  return hash;
}

}  // namespace

std::shared_ptr<const PolicyProgram> compile(const PolicySource& source, const SwitchConfig& config,
                                             std::span<const PortConfig> ports, Diagnostics& diagnostics,
                                             Model* expanded) {
  Files files(source, diagnostics);
  const Text standard = files.read();
  std::vector<std::pair<std::string, Expr>> constants;
  for (const auto& [name, value] : source.constants)
    if (std::optional<Expr> expr = value_of_constant(name, value, diagnostics))
      constants.emplace_back(name, std::move(*expr));
  if (diagnostics.failed()) return nullptr;
  Expander expander(config, ports, diagnostics);
  Model model = expander.expand(standard, files.texts(), constants);
  if (diagnostics.failed()) return nullptr;
  auto program = std::make_shared<PolicyProgram>(lower(model, config, ports, diagnostics));
  if (diagnostics.failed()) return nullptr;
  program->name = source.files.front().first;
  program->id = hash_of(source);
  if (expanded != nullptr) *expanded = std::move(model);
  return program;
}

}  // namespace oq

CompiledPolicy compile_policy(const PolicySource& source, const SwitchConfig& config,
                              std::span<const PortConfig> ports) {
  oq::Diagnostics diagnostics;
  CompiledPolicy compiled;
  if (source.files.empty() || ports.empty()) {
    compiled.diagnostics.push_back({source.files.empty() ? "" : source.files.front().first,
                                    0,
                                    0,
                                    false,
                                    source.files.empty() ? "there is no program" : "the switch has no ports",
                                    "",
                                    {}});
    return compiled;
  }
  compiled.program = oq::compile(source, config, ports, diagnostics, nullptr);
  compiled.diagnostics = diagnostics.take();
  return compiled;
}

}  // namespace rocelab
