// libFuzzer target over the connection manager: bytes as scripts of calls, losses, replays and forged
// datagrams (cm_script.h). Build with the `fuzz` preset.
#include <cstddef>
#include <cstdint>

#include "irn_provider/cm/cm_script.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  rocelab::cm::CmScript({data, size}).run();
  return 0;
}
