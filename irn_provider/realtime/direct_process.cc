#include "irn_provider/realtime/direct_process.h"

#include <net/if.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "base/wire/frame.h"
#include "emu/world/host_identity.h"
#include "irn_provider/realtime/frame_filter.h"

namespace rocelab {

namespace {

constexpr Duration kNeighbourHolds = 1000_ms;   // a program may make thousands of queue pairs to one peer
constexpr std::uint32_t kLongestHeaders = 160;  // Ethernet to the last extension header, and the ICRC

DirectProcess* g_direct = nullptr;  // the one of this process, whose sockets a forked child has to forget
bool g_forks_are_seen = false;

// By the plain call, which needs no system call; here programs' clocks are the real ones.
std::int64_t monotonic_ns() {
  timespec ts{};
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return std::int64_t{ts.tv_sec} * 1'000'000'000 + ts.tv_nsec;
}

std::uint64_t random_seed() {
  std::uint64_t seed = 0;
  if (getrandom(&seed, sizeof seed, 0) != sizeof seed) seed = static_cast<std::uint64_t>(monotonic_ns());
  return seed;
}

unsigned index_of(const direct::Settings& settings) { return if_nametoindex(settings.interface.c_str()); }

std::vector<sock_filter> filter_of(const HostEntry& host, const lockstep::VfSlot& slot, bool groups) {
  return direct::frame_filter({host.ipv4, gid_of(host, 0), slot.first_qpn, kQpnsPerVf, groups});
}

}  // namespace

std::unique_ptr<DirectProcess> DirectProcess::join(const direct::Settings& settings) {
  std::unique_ptr<DirectProcess> process(new DirectProcess(settings));
  DirectProcess* p = process.get();
  g_direct = p;
  if (!std::exchange(g_forks_are_seen, true))  // else a forked program's own: its parent registered
    pthread_atfork(nullptr, nullptr, [] {
      // Once: the child's own children would close what the child has opened by those numbers.
      if (DirectProcess* parents = std::exchange(g_direct, nullptr)) parents->forget_sockets();
    });
  // A signal is for the program's threads, which may all have blocked it for a signalfd: ours would die of
  // it.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  p->helper_ = std::thread([p] { p->helper_loop(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return process;
}

DirectProcess::DirectProcess(const direct::Settings& settings)
    : host_(direct::host_of(settings)),
      epoch_ns_(monotonic_ns()),
      share_(direct::InterfaceShare::join(host_, direct::key_of(settings))),
      earlier_(share_->slot().result.counters),
      quiet_udp_(settings.on_interface() ? direct::quiet_udp_socket() : -1),
      rings_(*share_, host_.nic.active_mtu + kLongestHeaders),
      ports_{&rings_},
      nic_(host_.nic, Qpn{share_->slot().first_qpn}, Rng(random_seed()), pool_, memory_, trace_),
      port_(nic_, host_.nic.link_rate, host_.nic.link_delay),
      edge_(host_, pool_, trace_),
      helper_event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      helper_timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)),
      post_timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
  if (settings.on_interface()) {
    neighbours_.emplace(host_, index_of(settings));
    wire_ = std::make_unique<direct::PacketSocket>(host_.name, filter_of(host_, share_->slot(), false),
                                                   host_.nic.active_mtu + kLongestHeaders);
    ports_.push_back(wire_.get());
    nic_.on_link(wire_->link_up(), Time::zero());
  }
  // Peers keep dead connections' QPNs for a while: a program does not begin where the last one did.
  nic_.set_first_qpn(static_cast<std::uint32_t>(random_seed() % kQpnsPerVf));
  for (int i = 0; i < gids_of(host_); ++i) peers_.keep(gid_of(host_, i), host_.mac);
}

// In a forked child: the VF is the parent's alone.
void DirectProcess::forget_sockets() {
  for (const direct::FramePort* port : ports_) close(port->fd());
}

DirectProcess::~DirectProcess() {
  close(helper_timer_);
  close(post_timer_);
  close(helper_event_);
  if (quiet_udp_ >= 0) close(quiet_udp_);
}

namespace {

template <std::size_t N, class Counters>
void add_text(std::string& text, const std::string& prefix, const std::array<const char*, N>& names,
              const Counters& counters) {
  const auto values = std::bit_cast<std::array<std::uint64_t, N>>(counters);
  for (std::size_t i = 0; i < N; ++i)
    if (values[i] != 0) text += " " + prefix + names[i] + "=" + std::to_string(values[i]);
}

}  // namespace

void DirectProcess::end() {
  helper_ends_ = true;
  eventfd_write(helper_event_, 1);
  helper_.join();
  Lock lock(mutex_);
  progress();
  leaving_ = true;
  const NicCounters counters = nic_.counters() + edge_.counters();
  share_->slot().result.counters = earlier_ + counters;
  std::uint64_t lost = 0;
  for (direct::FramePort* port : ports_) lost += port->lost();
  if (std::getenv("ROCELAB_DEBUG") != nullptr) {
    std::string text;
    add_text(text, "", kNicCounterNames, counters);
    add_text(text, "cm.", cm::kCmCounterNames, share_->slot().result.cm_counters);
    std::fprintf(stderr, "rocelab: %s: %lu frames lost here, counters:%s\n", host_.name, lost, text.c_str());
  }
  share_->leave();
}

// For those who look from outside (look()): whenever frames have left or come.
void DirectProcess::publish_counters() {
  if (leaving_) return;
  const std::uint64_t frames = nic_.counters().tx_packets + nic_.counters().rx_packets;
  if (std::exchange(frames_published_, frames) != frames)
    share_->slot().result.counters = earlier_ + nic_.counters() + edge_.counters();
}

Time DirectProcess::clock() const { return Time::from_ps((monotonic_ns() - epoch_ns_) * 1'000); }

Time DirectProcess::tick() { return last_ = std::max(last_, clock()); }

Time DirectProcess::enter() {
  Inside::begin();
  mutex_.lock();
  return tick();
}

void DirectProcess::leave() {
  const bool posted = std::exchange(posts_seen_, nic_.posts()) != nic_.posts();
  if (polls_memory_ && posted) answer_law_.posted(last_);
  if (port_.wants_port() != Time::never() && !may_wait(posted)) depart(last_);
  const bool posts_on = posted && last_ - last_post_ < kPostsLook;
  if (posted) last_post_ = last_;
  // A program that posts and posts still hears of acknowledgements and pauses, and does so itself: the helper
  // thread would have to fight with it for the lock.
  if (sent_since_receive_ > direct::PacketSocket::kBatch ||
      (posts_on && last_ - last_receive_ > kPostsLook)) {
    progress();
    last_poll_ns_.store(last_.ps() / 1'000, std::memory_order_relaxed);
  }
  note_completions(last_);
  publish_counters();
  hand_over();
  if (polls_memory_) {
    if (posted) interrupt_if_wanted();  // it may wait for an answer in memory
    expect_memory_poll();
  }
  mutex_.unlock();
  Inside::end();
}

int DirectProcess::listen_to_groups(std::size_t, std::size_t memberships) {
  const bool on = memberships > 0;
  if (multicast_joined_ == on || !wire_) return 0;
  const int error = wire_->take_groups(on, filter_of(host_, share_->slot(), on));
  if (error == 0) multicast_joined_ = on;
  return on ? error : 0;  // what comes for groups without members is dropped
}

std::optional<PathEnd> DirectProcess::find_peer(std::size_t, const Gid& gid) {
  auto mac = peers_.find(gid);
  if (!mac && wire_) mac = direct::mac_of_eui64(gid);
  return mac ? std::optional(PathEnd{*mac, NodeId{0}}) : std::nullopt;
}

void DirectProcess::reach(const Gid& gid) {
  if (!neighbours_) return;
  Inside inside;
  {
    Lock lock(mutex_);
    const auto known = reached_.find(gid);
    if (known != reached_.end() && clock() - known->second < kNeighbourHolds) return;
  }
  const auto mac = neighbours_->resolve(gid);
  if (!mac) return;
  Lock lock(mutex_);
  peers_.keep(gid, *mac);
  reached_[gid] = clock();
}

void DirectProcess::set_resident(Resident resident) {
  Inside inside;
  Lock lock(mutex_);
  resident_ = std::move(resident);
}

void DirectProcess::set_completion_hook(CompletionHook hook) {
  Inside inside;
  Lock lock(mutex_);
  completion_hook_ = std::move(hook);
}

}  // namespace rocelab
