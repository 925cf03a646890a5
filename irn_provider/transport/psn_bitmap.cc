#include "irn_provider/transport/psn_bitmap.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace rocelab {

PsnBitmap::PsnBitmap(std::size_t capacity, UnwrappedPsn head)
    : capacity_(capacity),
      head_(head),
      words_(std::min(kFirstWords, std::bit_ceil((capacity + kBits - 1) / kBits))),
      stored_(static_cast<UnwrappedPsn>(std::min(capacity, words_.size() * kBits))) {
  RL_CHECK(capacity > 0);
}

void PsnBitmap::grow(UnwrappedPsn end) {
  const std::vector<std::uint64_t> before = std::move(words_);
  words_.assign(std::bit_ceil((static_cast<std::size_t>(end - head_) + kBits - 1) / kBits), 0);
  for (UnwrappedPsn psn = head_; psn < stored_end(); psn = next_word(psn)) {
    const std::size_t old = (static_cast<std::uint64_t>(psn) / kBits) & (before.size() - 1);
    words_[word_of(psn)] |= before[old] & mask_of(psn, stored_end());
  }
  stored_ = static_cast<UnwrappedPsn>(std::min(capacity_, words_.size() * kBits));
}

std::uint64_t PsnBitmap::mask_of(UnwrappedPsn psn, UnwrappedPsn to) {
  const std::size_t low = static_cast<std::uint64_t>(psn) % kBits;
  const std::size_t count = std::min(kBits - low, static_cast<std::size_t>(to - psn));
  const std::uint64_t ones = count == kBits ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
  return ones << low;
}

void PsnBitmap::set(UnwrappedPsn psn) {
  RL_CHECK(covers(psn));
  store_to(psn + 1);
  words_[word_of(psn)] |= bit_of(psn);
}

void PsnBitmap::set(UnwrappedPsn from, UnwrappedPsn to) {
  RL_CHECK(from >= head_ && to <= end());
  if (from < to) store_to(to);
  for (; from < to; from = std::min(to, next_word(from))) words_[word_of(from)] |= mask_of(from, to);
}

void PsnBitmap::reset(UnwrappedPsn psn) {
  RL_CHECK(covers(psn));
  if (psn < stored_end()) words_[word_of(psn)] &= ~bit_of(psn);
}

UnwrappedPsn PsnBitmap::first_zero(UnwrappedPsn from) const {
  RL_CHECK(from >= head_ && from <= end());
  while (from < stored_end()) {
    const std::uint64_t zeros = ~words_[word_of(from)] & mask_of(from, stored_end());
    if (zeros != 0) return next_word(from) - static_cast<UnwrappedPsn>(kBits) + std::countr_zero(zeros);
    from = std::min(next_word(from), stored_end());
  }
  return from;
}

UnwrappedPsn PsnBitmap::run_start(UnwrappedPsn end) const {
  RL_CHECK(covers(end));
  if (end > stored_end()) return end;
  while (end > head_) {
    const UnwrappedPsn first = std::max(head_, next_word(end - 1) - static_cast<UnwrappedPsn>(kBits));
    const std::uint64_t zeros = ~words_[word_of(first)] & mask_of(first, end);
    if (zeros != 0) return next_word(first) - std::countl_zero(zeros);
    end = first;
  }
  return head_;
}

std::size_t PsnBitmap::popcount(UnwrappedPsn from, UnwrappedPsn to) const {
  RL_CHECK(from >= head_ && from <= to && to <= end());
  std::size_t count = 0;
  to = std::min(to, stored_end());
  while (from < to) {
    count += static_cast<std::size_t>(std::popcount(words_[word_of(from)] & mask_of(from, to)));
    from = std::min(to, next_word(from));
  }
  return count;
}

void PsnBitmap::advance_far(UnwrappedPsn head) {
  RL_CHECK(head >= head_);
  const UnwrappedPsn stop = std::min(head, stored_end());
  for (UnwrappedPsn psn = head_; psn < stop;) {
    words_[word_of(psn)] &= ~mask_of(psn, stop);
    psn = std::min(stop, next_word(psn));
  }
  head_ = head;
}

void PsnBitmap::clear(UnwrappedPsn head) {
  std::fill(words_.begin(), words_.end(), 0);
  head_ = head;
}

}  // namespace rocelab
