#include "verbs_app/flows/runner.h"

#include <poll.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

#include "verbs_app/common/clock.h"
#include "verbs_app/flows/pattern.h"

namespace rocelab::app {
namespace {

constexpr int kPollBatch = 16;
constexpr std::int64_t kLookInterval = kNsPerMs;  // between looks at TCP
constexpr std::int64_t kLingerNs =
    kNsPerMs;  // after the last flow: a peer may still repeat a request whose ACK was lost
constexpr std::size_t kAlign = 4'096;

std::string digest_of(const std::vector<Flow>& flows) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  const auto mix = [&hash](const std::string& s) {
    for (const char c : s + '\0') hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  };
  for (const Flow& f : flows)
    for (const std::string& s :
         {std::to_string(f.id), f.src, f.dst, std::string(to_string(f.op)), std::to_string(f.size),
          std::to_string(f.message_size), std::to_string(f.start_ps), std::to_string(f.qps),
          std::to_string(f.connect_ps), std::to_string(f.connection), std::to_string(f.after_count),
          f.dscp ? std::to_string(*f.dscp) : std::string(), std::to_string(f.rate_bps),
          std::to_string(f.on_ps), std::to_string(f.off_ps), std::to_string(f.stop_ps),
          std::to_string(f.settle_ns), std::string(to_string(f.service)), std::to_string(f.datagram)})
      mix(s);
  for (const Flow& f : flows)
    for (const After& after : f.after) mix(std::to_string(after.flow)), mix(std::to_string(after.delay_ns));
  return std::to_string(hash);
}

}  // namespace

// One piece of memory for all flows, so that one registration does.
struct Runner::Memory {
  explicit Memory(std::size_t bytes) : size(std::max(bytes, kAlign)) {
    void* p = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
      throw std::runtime_error("no memory for " + std::to_string(size) + " bytes of buffers");
    base = static_cast<std::byte*>(p);
  }
  ~Memory() { munmap(base, size); }
  std::byte* base = nullptr;
  std::size_t size;
};

Runner::Runner(const RunOptions& options, const std::vector<Flow>& flows, const std::vector<Host>& hosts)
    : options_(options), hosts_(participants(flows, hosts)), me_(host_index(options.me)) {
  make_transfers(flows);
  mesh_ = std::make_unique<Mesh>(hosts_, me_, options.port, options.setup_timeout_s, digest_of(flows));
}

Runner::~Runner() = default;

std::size_t Runner::host_index(const std::string& name) const {
  for (std::size_t i = 0; i < hosts_.size(); ++i)
    if (hosts_[i].name == name) return i;
  throw std::runtime_error("no flow begins or ends at '" + name + "'");
}

std::size_t Runner::peer_of(const Transfer& t) const {
  return host_index(t.is_source() ? t.flow().dst : t.flow().src);
}

void Runner::make_transfers(const std::vector<Flow>& flows) {
  const auto mine = [&](const Flow& f) { return f.src == options_.me || f.dst == options_.me; };
  options_.transfer.verify = options_.verify;
  const auto bytes_of = [&](const Flow& f) {
    return buffer_bytes({f, f.src == options_.me, 0, options_.transfer}, options_.verify);
  };
  const auto room = [&](const Flow& f) { return (bytes_of(f) + kAlign - 1) / kAlign * kAlign; };
  std::size_t total = 0;
  for (const Flow& f : flows)
    if (mine(f)) total += room(f);
  memory_ = std::make_unique<Memory>(total);
  std::size_t at = 0;
  for (const Flow& f : flows) {
    if (!mine(f)) continue;
    const bool is_source = f.src == options_.me;
    const std::uint64_t bytes = bytes_of(f);
    std::byte* buffer = memory_->base + at;
    if (is_source && options_.verify) fill_pattern(f.id, {buffer, bytes});
    transfers_.emplace_back(f, is_source, static_cast<std::uint32_t>(transfers_.size()), options_.transfer,
                            buffer, bytes);
    at += room(f);
  }
  for (Transfer& t : transfers_)
    if (const std::uint32_t number = t.flow().connection; number != 0)
      t.share(connections_.try_emplace(number, t.script().depth()).first->second, transfers_);
  if (transfers_.size() > TransferScript::kMaxSlots)
    throw std::runtime_error("too many flows for one process");
}

void Runner::open_device() {
  int entries = 0;
  for (const Transfer& t : transfers_)
    entries += TransferScript::cq_entries(t.own_lanes(), options_.transfer);
  rdma_ = std::make_unique<Rdma>(options_.device, options_.path, entries);
  rdma_->register_memory(memory_->base, memory_->size);
}

// Endpoints travel flow by flow in the order of ids, which both ends share.
void Runner::connect_qps() {
  std::vector<std::string> out(hosts_.size());
  for (Transfer& t : transfers_) {
    if (t.flow().connects_late()) continue;
    t.create_lanes(*rdma_);
    t.borrow_lanes();
    out[peer_of(t)] += t.local_endpoints();
  }
  const std::vector<std::string> in = mesh_->exchange(out);
  std::vector<std::size_t> used(hosts_.size());
  for (Transfer& t : transfers_) {
    if (t.flow().connects_late()) continue;
    const std::size_t peer = peer_of(t), size = t.endpoint_bytes();
    t.connect(*rdma_, in[peer].substr(std::min(used[peer], in[peer].size()), size));
    used[peer] += size;
  }
}

// The latest clock of all, and the delay. CLOCK_REALTIME is what hosts share; each carries the instant over
// to its own CLOCK_MONOTONIC.
void Runner::agree_on_epoch() {
  const std::int64_t mine = realtime_ns();
  const std::vector<std::string> all =
      mesh_->exchange(std::vector<std::string>(hosts_.size(), std::to_string(mine)));
  std::int64_t latest = mine;
  for (const std::string& clock : all) latest = std::max<std::int64_t>(latest, std::stoll(clock));
  epoch_date_ = latest + options_.epoch_delay_ns;
  epoch_ = epoch_date_ - realtime_ns() + monotonic_ns();
}

void Runner::run() {
  open_device();
  if (options_.exact_starts) timer_.emplace();
  connect_qps();
  agree_on_epoch();  // nobody goes on before everybody's QPs are ready
  for (std::uint32_t slot = 0; slot < transfers_.size(); ++slot) {
    Transfer& t = transfers_[slot];
    t.begin(epoch_);
    if (t.is_requester()) starts_.add(t.flow(), slot);
    unfinished_ += t.is_requester() || t.flow().op != Op::kRead;
    lifetimes_.add(t.flow(), slot);
    arm(slot);
  }
  starts_.begin();
  run_flows();
  leave();
  verify();
}

void Runner::run_flows() {
  while (unfinished_ > 0) {
    start_due();
    if (unfinished_ == 0) return;
    if (next_ns() != kNever) {
      wait_for_clock();
    } else if (poll() == 0) {
      look_at_peers();
    }
  }
}

void Runner::start_due() {
  for (;;) {
    const std::int64_t now = monotonic_ns();
    if (const auto step = lifetimes_.take(now - epoch_)) {
      live_on(*step);
    } else if (const std::optional<std::uint32_t> slot = starts_.take(now - epoch_)) {
      if (Transfer& t = transfers_[*slot]; !t.record().over()) t.start(now);
      arm(*slot);
    } else if (const std::optional<std::uint32_t> due = alarms_.take(now - epoch_)) {
      if (Transfer& t = transfers_[*due]; !t.record().over()) on_alarm(t, now);
      arm(*due);
    } else {
      return;
    }
  }
}

// A peer sends its endpoints before anybody's clock shows the flow's start.
void Runner::live_on(const Lifetimes::Due& due) {
  Transfer& t = transfers_[due.slot];
  switch (due.step) {
    case Lifetimes::Step::kCreate:
      t.create_lanes(*rdma_);
      return mesh_->tell_endpoints(peer_of(t), t.flow().id, t.local_endpoints());
    case Lifetimes::Step::kConnect:
      return t.connect(*rdma_, mesh_->await_endpoints(peer_of(t), t.flow().id));
    case Lifetimes::Step::kDestroy:
      return t.destroy_lanes();
  }
}

void Runner::arm(std::uint32_t slot) {
  const Transfer& t = transfers_[slot];
  if (t.flow().numbered()) alarms_.set(slot, t.record().over() ? kNever : t.script().next_alarm_ns());
}

void Runner::on_alarm(Transfer& t, std::int64_t now) {
  if (!t.script().time_is_up(now - epoch_)) return t.fill(now);
  t.stop();
  settle(t, false);
}

void Runner::ask_for_event() {
  if (ibv_req_notify_cq(rdma_->cq(), 0) != 0) throw std::runtime_error("ibv_req_notify_cq failed");
}

// Completions until the clock is waited for. Asking for an event before the last empty poll is what makes
// none go unnoticed.
void Runner::wait_for_clock() {
  const std::int64_t due = epoch_ + next_ns();
  if (unfinished_ == starts_.timed_left()) return sleep_until(due);  // nothing is under way
  ask_for_event();
  if (poll() > 0) return;
  if (due <= monotonic_ns()) return;
  if (completes_before(due)) {
    ibv_cq* cq = nullptr;
    void* context = nullptr;
    if (ibv_get_cq_event(rdma_->channel(), &cq, &context) == 0) ibv_ack_cq_events(cq, 1);
    ask_for_event();  // the one that came may be of a completion that was polled long ago
    poll();
  }
  look_at_peers();
}

// Waits until one of them. True: there is an event of the channel.
bool Runner::completes_before(std::int64_t due) {
  pollfd waited[] = {{.fd = rdma_->channel()->fd, .events = POLLIN, .revents = 0},
                     {.fd = -1, .events = POLLIN, .revents = 0}};
  if (timer_) {
    timer_->set(due);
    waited[1].fd = timer_->fd();
    return ppoll(waited, 2, nullptr, nullptr) > 0 && waited[0].revents != 0;
  }
  const std::int64_t left = due - monotonic_ns();
  const timespec timeout{.tv_sec = left / kNsPerSecond, .tv_nsec = left % kNsPerSecond};
  return ppoll(waited, 1, &timeout, nullptr) > 0;
}

int Runner::poll() {
  ibv_wc wc[kPollBatch];
  const int n = ibv_poll_cq(rdma_->cq(), kPollBatch, wc);
  if (n < 0) throw std::runtime_error("ibv_poll_cq failed");
  if (n > 0) handle(wc, n);
  return n;
}

void Runner::handle(const ibv_wc* wc, int count) {
  const std::int64_t now = monotonic_ns();
  for (int i = 0; i < count; ++i) {
    Transfer& t = transfers_.at(Transfer::slot_of(wc[i]));
    const bool was_over = t.record().over();
    t.on_completion(wc[i], now);
    settle(t, was_over);
    arm(Transfer::slot_of(wc[i]));
  }
}

// Counts a transfer that has just ended, lets go those that wait for it, and tells the other end if it went
// wrong.
void Runner::settle(Transfer& t, bool was_over) {
  if (was_over || !t.record().over()) return;
  if (t.is_requester() || t.flow().op != Op::kRead) --unfinished_;
  if (t.record().ok()) {
    starts_.ended(t.flow().id, (t.is_requester() ? *t.record().cqe : *t.record().placed) - epoch_);
    if (t.flow().destroys() && t.is_source()) t.destroy_lanes();
    if (t.flow().destroys() && !t.is_source())
      lifetimes_.destroy_at(t.script().slot(), *t.record().placed - epoch_ + t.flow().settle_ns);
    return;
  }
  if (t.record().timed_out()) return;
  mesh_->tell_failed(peer_of(t), t.flow().id, t.record().status);
  for (const std::uint32_t slot : starts_.failed(t.flow().id))
    failing_.emplace_back(slot, "waits for flow " + std::to_string(t.flow().id) + ", which failed");
  if (t.shared() != nullptr && t.fail_shared())
    for (const std::uint32_t slot : t.shared()->members()) failing_.emplace_back(slot, t.record().status);
  fail_others();
}

void Runner::fail(Transfer& t, const std::string& why) {
  failing_.emplace_back(t.script().slot(), why);
  fail_others();
}

// One takes others along, in chains that may be long.
void Runner::fail_others() {
  if (std::exchange(fails_others_, true)) return;
  for (; !failing_.empty(); failing_.pop_front()) {
    Transfer& t = transfers_[failing_.front().first];
    const bool was_over = t.record().over();
    t.fail(failing_.front().second);
    settle(t, was_over);
  }
  fails_others_ = false;
}

void Runner::look_at_peers() {
  const std::int64_t now = monotonic_ns();
  if (now - last_look_ < kLookInterval) return;
  last_look_ = now;
  mesh_->poll({.flow_failed =
                   [&](std::uint32_t id, const std::string& why) {
                     for (Transfer& t : transfers_)
                       if (t.flow().id == id) fail(t, "the peer's end failed: " + why);
                   },
               .gone =
                   [&](std::size_t host) {
                     // A requester learns it from its own QP; a responder would wait for ever.
                     for (Transfer& t : transfers_)
                       if (peer_of(t) == host && !t.is_requester()) fail(t, hosts_[host].name + " is gone");
                   }});
}

// Waits, by sleeping and looking, until every peer has finished: its requests may need our NIC.
void Runner::leave() {
  sleep_until(monotonic_ns() + kLingerNs);
  mesh_->tell_done();
  const std::int64_t give_up = monotonic_ns() + static_cast<std::int64_t>(options_.leave_timeout_s * 1e9);
  look_at_peers();
  while (!mesh_->waiting_for().empty() && monotonic_ns() < give_up) {
    sleep_until(monotonic_ns() + kLookInterval);
    look_at_peers();
  }
  missing_ = mesh_->waiting_for();
  for (Transfer& t : transfers_) {
    if (t.is_requester() || t.flow().op != Op::kRead) continue;
    if (std::find(missing_.begin(), missing_.end(), t.flow().dst) != missing_.end())
      t.fail(t.flow().dst + " does not finish");
    t.finish_passive();
  }
}

void Runner::verify() {
  if (!options_.verify) return;
  for (Transfer& t : transfers_)
    if (!t.is_source() && t.record().ok()) t.verify();
}

bool Runner::all_ok() const {
  return std::all_of(transfers_.begin(), transfers_.end(), [](const Transfer& t) {
    return t.record().over() && !t.record().failed() && t.record().verified.value_or(true);
  });
}

}  // namespace rocelab::app
