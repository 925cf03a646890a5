// DirectProcess: who watches the ports, and the helper thread.
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/check.h"
#include "irn_provider/live/program_signals.h"
#include "irn_provider/realtime/direct_process.h"

namespace rocelab {

namespace {

// A program that has polled so recently will poll again: the helper thread leaves the socket to it. A program
// that computes for longer between polls gives its peers as much delay.
constexpr Duration kTakeover = 200_us;
// After a frame another one is likely: to sleep and be woken costs both ends tens of microseconds.
constexpr Duration kLinger = 50_us;
constexpr Duration kSweep = 1000_ms;  // how often a process looks for others that have died, and at the link
constexpr Duration kLongYield = 300_us, kBusyFor = 20_ms, kNap = 500_us;
constexpr Duration kBlockedRetry = 50_us;
// To sleep and be woken takes some 10 us: as long is it worth to look for an answer.
constexpr Duration kShortLook = 10_us;
constexpr Duration kAnswerPatience = 50_us;

timespec to_timespec(Duration d) {
  const std::int64_t ns = std::max<std::int64_t>(0, (d.ps() + 999) / 1'000);
  return {.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
}

constinit thread_local int t_event = -1;

// Of the calling thread, closed with it. By a key: a C++ thread_local with a destructor takes the loader's
// lock, and who holds that may wait for this thread.
int own_event() {
  static const pthread_key_t key = [] {
    const auto end = [](void*) { close(std::exchange(t_event, -1)); };
    pthread_key_t made = 0;
    RL_CHECK(pthread_key_create(&made, end) == 0);
    return made;
  }();
  if (t_event < 0) {
    t_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    RL_CHECK(pthread_setspecific(key, &t_event) == 0);
  }
  return t_event;
}

// At the end of its block, also when the thread is cancelled as it sleeps there, which unwinds.
template <class Action>
class AtEnd {
 public:
  explicit AtEnd(Action action) : action_(std::move(action)) {}
  ~AtEnd() { action_(); }
  AtEnd(const AtEnd&) = delete;
  AtEnd& operator=(const AtEnd&) = delete;

 private:
  const Action action_;
};

// Of the calling thread, but for those of its own faults: they come while it sleeps, by `sleeping()`, where
// they end the sleep, and not between two sleeps of one wait, where nobody would know of them.
class SignalsWait {
 public:
  SignalsWait() {
    sigset_t all;
    sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS})
      sigdelset(&all, fault);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~SignalsWait() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;
  const sigset_t* sleeping() const { return &before_; }

 private:
  sigset_t before_{};
};

void drain(int event) {
  eventfd_t ignored = 0;
  eventfd_read(event, &ignored);
}

}  // namespace

// One stay under the lock where something is found: what that takes is part of every message's latency.
void DirectProcess::poll(std::size_t, const std::function<bool(Nic&, Time)>& look) {
  Time now = enter();
  if (look(nic_, now)) {
    const std::uint64_t seen = completions_seen_;
    if (const std::optional<Time> idle_until = take_in_poll()) {
      mutex_.unlock();
      nap(*idle_until);
      mutex_.lock();
      now = tick();
      if (frames_wait()) take_in_poll();  // what has ended the nap is for this poll
    }
    if (completions_seen_ != seen) look(nic_, now);
  }
  leave();
}

void DirectProcess::park_poll() {
  Inside inside;
  std::optional<Time> idle_until;
  {
    Lock lock(mutex_);
    tick();
    idle_until = take_in_poll();
  }
  if (idle_until) nap(*idle_until);
}

// Takes in what has come. Returns until when the program may give way; nothing: it shall look again at once.
std::optional<Time> DirectProcess::take_in_poll() {
  if (polls_memory_)
    for (direct::FramePort* port : ports_) port->before_poll();
  const std::uint64_t seen = completions_seen_;
  const bool any = progress(Sees::kCompletion, last_);
  last_poll_ns_.store(last_.ps() / 1'000, std::memory_order_relaxed);
  if (polls_memory_) note_poll(completions_seen_ != seen);
  // Who has just sent something looks again at once: a peer's answer is some microseconds away, and to
  // yield in between takes as long as a look.
  if (any || (wire_ && last_ - last_departure_ < kShortLook)) return std::nullopt;
  return std::min(last_ + kNap, next_step());
}

bool DirectProcess::frames_wait() const {
  return std::any_of(ports_.begin(), ports_.end(), [](const auto* port) { return port->waits(); });
}

void DirectProcess::nap(Time until) {
  nappers_.fetch_add(1);
  give_way(until);
  nappers_.fetch_sub(1);
}

// Of a thread that found nothing. A frame that memory shows is waited for a moment: less than a way to the
// kernel takes. Who yields on a busy machine waits for others' whole turns, however soon a
// frame comes; who sleeps until it comes is woken for it.
void DirectProcess::give_way(Time until) {
  static thread_local Time busy_until;
  Time before = clock();
  for (const Time begin = before; !wire_ && before - begin < kShortLook && before < until; before = clock())
    if (frames_wait()) return;
  if (before < busy_until) {
    wait_for_frames(until, own_event());
    return;
  }
  sched_yield();
  const Time after = clock();
  if (after - before > kLongYield) busy_until = after + kBusyFor;
}

Woken DirectProcess::sleep_until(Time deadline) {
  return park_until([] { return false; }, deadline);
}

Woken DirectProcess::park_until(const std::function<bool()>& ready, Time deadline) {
  Inside inside;
  const SignalsWait signals;
  Waiter self{ready, own_event()};
  watchers_.fetch_add(1);
  const AtEnd watches_no_more([this] {
    if (watchers_.fetch_sub(1) == 1) set_timer(helper_timer_, kTakeover);
  });
  Lock lock(mutex_);
  bool is_ready = false, interrupted = false;
  while (true) {
    progress();
    is_ready = ready();
    if (is_ready || interrupted || clock() >= deadline) break;
    const Time until = std::min(deadline, next_step());
    waiters_.push_back(&self);
    {
      const AtEnd told_no_more([&] {
        lock.lock();
        std::erase(waiters_, &self);
      });
      lock.unlock();
      const Cancellable here;
      interrupted = wait_for_frames(until, self.event, signals.sleeping());
    }
    if (std::exchange(self.told, false)) drain(self.event);
  }
  last_poll_ns_.store(last_.ps() / 1'000, std::memory_order_relaxed);
  lock.unlock();
  if (is_ready) return Woken::kReady;
  if (!interrupted) return Woken::kDeadline;
  note_interruption();
  return Woken::kSignal;
}

void DirectProcess::drain_output(Duration longest) {
  Inside inside;
  const Time deadline = clock() + longest;
  Lock lock(mutex_);
  while (progress() || blocked())
    if (clock() >= deadline) return;
}

void DirectProcess::hint_blocking() {
  last_poll_ns_.store(0, std::memory_order_relaxed);
  set_timer(helper_timer_, 1_ns);
}

Time DirectProcess::next_step() const { return blocked() ? last_ + kBlockedRetry : next_event(); }

// When the helper has to look if nobody has called in by then. What could leave at once but waits for more
// has its time: posts have a timer of their own (may_wait()).
Time DirectProcess::next_look() const {
  const std::int64_t acks_wait_since_ns = acks_wait_since_ns_;
  if (blocked() || (acks_wait_since_ns == 0 && posts_waiting_ == 0)) return next_step();
  if (acks_wait_since_ns == 0) return next_due();
  return std::min(next_due(), Time::from_ps(acks_wait_since_ns * 1'000) + kAnswerPatience);
}

// The program has called in and goes its own way: what it has set going may be due before the helper looks. A
// thread that waits does not know of it either.
void DirectProcess::hand_over() {
  if (helper_until_ == kSoon) return;
  const Time next = next_look();
  if (next >= helper_until_) return;
  helper_until_ = next;
  set_timer(helper_timer_, std::max(next - last_, 1_ns));
}

void DirectProcess::recheck_waiters() {
  Inside inside;
  Lock lock(mutex_);
  tell_waiters();
}

void DirectProcess::tell_waiters() {
  for (Waiter* waiter : waiters_) {
    if (waiter->told || !waiter->ready()) continue;
    waiter->told = true;
    eventfd_write(waiter->event, 1);
  }
}

bool DirectProcess::wait_for_frames(Time until, int event, const sigset_t* signals) {
  std::array<pollfd, 1 + kMaxPorts> fds{pollfd{event, POLLIN, 0}};
  return sleep_on(fds, until, signals);
}

// `fds` ends with places for the ports. True: a handler of the program's has ended it.
bool DirectProcess::sleep_on(std::span<pollfd> fds, Time until, const sigset_t* signals) {
  const std::span<pollfd> ports = fds.last(kMaxPorts);
  bool none = true;
  for (std::size_t i = 0; i < kMaxPorts; ++i) {
    ports[i] = {i < ports_.size() ? ports_[i]->fd() : -1, POLLIN, 0};
    if (i < ports_.size()) none &= ports_[i]->before_sleep();
  }
  const timespec timeout = to_timespec(none ? until - clock() : Duration());
  const std::uint32_t own_signals = t_own_signals;
  const bool ended =
      ppoll(fds.data(), fds.size(), none && until == Time::never() ? nullptr : &timeout, signals) < 0 &&
      errno == EINTR;
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    ports_[i]->after_sleep(ports[i].revents != 0);
    if ((ports[i].revents & POLLERR) != 0) ports_[i]->clear_error();
  }
  return ended && t_own_signals == own_signals;
}

void DirectProcess::set_timer(int timer, Duration after) {
  const itimerspec spec{.it_interval = {}, .it_value = to_timespec(after)};
  timerfd_settime(timer, 0, &spec, nullptr);
}

// `away`: the program neither polls nor waits. It may poll memory, and frames did not interrupt it.
bool DirectProcess::look(bool away) {
  Lock lock(mutex_);
  if (!polls_memory_) return progress();
  if (away && !interrupts_) {
    interrupt_law_.needed();
    interrupt(true);
  }
  if (older(acks_wait_since_ns_, kAnswerPatience, clock())) answer_law_.gave_up();
  return progress(Sees::kMemory);
}

bool DirectProcess::older(const std::atomic<std::int64_t>& since_ns, Duration than, Time now) {
  const std::int64_t since = since_ns;
  return since != 0 && now - Time::from_ps(since * 1'000) >= than;
}

// Posts for others, or acknowledgements for the program's answer: they leave without.
bool DirectProcess::wait_for_too_long() const {
  const Time now = clock();
  return older(acks_wait_since_ns_, kAnswerPatience, now) || older(posts_wait_since_ns_, kLongestWait, now);
}

// Its kernel's state of the interface is the port's.
void DirectProcess::watch_link() {
  if (!wire_) return;
  const bool up = wire_->link_up();
  Lock lock(mutex_);
  if (up == nic_.link_up()) return;
  nic_.on_link(up, tick());
  note_completions(last_);
}

bool DirectProcess::is_due() {
  Lock lock(mutex_);
  return next_look() <= clock();
}

// When the helper looks next, `latest` or earlier; hand_over() tells it of what is due before.
Time DirectProcess::helper_looks_by(Time latest) {
  Lock lock(mutex_);
  return helper_until_ = std::min(latest, next_look());
}

// Watches the ports while the program neither polls nor waits here itself. A thread that waits sees to
// frames, and to what was due when it went to sleep; what others set going meanwhile is for the helper.
void DirectProcess::helper_loop() {
  prctl(PR_SET_TIMERSLACK, 1UL);
  prctl(PR_SET_NAME, "rocelab");
  const Inside always;
  Time next_sweep = clock() + kSweep, last_busy;
  bool soon = false;  // what helper_until_ says
  while (!helper_ends_) {
    const bool polled =
        nappers_.load() > 0 ||
        clock().ps() / 1'000 - last_poll_ns_.load(std::memory_order_relaxed) < kTakeover.ps() / 1'000;
    const bool watch = !polled && watchers_.load() == 0;
    Time until = next_sweep;
    if (polled) {  // the program sees to the rest
      if (wait_for_too_long()) look(false);
      until = std::min(until, clock() + kTakeover);
      if (!std::exchange(soon, true)) helper_looks_by(kSoon);
    } else {
      if (watch ? look(true) : is_due() && look(false)) last_busy = clock();
      if (watch && clock() - last_busy < kLinger) {
        give_way(clock() + kLinger);
        continue;
      }
      until = helper_looks_by(until);
      soon = false;
    }
    std::array<pollfd, 3 + kMaxPorts> fds = {
        pollfd{helper_event_, POLLIN, 0}, pollfd{helper_timer_, POLLIN, 0}, pollfd{post_timer_, POLLIN, 0}};
    if (watch) {
      sleep_on(fds, until);
    } else {
      const timespec timeout = to_timespec(until - clock());
      ppoll(fds.data(), 3, &timeout, nullptr);
    }
    if (fds[0].revents != 0) drain(helper_event_);
    if (fds[1].revents != 0) drain(helper_timer_);
    if (fds[2].revents != 0) {
      drain(post_timer_);
      if (posts_wait_since_ns_ != 0 && look(false)) last_busy = clock();
    }
    if (clock() < next_sweep) continue;
    share_->sweep();
    watch_link();
    next_sweep = clock() + kSweep;
  }
}

}  // namespace rocelab
