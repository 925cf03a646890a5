#include "emu/runner/collective_pieces.h"

#include <algorithm>
#include <map>

namespace rocelab {
namespace {

using Places = std::vector<std::uint32_t>;

// What a rank has sent and received so far.
struct RankState {
  std::map<std::uint32_t, Places> received;  // by peer
  // Since the last step in which it sent, that step included; by peer and direction.
  std::map<std::pair<std::uint32_t, bool>, Places> since;
};

class Cutter {
 public:
  Cutter(const CollectiveSchedule& schedule, const BlockOffsets& offsets, const PieceRules& rules)
      : schedule_(schedule), offsets_(offsets), rules_(rules), ranks_(schedule.ranks) {}

  std::vector<CollectivePiece> cut() {
    const std::vector<CollectiveSend>& sends = schedule_.sends;
    for (std::size_t begin = 0; begin < sends.size();) {
      std::size_t end = begin;
      const auto first = static_cast<std::uint32_t>(pieces_.size());
      for (; end < sends.size() && sends[end].step == sends[begin].step; ++end) add(sends[end]);
      note(first);
      begin = end;
    }
    mark_last();
    return std::move(pieces_);
  }

 private:
  void add(const CollectiveSend& send) {
    const std::int64_t from = offsets_(send.src, send.first_block),
                       to = offsets_(send.src, send.first_block + send.blocks),
                       chunk = rules_.chunk > 0 ? rules_.chunk : to - from;
    for (std::int64_t at = from; at < to; at += chunk) {
      CollectivePiece piece{send.step, send.src, send.dst, at, std::min(at + chunk, to), send.reduces};
      piece.needs = needs_of(piece);
      pieces_.push_back(std::move(piece));
    }
  }

  Places needs_of(const CollectivePiece& piece) const {
    const RankState& rank = ranks_[piece.src];
    Places needs;
    if (rules_.dependencies == Dependencies::kSteps || schedule_.ordered) {
      for (const auto& [where, places] : rank.since)
        if (const bool sent = where.second; !sent || rules_.dependencies == Dependencies::kSteps)
          append(needs, places);
      return needs;
    }
    if (schedule_.blocks != 1 && schedule_.steps == 1) return needs;  // of an exchange nothing is sent on
    for (const auto& [peer, places] : rank.received)
      for (auto place = places.rbegin(); place != places.rend(); ++place) {
        const CollectivePiece& other = pieces_[*place];
        if (other.from >= piece.to || other.to <= piece.from) continue;
        needs.push_back(*place);
        if (rules_.in_order) break;
      }
    return needs;
  }

  void append(Places& needs, const Places& places) const {
    if (rules_.in_order)
      needs.push_back(places.back());
    else
      needs.insert(needs.end(), places.begin(), places.end());
  }

  // The pieces of a step, which do not depend on one another.
  void note(std::uint32_t first) {
    for (std::uint32_t place = first; place < pieces_.size(); ++place)
      ranks_[pieces_[place].src].since.clear();
    for (std::uint32_t place = first; place < pieces_.size(); ++place) {
      const CollectivePiece& piece = pieces_[place];
      ranks_[piece.src].since[{piece.dst, true}].push_back(place);
      ranks_[piece.dst].since[{piece.src, false}].push_back(place);
      ranks_[piece.dst].received[piece.src].push_back(place);
    }
  }

  void mark_last() {
    std::map<std::pair<std::uint32_t, std::uint32_t>, CollectivePiece*> last;
    for (CollectivePiece& piece : pieces_) {
      CollectivePiece*& before = last[{piece.src, piece.dst}];
      piece.first = before == nullptr;
      if (before != nullptr) before->last = false;
      before = &piece;
    }
  }

  const CollectiveSchedule& schedule_;
  const BlockOffsets& offsets_;
  const PieceRules rules_;
  std::vector<RankState> ranks_;
  std::vector<CollectivePiece> pieces_;
};

}  // namespace

std::vector<CollectivePiece> pieces_of(const CollectiveSchedule& schedule, const BlockOffsets& offsets,
                                       const PieceRules& rules) {
  return Cutter(schedule, offsets, rules).cut();
}

}  // namespace rocelab
