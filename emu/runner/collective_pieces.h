// CollectivePieces: the sends of a schedule as ranges of bytes, cut into pieces that go on independently of
// each other, and what a rank must have before it may send each of them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/units.h"
#include "emu/runner/collective_schedule.h"

namespace rocelab {

struct CollectivePiece {
  std::uint32_t step = 0, src = 0, dst = 0;  // ranks
  std::int64_t from = 0, to = 0;             // bytes of the buffer
  bool reduces = false;
  bool first = true, last = true;  // of all that src sends to dst
  std::vector<std::uint32_t> needs =
      {};  // pieces by place; each has src as an end, and must have ended there
  std::int64_t bytes() const { return to - from; }
};

enum class Dependencies : std::uint8_t {
  kData,  // a piece is sent when what it consists of is there
  kSteps  // a rank's sends of a step wait for all that it has sent and received before, as in MPI_Sendrecv
};

struct PieceRules {
  std::int64_t chunk = 0;  // most bytes of a piece; 0: no limit
  Dependencies dependencies = Dependencies::kData;
  // What a rank sends to another one arrives in order: then the last of several pieces stands for all.
  bool in_order = true;
};

// Where the bytes of block b of rank src's buffer begin: b from 0 to schedule.blocks. Ascending in b.
using BlockOffsets = std::function<std::int64_t(std::uint32_t src, std::uint32_t block)>;

// In the order of the schedule. Each piece has at least one byte if each block has.
std::vector<CollectivePiece> pieces_of(const CollectiveSchedule& schedule, const BlockOffsets& offsets,
                                       const PieceRules& rules);

}  // namespace rocelab
