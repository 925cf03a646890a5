// libFuzzer target over the RNIC engine: API calls and packets from the network. Build with the `fuzz`
// preset, then: fuzz_nic -max_len=2000 -max_total_time=60
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "irn_provider/nic/nic_script.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string complaint = rocelab::NicScript::run(std::as_bytes(std::span(data, size)));
  if (complaint.empty()) return 0;
  std::fprintf(stderr, "%s\n", complaint.c_str());
  std::abort();
}
