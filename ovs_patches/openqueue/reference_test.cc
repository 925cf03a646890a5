// PolicyInstance against the reference, over random programs and random traffic.
#include <gtest/gtest.h>

#include <cstdlib>

#include "ovs_patches/openqueue/comparison_fixture.h"

namespace rocelab::oq {
namespace {

// ROCELAB_RANDOM_PROGRAMS: how many, and ROCELAB_RANDOM_SEED: from which on.
std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(ReferenceTest, ProgramsDoWhatTheyMean) {
  const std::uint64_t programs = from_environment("ROCELAB_RANDOM_PROGRAMS", 2'000);
  const std::uint64_t seed = from_environment("ROCELAB_RANDOM_SEED", 1);
  const std::vector<PortConfig> ports(kRandomPorts);
  std::uint64_t valid = 0, served = 0, refused = 0, evicted = 0;
  int shown = 0;
  for (std::uint64_t i = 0; i < programs && shown < 3; ++i) {
    const Rng rng(seed + i);
    PolicySource source;
    source.files = {{"random.oq", RandomProgram(Choices(rng.fork("text"))).text()}};
    Diagnostics diagnostics;
    Model model;
    const auto program = compile(source, SwitchConfig{}, ports, diagnostics, &model);
    if (program == nullptr) {
      if (std::getenv("ROCELAB_SHOW_INVALID") != nullptr)
        for (const PolicyDiagnostic& one : diagnostics.take())
          if (!one.warning)
            std::fprintf(stderr, "seed %llu: %s\n", static_cast<unsigned long long>(seed + i),
                         to_text(one).c_str());
      continue;
    }
    ++valid;
    Comparison comparison(*program, model, Choices(rng.fork("traffic")), rng.fork("draws"));
    const std::string wrong = comparison.run(60);
    if (!wrong.empty()) {
      ADD_FAILURE() << "seed " << seed + i << ", " << wrong << "\n" << source.files[0].second;
      ++shown;
    }
    served += comparison.served;
    refused += comparison.refused;
    evicted += comparison.evicted;
  }
  EXPECT_GT(valid, programs * 8 / 10);
  EXPECT_GT(served, valid);
  EXPECT_GT(refused, valid);
  EXPECT_GT(evicted, valid / 2);
  RecordProperty("valid", static_cast<int>(valid));
}

}  // namespace
}  // namespace rocelab::oq
