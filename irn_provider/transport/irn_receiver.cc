#include "irn_provider/transport/irn_receiver.h"

#include "base/check.h"

namespace rocelab {
namespace {

std::size_t bitmap_size(const IrnConfig& config) {
  if (config.go_back_n) return 1;
  return config.bdp_cap > 0 ? config.bdp_cap : config.bitmap_packets;
}

}  // namespace

IrnReceiver::IrnReceiver(const IrnConfig& config, UnwrappedPsn expected, bool sacks)
    : go_back_n_(config.go_back_n),
      sacks_(sacks),
      arrived_(bitmap_size(config), expected),
      last_(bitmap_size(config), expected) {}

Arrival IrnReceiver::classify(UnwrappedPsn psn) const {
  if (psn < expected() || arrived_.test(psn)) return Arrival::kDuplicate;
  if (psn == expected()) return Arrival::kInOrder;
  if (go_back_n_ || arrived_.covers(psn)) return Arrival::kOutOfOrder;
  return Arrival::kBeyondBitmap;
}

std::uint32_t IrnReceiver::accept(UnwrappedPsn psn, bool last) {
  const UnwrappedPsn before = expected();
  if (psn == before && beyond_ == 0) {  // mostly: both bitmaps are empty and stay so
    arrived_.advance(psn + 1);
    last_.advance(psn + 1);
    nacked_ = false;
    return last ? 1 : 0;
  }
  RL_CHECK(arrived_.covers(psn) && !arrived_.test(psn));
  arrived_.set(psn);
  if (last) last_.set(psn);
  if (psn != before) {
    ++beyond_;
    if (!sacks_) return 0;
    if (!runs_) runs_ = std::make_unique<SackRuns>();
    runs_->add(psn, arrived_);
    return 0;
  }
  const UnwrappedPsn after = arrived_.first_zero(before);
  const std::size_t completed = last_.popcount(before, after);
  beyond_ -= static_cast<std::size_t>(after - before - 1);
  arrived_.advance(after);
  last_.advance(after);
  nacked_ = false;
  if (runs_) runs_->pass(after);
  return static_cast<std::uint32_t>(completed);
}

UnwrappedPsn IrnReceiver::expected_after(UnwrappedPsn psn) const {
  if (psn != expected()) return expected();
  return arrived_.first_zero(psn + 1);
}

void IrnReceiver::forget(UnwrappedPsn psn) {
  RL_CHECK(psn > expected() && arrived_.test(psn));
  arrived_.reset(psn);
  last_.reset(psn);
  --beyond_;
  if (runs_) runs_->forget(psn);
}

bool IrnReceiver::take_nack_due() {
  const bool due = !nacked_;
  nacked_ = true;
  return due;
}

}  // namespace rocelab
