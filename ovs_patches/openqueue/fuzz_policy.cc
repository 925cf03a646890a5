// libFuzzer target: bytes as a program and its traffic (comparison_fixture.h): what the switch runs is what
// the program means. Build with the `fuzz` preset.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "base/check.h"
#include "ovs_patches/openqueue/comparison_fixture.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rocelab;
  using namespace rocelab::oq;
  RandomProgram random(Choices(std::span(data, size)));
  const PolicySource source{.files = {{"random.oq", random.text()}}, .constants = {}};
  const std::vector<PortConfig> ports(kRandomPorts);
  Diagnostics diagnostics;
  Model model;
  const auto program = compile(source, SwitchConfig{}, ports, diagnostics, &model);
  if (program == nullptr) return 0;
  Comparison comparison(*program, model, random.choices(), Rng(1));
  const std::string wrong = comparison.run(400);
  if (!wrong.empty()) std::fprintf(stderr, "%s\n%s\n", wrong.c_str(), source.files[0].second.c_str());
  RL_CHECK(wrong.empty());
  return 0;
}
