// PolicyInstance against the reference, over random programs and random traffic: the same frames are refused,
// evicted, marked and served, at the same instants.
#include <gtest/gtest.h>

#include <cstdlib>

#include "ovs_patches/openqueue/random_program_fixture.h"
#include "ovs_patches/openqueue/reference_fixture.h"
#include "ovs_patches/openqueue/stages.h"

namespace rocelab::oq {
namespace {

// One program, driven until the two differ.
class Comparison {
 public:
  Comparison(const PolicyProgram& program, const Model& model, const Rng& rng)
      : program_(program),
        rng_(rng.fork("traffic")),
        instance_(program, rng.fork("draws")),
        reference_(model, program.bounds.evictions, rng.fork("draws")) {}

  // Empty, or what differs.
  std::string run(int steps) {
    for (int i = 0; i < steps; ++i) {
      now_ = now_ + Duration::from_ps(static_cast<std::int64_t>(rng_.below(3) * 200'000));
      std::string wrong = moves();
      if (wrong.empty()) wrong = step();
      if (wrong.empty() && i % 8 == 0) wrong = counts();
      if (!wrong.empty()) return "step " + std::to_string(i) + ": " + wrong;
      for (const auto& [measured, proved] :
           {std::pair{instance_.costs().arrival_instructions, program_.bounds.arrival_instructions},
            {instance_.costs().departure_instructions, program_.bounds.departure_instructions},
            {instance_.costs().evictions, program_.bounds.evictions}})
        if (measured > proved)
          return "step " + std::to_string(i) + ": the bound of " + std::to_string(proved) +
                 " is exceeded by " + std::to_string(measured);
    }
    return "";
  }
  std::uint64_t served = 0, refused = 0, evicted = 0;

 private:
  std::string moves() {
    for (int i = 0; i < 1000; ++i) {
      PolicyInstance::Move one, other;
      const bool a = instance_.move(now_, one), b = reference_.move(now_, other);
      if (a != b) return "a move of one only";
      if (!a) break;
      if (one.node != other.node || one.arrived != other.arrived) return "other moves";
      if (std::string wrong = outcome(one.node, one.outcome, other.outcome); !wrong.empty())
        return "move: " + wrong;
      if (one.outcome.refused) free_.push_back(one.node);
    }
    return instance_.next_move() == reference_.next_move() ? "" : "other instants of the next move";
  }

  std::string outcome(std::uint32_t node, const PolicyOutcome& a, const PolicyOutcome& b) {
    const std::string of = " of frame " + std::to_string(node);
    if (a.refused != b.refused) return "refused" + of;
    if (a.evicted != b.evicted) return "evicted" + of;
    if (a.mark != b.mark) return "mark" + of;
    if (a.notified != b.notified) return "notified" + of;
    if (a.pause_upstream != b.pause_upstream || a.resume_upstream != b.resume_upstream)
      return "upstream" + of;
    for (const std::uint32_t gone : a.evicted) free_.push_back(gone);
    evicted += a.evicted.size();
    refused += a.refused ? 1 : 0;
    return "";
  }

  std::string step() {
    const std::uint64_t kind = rng_.below(20);
    if (kind < 11) return arrive();
    if (kind == 19) return remove();
    const auto port = static_cast<std::uint32_t>(rng_.below(kRandomPorts));
    const auto paused = static_cast<TcMask>(rng_.below(4) == 0 ? 1 << 3 : 0);
    const auto a = instance_.pick(port, paused, now_), b = reference_.pick(port, paused, now_);
    if (a != b)
      return "port " + std::to_string(port) + " serves " + (a ? std::to_string(*a) : "nothing") +
             ", and means " + (b ? std::to_string(*b) : "nothing");
    if (!a) return "";
    const auto held = static_cast<std::int64_t>(rng_.below(9000));
    PolicyOutcome one, other;
    instance_.leave(*a, held, now_, one);
    reference_.leave(*a, held, now_, other);
    free_.push_back(*a);
    ++served;
    return outcome(*a, one, other);
  }

  std::string arrive() {
    std::uint32_t node = next_;
    if (free_.empty()) {
      ++next_;
    } else {
      node = free_.back();
      free_.pop_back();
    }
    constexpr std::uint8_t kDscpsUsed[] = {0, 1, 8, 10, 24, 34, 46, 63};
    PolicyPacket packet;
    packet.size = static_cast<std::uint32_t>(60 + rng_.below(3) * rng_.below(700));
    packet.dscp = kDscpsUsed[rng_.below(8)];
    packet.tc = ClassMap{}.of(packet.dscp);
    packet.ecn = static_cast<std::uint8_t>(rng_.below(4));
    packet.in = PortId{static_cast<std::uint16_t>(rng_.below(kRandomPorts))};
    packet.out = PortId{static_cast<std::uint16_t>(rng_.below(kRandomPorts))};
    packet.flow = rng_.below(4);
    if (rng_.below(2) == 0) packet.slack = static_cast<std::int64_t>(rng_.below(5'000'000));
    packet.held = static_cast<std::int64_t>(rng_.below(9000));
    packet.xoff = 6000;
    packet.xon = 3000;
    PolicyOutcome one, other;
    instance_.arrive(node, packet, now_, one);
    reference_.arrive(node, packet, now_, other);
    if (instance_.waits(node) != reference_.waits(node)) return "waits";
    if (instance_.waits(node) && instance_.queue_of(node) != reference_.queue_of(node))
      return "joins another queue";
    if (!instance_.waits(node)) free_.push_back(node);
    return outcome(node, one, other);
  }

  std::string remove() {
    if (next_ == 0) return "";
    const auto node = static_cast<std::uint32_t>(rng_.below(next_));
    if (!instance_.waits(node)) return "";
    instance_.remove(node, now_);
    reference_.remove(node, now_);
    free_.push_back(node);
    return "";
  }

  std::string counts() {
    for (std::uint32_t queue = 0; queue < program_.queues.size(); ++queue)
      if (instance_.counts(queue).bytes != reference_.bytes(queue) ||
          instance_.counts(queue).packets != reference_.packets(queue))
        return "counts of " + program_.queues[queue].name;
    return "";
  }

  const PolicyProgram& program_;
  Rng rng_;
  PolicyInstance instance_;
  ReferencePolicy reference_;
  Time now_ = Time::zero() + 1_us;
  std::uint32_t next_ = 0;
  std::vector<std::uint32_t> free_;
};

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
    source.files = {{"random.oq", RandomProgram(rng.fork("text")).text()}};
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
    Comparison comparison(*program, model, rng);
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
