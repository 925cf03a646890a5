// Sessions of random bytes, from a fixed seed (ROCELAB_FUZZ_SEED overrides; ROCELAB_FUZZ_SECONDS: for so
// long, with one seed after another).
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

#include "base/rng.h"
#include "tests/fuzz/responder/responder_session.h"

namespace rocelab::fuzz {
namespace {

std::uint64_t number_from(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 0);
}

TEST(ResponderFuzzTest, NoBytesReachBeyondRegisteredMemoryAndManyGetFar) {
  const std::uint64_t seed = number_from("ROCELAB_FUZZ_SEED", 1),
                      seconds = number_from("ROCELAB_FUZZ_SECONDS", 0);
  RecordProperty("seed", std::to_string(seed));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  SessionOutcome sum;
  constexpr int kSessions = 3000;
  for (int i = 0; i < kSessions || std::chrono::steady_clock::now() < end; ++i) {
    Rng rng(seed + static_cast<std::uint64_t>(i));
    std::vector<std::uint8_t> bytes(200 + rng.below(4000));
    for (std::uint8_t& b : bytes) b = static_cast<std::uint8_t>(rng.next());
    const SessionOutcome one = run_responder_session(bytes);
    sum.packets += one.packets, sum.placed += one.placed, sum.receive_cqes += one.receive_cqes;
    sum.read_responses += one.read_responses, sum.naks += one.naks, sum.errors += one.errors;
    sum.binds += one.binds, sum.invalidated += one.invalidated, sum.foreign += one.foreign;
  }
  // Sessions that all died at the first packet would prove nothing.
  EXPECT_GT(sum.packets, 50u * kSessions);
  EXPECT_GT(sum.placed, 100u * kSessions);
  EXPECT_GT(sum.receive_cqes, kSessions / 10u);
  EXPECT_GT(sum.read_responses, kSessions / 10u);
  EXPECT_GT(sum.naks, kSessions / 2u);
  EXPECT_GT(sum.errors, kSessions / 2u);
  EXPECT_GT(sum.binds, kSessions / 10u);
  EXPECT_GT(sum.invalidated, kSessions / 100u);
  EXPECT_GT(sum.foreign, 1u * kSessions);
  std::printf(
      "%llu packets, %llu bytes placed, %llu receive CQEs, %llu READ responses, %llu NAKs, %llu errors, "
      "%llu binds, %llu invalidated, %llu from elsewhere\n",
      static_cast<unsigned long long>(sum.packets), static_cast<unsigned long long>(sum.placed),
      static_cast<unsigned long long>(sum.receive_cqes), static_cast<unsigned long long>(sum.read_responses),
      static_cast<unsigned long long>(sum.naks), static_cast<unsigned long long>(sum.errors),
      static_cast<unsigned long long>(sum.binds), static_cast<unsigned long long>(sum.invalidated),
      static_cast<unsigned long long>(sum.foreign));
}

}  // namespace
}  // namespace rocelab::fuzz
