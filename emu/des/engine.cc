#include "emu/des/engine.h"

#include <algorithm>

namespace rocelab::des {

Engine::Engine(Network& network, Driver driver, std::uint32_t threads, Clock clock)
    : network_(network), driver_(driver), clock_(clock) {
  threads = std::min(threads, network.last_part() - network.first_part());
  if (threads > 1) crew_ = std::make_unique<Crew>(threads);
  if (clock == nullptr) return;
  ticks_.resize(network.last_part());
  work_.busy.resize(network.last_part());
}

bool Engine::step(Time stop) {
  const Time begin = next_event();
  if (begin >= stop) {
    now_ = std::min(network_.last_event() + network_.lookahead(), stop);
    return false;
  }
  ++steps_;
  if (driver_ == Driver::kGlobalOrder) {
    std::size_t first = 0;
    while (network_.next_event(first) != begin) ++first;
    network_.run(first, begin + Duration::from_ps(1));
    now_ = begin;  // other nodes may have events at this instant
    return true;
  }
  now_ = network_.begin_round(stop);
  if (crew_)
    crew_->each([this](std::uint32_t thread) { run_parts(thread); });
  else
    run_parts(0);
  network_.end_round();
  if (clock_ != nullptr) count_work();
  return true;
}

Time Engine::next_event() const {
  return driver_ == Driver::kGlobalOrder ? network_.next_event() : network_.next_round();
}

void Engine::run_parts(std::uint32_t thread) {
  for (std::uint32_t part = network_.first_part() + thread; part < network_.last_part(); part += threads()) {
    const std::uint64_t begin = clock_ != nullptr ? clock_() : 0;
    network_.run_part(part);
    if (clock_ != nullptr) ticks_[part].value = clock_() - begin;
  }
}

void Engine::count_work() {
  std::uint64_t longest = 0;
  for (std::size_t part = 0; part < ticks_.size(); ++part) {
    work_.busy[part] += ticks_[part].value;
    longest = std::max(longest, ticks_[part].value);
  }
  work_.critical += longest;
}

}  // namespace rocelab::des
