// libFuzzer target over the queues of a switch: bytes as scripts of work on one queue of every order and full
// rule (queue_script.h). Build with the `fuzz` preset.
#include <cstddef>
#include <cstdint>

#include "ovs_patches/switch_model/queue_script.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  rocelab::QueueScript({data, size}).run();
  return 0;
}
