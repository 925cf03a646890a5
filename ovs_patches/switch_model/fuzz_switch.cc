// libFuzzer target over a whole switch: bytes as its rules and as work on it (switch_script.h). Build with
// the `fuzz` preset.
#include <cstddef>
#include <cstdint>

#include "ovs_patches/switch_model/switch_script.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  rocelab::SwitchScript script({data, size});
  if (script.problem().empty()) script.run();
  return 0;
}
