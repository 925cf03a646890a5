// libFuzzer target over the wire codec. Build with the `fuzz` preset, then: fuzz_wire CORPUS_FOLDER
// -max_total_time=60 A corpus comes from the captures: ROCELAB_FUZZ_CORPUS=CORPUS_FOLDER wire_mutation_test
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <vector>

#include "base/wire/ipv4.h"
#include "tests/fuzz/wire/wire_properties.h"

namespace {

void check(std::span<const std::byte> bytes) {
  const std::string complaint = rocelab::fuzz::violated_property(bytes);
  if (complaint.empty()) return;
  std::fprintf(stderr, "property violated: %s\n", complaint.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using rocelab::Ipv4Header;
  const auto input = std::as_bytes(std::span(data, size));
  check(input);
  constexpr std::size_t kIp = 14;
  if (size < kIp + Ipv4Header::kSize) return 0;
  // Mutations seldom hit a right checksum: once more with one, so that the layers above IPv4 are reached.
  std::vector<std::byte> mended(input.begin(), input.end());
  Ipv4Header::write_checksum(std::span(mended).subspan(kIp).first<Ipv4Header::kSize>());
  check(mended);
  return 0;
}
