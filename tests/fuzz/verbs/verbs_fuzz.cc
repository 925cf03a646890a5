// The program of the verbs fuzzer: runs sessions one after the other, those of the files named on its command
// line first, then, with --random SEED COUNT, of random bytes; each of those is left in the file
// $ROCELAB_FUZZ_LAST while it runs, so that a finding can be kept. Prints what they reached.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "tests/fuzz/verbs/verbs_session.h"

namespace rocelab::fuzz {
namespace {

SessionCounts sum;

void run(const std::vector<std::uint8_t>& bytes) {
  VerbsSession session(bytes);
  session.run();
  const SessionCounts& one = session.counts();
  sum.calls += one.calls, sum.refused += one.refused, sum.completions += one.completions;
  sum.errors += one.errors, sum.events += one.events, sum.xrc += one.xrc;
  sum.binds += one.binds, sum.invalidated += one.invalidated, sum.reregistered += one.reregistered;
  sum.moved += one.moved;
}

void run_file(const char* name) {
  std::ifstream in(name, std::ios::binary);
  if (!in) complain("no such file");
  run({std::istreambuf_iterator<char>(in), {}});
}

void run_random(std::uint64_t seed, std::uint64_t count) {
  const char* last = std::getenv("ROCELAB_FUZZ_LAST");
  for (std::uint64_t i = 0; i < count; ++i) {
    std::mt19937_64 random(seed + i);
    std::vector<std::uint8_t> bytes(400 + random() % 2'000);
    for (std::uint8_t& b : bytes) b = static_cast<std::uint8_t>(random());
    if (last != nullptr)
      std::ofstream(last, std::ios::binary)
          .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    run(bytes);
  }
}

}  // namespace
}  // namespace rocelab::fuzz

int main(int argc, char** argv) {
  using namespace rocelab::fuzz;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--random") == 0 && i + 2 < argc) {
      run_random(std::strtoull(argv[i + 1], nullptr, 0), std::strtoull(argv[i + 2], nullptr, 0));
      i += 2;
    } else {
      run_file(argv[i]);
    }
  }
  std::printf(
      "calls %llu refused %llu completions %llu errors %llu events %llu xrc %llu binds %llu "
      "invalidated %llu reregistered %llu moved %llu\n",
      static_cast<unsigned long long>(sum.calls), static_cast<unsigned long long>(sum.refused),
      static_cast<unsigned long long>(sum.completions), static_cast<unsigned long long>(sum.errors),
      static_cast<unsigned long long>(sum.events), static_cast<unsigned long long>(sum.xrc),
      static_cast<unsigned long long>(sum.binds), static_cast<unsigned long long>(sum.invalidated),
      static_cast<unsigned long long>(sum.reregistered), static_cast<unsigned long long>(sum.moved));
  return 0;
}
