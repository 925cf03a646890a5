// libFuzzer target: bytes as a program's text (compile_check.h). Build with the `fuzz` preset; its seeds are
// the programs of scenarios/openqueue.
#include <cstddef>
#include <cstdint>
#include <string>

#include "ovs_patches/openqueue/compile_check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  rocelab::oq::check_text(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
