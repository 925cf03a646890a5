#include "emu/des/crew.h"

#include <sched.h>

#include <utility>

namespace rocelab::des {
namespace {

// About a millisecond: to be woken takes longer than most threads wait for the others. Where another program
// has a core, the thread that waits gives its own away at last.
constexpr std::uint32_t kSpins = 20'000;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

std::uint32_t Crew::cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return static_cast<std::uint32_t>(CPU_COUNT(&set));
}

// Threads that share a core would spin in each other's way.
Crew::Crew(std::uint32_t threads)
    : spins_(threads <= cores() ? kSpins : 0), slots_(std::make_unique<Slot[]>(threads)) {
  for (std::uint32_t t = 1; t < threads; ++t) workers_.emplace_back([this, t] { serve(t); });
}

Crew::~Crew() {
  work_ = nullptr;
  round_.fetch_add(1, std::memory_order_release);
  wake();
  for (std::thread& worker : workers_) worker.join();
}

void Crew::each(const std::function<void(std::uint32_t)>& work) {
  work_ = &work;
  left_.store(static_cast<std::uint32_t>(workers_.size()), std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  wake();
  do_work(0);
  wait_until([this] { return left_.load(std::memory_order_acquire) == 0; });
  std::exception_ptr first;
  for (std::uint32_t t = threads(); t-- > 0;)
    if (slots_[t].thrown) first = std::exchange(slots_[t].thrown, nullptr);
  if (first) std::rethrow_exception(first);
}

void Crew::do_work(std::uint32_t thread) {
  try {
    (*work_)(thread);
  } catch (...) {
    slots_[thread].thrown = std::current_exception();
  }
}

void Crew::serve(std::uint32_t thread) {
  for (std::uint32_t round = 0;;) {
    wait_until([&] { return round_.load(std::memory_order_acquire) != round; });
    ++round;
    if (work_ == nullptr) return;
    do_work(thread);
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) wake();
  }
}

template <class Done>
void Crew::wait_until(Done&& done) {
  for (std::uint32_t i = 0; i < spins_; ++i) {
    if (done()) return;
    pause();
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, done);
}

// The lock is for who has looked and does not sleep yet.
void Crew::wake() {
  { const std::lock_guard lock(mutex_); }
  changed_.notify_all();
}

}  // namespace rocelab::des
