// Crew: threads that do one thing at a time together: each() returns when all of them have done it. They spin
// for a moment between two calls, since windows follow each other within microseconds, and sleep then. The
// only place of emu/des that knows threads.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace rocelab::des {

class Crew {
 public:
  explicit Crew(std::uint32_t threads);  // with the caller's; at least 1
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  std::uint32_t threads() const { return static_cast<std::uint32_t>(workers_.size()) + 1; }
  // work(t) by thread t, for each t below threads(); t = 0 is the caller. What they throw is thrown here, of
  // several the first thread's. What one call has written, the next one sees, whichever thread.
  void each(const std::function<void(std::uint32_t)>& work);

  static std::uint32_t cores();  // that this process may use

 private:
  struct alignas(64) Slot {
    std::exception_ptr thrown;
  };
  void serve(std::uint32_t thread);
  void do_work(std::uint32_t thread);
  template <class Done>
  void wait_until(Done&& done);
  void wake();

  const std::uint32_t spins_;
  const std::function<void(std::uint32_t)>* work_ = nullptr;  // null: the end
  alignas(64) std::atomic<std::uint32_t> round_ = 0;
  alignas(64) std::atomic<std::uint32_t> left_ = 0;
  std::mutex mutex_;  // for those that sleep; guards nothing
  std::condition_variable changed_;
  std::unique_ptr<Slot[]> slots_;
  std::vector<std::thread> workers_;
};

}  // namespace rocelab::des
