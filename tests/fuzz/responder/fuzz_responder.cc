// libFuzzer target over a NIC's packet and call surface. Build with the `fuzz` preset, then: fuzz_responder
// -max_len=4096 -max_total_time=60
#include <cstddef>
#include <cstdint>
#include <span>

#include "tests/fuzz/responder/responder_session.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  rocelab::fuzz::run_responder_session(std::span(data, size));
  return 0;
}
