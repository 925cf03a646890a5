#include "emu/runner/collective_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>

#include "base/rng.h"
#include "emu/runner/collective_pieces.h"

namespace rocelab {
namespace {

using enum CollectiveOperation;
using enum CollectiveAlgorithm;
using Ranks = std::uint64_t;  // a bit for each rank whose data is in a byte

struct Case {
  CollectiveOperation operation;
  CollectiveAlgorithm algorithm;
  std::uint32_t ranks, root = 0;
  PieceRules rules = {};
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const CollectiveOperation operation : {kAllReduce, kAllGather, kReduceScatter, kAllToAll, kBroadcast})
    for (const CollectiveAlgorithm algorithm : algorithms_of(operation))
      for (const std::uint32_t ranks : {2u, 3u, 4u, 5u, 8u, 12u, 16u}) {
        if (!problem_of(algorithm, ranks).empty()) continue;
        for (const std::int64_t chunk : {0, ranks < 6 ? 1 : 5, 8})
          for (const Dependencies dependencies : {Dependencies::kData, Dependencies::kSteps})
            for (const bool in_order : {true, false})
              all.push_back({operation, algorithm, ranks, ranks / 2, {chunk, dependencies, in_order}});
      }
  return all;
}

std::string name_of(const Case& c) {
  return std::string(to_string(c.operation)) + ", " + std::string(to_string(c.algorithm)) + ", " +
         std::to_string(c.ranks) + " ranks, chunk " + std::to_string(c.rules.chunk) +
         (c.rules.dependencies == Dependencies::kSteps ? ", steps" : "") +
         (c.rules.in_order ? "" : ", out of order");
}

// Ranks with buffers whose bytes say which ranks' data is in them. Pieces are sent and arrive in
// an order that is drawn, within what they need; between two ranks they arrive in order if the case says so.
class Machine {
 public:
  Machine(const Case& c, std::uint64_t seed) : case_(c), rng_(seed) {
    size_ = c.ranks * 5 + 3;
    schedule_ = schedule_of(c.operation, c.algorithm, c.ranks, c.root);
    pieces_ = pieces_of(
        schedule_, [this](std::uint32_t, std::uint32_t b) { return offset(b); }, c.rules);
    has_.assign(c.ranks, std::vector<Ranks>(size_));
    for (std::uint32_t r = 0; r < c.ranks; ++r)
      for (std::int64_t b = 0; b < size_; ++b)
        if (owns(r, b)) has_[r][static_cast<std::size_t>(b)] = Ranks{1} << r;
  }

  std::int64_t offset(std::uint32_t block) const { return size_ * block / schedule_.blocks; }
  bool in_block(std::int64_t byte, std::uint32_t block) const {
    return byte >= offset(block) && byte < offset(block + 1);
  }

  // False: some pieces can never be sent.
  bool run() {
    std::vector<std::uint32_t> waiting(pieces_.size()), flying;
    std::iota(waiting.begin(), waiting.end(), 0u);
    ended_.assign(pieces_.size(), false);
    while (!waiting.empty() || !flying.empty()) {
      std::vector<std::uint32_t> can_send, can_arrive;
      for (const std::uint32_t p : waiting)
        if (std::ranges::all_of(pieces_[p].needs, [&](std::uint32_t n) { return ended_[n]; }) &&
            is_first(waiting, p))
          can_send.push_back(p);
      for (const std::uint32_t p : flying)
        if (!case_.rules.in_order || is_first(flying, p)) can_arrive.push_back(p);
      if (can_send.empty() && can_arrive.empty()) return false;
      const auto pick = rng_.below(can_send.size() + can_arrive.size());
      if (pick < can_send.size()) {
        const std::uint32_t p = can_send[pick];
        std::erase(waiting, p);
        flying.push_back(p);
        send(p);
      } else {
        const std::uint32_t p = can_arrive[pick - can_send.size()];
        std::erase(flying, p);
        arrive(p);
        ended_[p] = true;
      }
    }
    return true;
  }

  const std::vector<CollectivePiece>& pieces() const { return pieces_; }
  const std::vector<std::vector<Ranks>>& has() const { return has_; }
  std::uint32_t exchanged(std::uint32_t src, std::uint32_t dst, std::int64_t byte) const {
    const auto found = exchanged_.find({src, dst, byte});
    return found == exchanged_.end() ? 0 : found->second;
  }
  std::int64_t size() const { return size_; }

 private:
  bool owns(std::uint32_t r, std::int64_t byte) const {
    switch (case_.operation) {
      case kAllGather:
        return in_block(byte, r);
      case kBroadcast:
        return r == case_.root;
      default:
        return true;
    }
  }
  // Of those from its source to its destination.
  bool is_first(const std::vector<std::uint32_t>& of, std::uint32_t p) const {
    return std::ranges::none_of(of, [&](std::uint32_t q) {
      return q < p && pieces_[q].src == pieces_[p].src && pieces_[q].dst == pieces_[p].dst;
    });
  }
  void send(std::uint32_t p) {
    const CollectivePiece& piece = pieces_[p];
    const auto& from = has_[piece.src];
    carried_[p] = {from.begin() + piece.from, from.begin() + piece.to};
  }
  void arrive(std::uint32_t p) {
    const CollectivePiece& piece = pieces_[p];
    for (std::int64_t b = piece.from; b < piece.to; ++b) {
      const Ranks data = carried_[p][static_cast<std::size_t>(b - piece.from)];
      if (case_.operation == kAllToAll) {
        ++exchanged_[{piece.src, piece.dst, b}];
        continue;
      }
      Ranks& mine = has_[piece.dst][static_cast<std::size_t>(b)];
      if (piece.reduces) {
        EXPECT_EQ(mine & data, 0u) << name_of(case_) << ": added twice";
      }
      mine = piece.reduces ? mine | data : data;
    }
  }

  const Case case_;
  Rng rng_;
  std::int64_t size_ = 0;
  CollectiveSchedule schedule_;
  std::vector<CollectivePiece> pieces_;
  std::vector<std::vector<Ranks>> has_;  // by rank and byte
  std::map<std::uint32_t, std::vector<Ranks>> carried_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::int64_t>, std::uint32_t> exchanged_;
  std::vector<bool> ended_;
};

// What rank r must hold of a byte at the end; nothing: it does not matter.
std::optional<Ranks> wanted(const Case& c, const Machine& m, std::uint32_t r, std::int64_t byte) {
  const Ranks all = (Ranks{1} << c.ranks) - 1;
  switch (c.operation) {
    case kAllReduce:
      return all;
    case kReduceScatter:
      return m.in_block(byte, r) ? std::optional(all) : std::nullopt;
    case kAllGather:
      for (std::uint32_t owner = 0; owner < c.ranks; ++owner)
        if (m.in_block(byte, owner)) return Ranks{1} << owner;
      return std::nullopt;
    case kBroadcast:
      return Ranks{1} << c.root;
    case kAllToAll:
      return std::nullopt;
  }
  return std::nullopt;
}

TEST(CollectiveScheduleTest, EveryRankEndsWithWhatTheOperationPromisesInWhateverOrderPiecesArrive) {
  for (const Case& c : cases())
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      Machine machine(c, seed);
      ASSERT_TRUE(machine.run()) << name_of(c);
      for (std::uint32_t r = 0; r < c.ranks; ++r)
        for (std::int64_t b = 0; b < machine.size(); ++b) {
          if (const auto want = wanted(c, machine, r, b)) {
            ASSERT_EQ(machine.has()[r][static_cast<std::size_t>(b)], *want) << name_of(c) << ": rank " << r;
          }
          for (std::uint32_t src = 0; c.operation == kAllToAll && src < c.ranks; ++src)
            ASSERT_EQ(machine.exchanged(src, r, b), src != r && machine.in_block(b, r)) << name_of(c);
        }
    }
}

TEST(CollectiveScheduleTest, EachRankSendsAndReceivesItsShare) {
  for (const Case& c : cases()) {
    const Machine machine(c, 1);
    std::vector<std::int64_t> reduced(c.ranks), sent(c.ranks), stored(c.ranks);
    for (const CollectivePiece& piece : machine.pieces()) {
      ASSERT_GT(piece.bytes(), 0) << name_of(c);
      ASSERT_TRUE(c.rules.chunk == 0 || piece.bytes() <= c.rules.chunk) << name_of(c);
      (piece.reduces ? reduced : sent)[piece.src] += piece.bytes();
      if (!piece.reduces) stored[piece.dst] += piece.bytes();
    }
    const bool adds = c.operation == kAllReduce || c.operation == kReduceScatter;
    for (std::uint32_t r = 0; r < c.ranks; ++r) {
      const std::int64_t all = machine.size(),
                         own = c.operation == kBroadcast ? 0 : machine.offset(r + 1) - machine.offset(r);
      EXPECT_EQ(reduced[r], adds ? all - own : 0) << name_of(c);
      if (c.operation == kAllReduce || c.operation == kAllGather) {
        EXPECT_EQ(stored[r], all - own) << name_of(c);
      }
      if (c.operation == kBroadcast) {
        EXPECT_EQ(stored[r], r == c.root ? 0 : all) << name_of(c);
      }
      if (c.operation != kAllToAll) continue;
      EXPECT_EQ(sent[r], all - own) << name_of(c);
      EXPECT_EQ(stored[r], (c.ranks - 1) * own) << name_of(c);
    }
  }
}

TEST(CollectiveScheduleTest, AlgorithmsTakeTheirNumberOfSteps) {
  EXPECT_EQ(schedule_of(kAllReduce, kRing, 16).steps, 30u);
  EXPECT_EQ(schedule_of(kAllReduce, kHalvingDoubling, 16).steps, 8u);
  EXPECT_EQ(schedule_of(kAllGather, kRing, 5).steps, 4u);
  EXPECT_EQ(schedule_of(kReduceScatter, kHalvingDoubling, 8).steps, 3u);
  EXPECT_EQ(schedule_of(kAllToAll, kDirect, 9).steps, 1u);
  EXPECT_EQ(schedule_of(kAllToAll, kPairwise, 9).steps, 8u);
  EXPECT_EQ(schedule_of(kBroadcast, kRing, 9).steps, 8u);
  EXPECT_EQ(schedule_of(kBroadcast, kTree, 9).steps, 4u);
  EXPECT_EQ(problem_of(kHalvingDoubling, 12),
            "halving-doubling needs a power of two of ranks, not 12: use \"ring\"");
  EXPECT_EQ(problem_of(kRing, 12), "");
}

TEST(CollectiveScheduleTest, ARanksPiecesNeedOnlyEndsThatTheRankSees) {
  for (const Case& c : cases()) {
    const Machine machine(c, 1);
    for (const CollectivePiece& piece : machine.pieces())
      for (const std::uint32_t need : piece.needs) {
        const CollectivePiece& other = machine.pieces()[need];
        ASSERT_TRUE(other.src == piece.src || other.dst == piece.src) << name_of(c);
        ASSERT_LT(other.step, piece.step) << name_of(c);
      }
  }
}

TEST(CollectiveScheduleTest, InARingAPieceWaitsForTheSamePieceFromTheLeft) {
  const CollectiveSchedule schedule = schedule_of(kAllReduce, kRing, 4);
  const auto pieces = pieces_of(schedule, [](std::uint32_t, std::uint32_t b) { return 100 * b; }, {50});
  for (const CollectivePiece& piece : pieces) {
    if (piece.step == 0) {
      EXPECT_TRUE(piece.needs.empty());
      continue;
    }
    ASSERT_EQ(piece.needs.size(), 1u);
    const CollectivePiece& other = pieces[piece.needs[0]];
    EXPECT_EQ(other.dst, piece.src);
    EXPECT_EQ(other.step, piece.step - 1);
    EXPECT_EQ(other.from, piece.from);
  }
}

TEST(CollectiveScheduleTest, BusBandwidthHasTheFactorsOfNcclTests) {
  EXPECT_DOUBLE_EQ(bus_factor(kAllReduce, 4), 1.5);
  EXPECT_DOUBLE_EQ(bus_factor(kAllGather, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(kReduceScatter, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(kAllToAll, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(kBroadcast, 4), 1);
}

}  // namespace
}  // namespace rocelab
