// PsnBitmap: one bit per packet over a bounded run of consecutive PSNs, as a ring whose head is the
// cumulative value. Source: Mittal, 4.5.2: find first zero, popcount and bit shift are the only operations
// that IRN needs; its size is the BDP cap (4.5.1). Contract: PSNs are unwrapped. set() outside [head, head +
// capacity) is a broken invariant, so whoever takes a PSN from a packet asks covers() first. Memory: of 128
// bits, until a bit further ahead is set; TCP's capacity is that of its largest message, which few flows use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/psn.h"

namespace rocelab {

class PsnBitmap {
 public:
  PsnBitmap(std::size_t capacity, UnwrappedPsn head);

  std::size_t capacity() const { return capacity_; }
  UnwrappedPsn head() const { return head_; }
  UnwrappedPsn end() const {
    return head_ + static_cast<UnwrappedPsn>(capacity_);
  }  // first PSN beyond the ring
  bool covers(UnwrappedPsn psn) const { return psn >= head_ && psn < end(); }

  bool test(UnwrappedPsn psn) const {
    return psn >= head_ && psn < stored_end() && (words_[word_of(psn)] & bit_of(psn)) != 0;
  }
  void set(UnwrappedPsn psn);
  void set(UnwrappedPsn from, UnwrappedPsn to);  // all of [from, to), which lies in [head, end()]
  void reset(UnwrappedPsn psn);                  // its bit is zero again
  // The first PSN at or after `from` (inside the ring) whose bit is zero; end() when there is none.
  UnwrappedPsn first_zero(UnwrappedPsn from) const;
  UnwrappedPsn run_start(
      UnwrappedPsn end) const;  // first of the ones that end before `end` (inside the ring)
  // Ones in [from, to), which lies in [head, end()].
  std::size_t popcount(UnwrappedPsn from, UnwrappedPsn to) const;
  // The shift: bits below `head` are forgotten, those that enter at the end are zero. `head` never moves
  // back.
  void advance(UnwrappedPsn head) {
    if (head != head_ + 1) return advance_far(head);
    words_[word_of(head_)] &= ~bit_of(head_);
    head_ = head;
  }
  void clear(UnwrappedPsn head);

 private:
  static constexpr std::size_t kBits = 64, kFirstWords = 2;
  // Bits from here on are zero, and not in memory.
  UnwrappedPsn stored_end() const { return head_ + stored_; }
  void store_to(UnwrappedPsn end) {
    if (end > stored_end()) [[unlikely]]
      grow(end);
  }
  void grow(UnwrappedPsn end);
  std::size_t word_of(UnwrappedPsn psn) const {
    return (static_cast<std::uint64_t>(psn) / kBits) & (words_.size() - 1);
  }
  static std::uint64_t bit_of(UnwrappedPsn psn) {
    return std::uint64_t{1} << (static_cast<std::uint64_t>(psn) % kBits);
  }
  static UnwrappedPsn next_word(UnwrappedPsn psn) {
    return (psn | (kBits - 1)) + 1;
  }  // first PSN of the next word
  void advance_far(UnwrappedPsn head);
  // Bits of psn's word that stand for [psn, min(to, end of the word)).
  static std::uint64_t mask_of(UnwrappedPsn psn, UnwrappedPsn to);

  std::size_t capacity_;
  UnwrappedPsn head_;
  std::vector<std::uint64_t> words_;  // a power of two
  UnwrappedPsn
      stored_;  // at most their bits, so that no PSN stored shares a bit with another; at most capacity
};

}  // namespace rocelab
