#include "ovs_patches/netdev/lossless.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/check.h"
#include "lockstep/coordinator.h"
#include "lockstep/segment.h"
#include "ovs_patches/netdev/fabric.h"
#include "ovs_patches/netdev/policy_command.h"
#include "ovs_patches/netdev/report.h"

using rocelab::Fabric;
using rocelab::PortEntry;
using rocelab::RunError;
using rocelab::Time;
using rocelab::lockstep::Segment;
using rocelab::lockstep::Step;
using rocelab::lockstep::Turn;

namespace {
// Steps in which nothing goes through the datapath are run on the spot; after this many the caller looks at
// its management traffic.
constexpr int kStepsPerTurn = 8;
// A datapath that is being reconfigured may drop what it gets. Time stands meanwhile, so that trying again
// changes nothing.
constexpr auto kDatapathPatience = std::chrono::milliseconds(300);
// Captures may be looked at while they are written: what is in them is at most this much older than what is
// not.
constexpr auto kFlushInterval = std::chrono::milliseconds(10);
}  // namespace

struct lossless_fabric {
  explicit lossless_fabric(const char* path)
      : segment(Segment::open(path)), coordinator(segment), fabric(segment, coordinator) {}

  // Serialises the polling thread with others that look at the models. A visitor gets in between two windows.
  template <class F>
  auto visit(F&& f) {
    visitors.fetch_add(1);
    const std::lock_guard guard(mutex);
    visitors.fetch_sub(1);
    return f(fabric);
  }
  // What the polling thread does; an error ends the run, not the process.
  template <class F>
  void work(F&& f) {
    if (failed) return;
    const std::lock_guard guard(mutex);
    try {
      f();
    } catch (const std::exception& e) {
      fail(e.what());
    }
  }
  void fail(const char* why) {
    if (failed) return;
    failed = true;
    error = why;
    coordinator.fail(error);
  }

  Segment segment;
  rocelab::lockstep::Coordinator coordinator;
  Fabric fabric;
  std::mutex mutex;
  std::atomic<int> visitors{0};
  bool pass_open = false;
  std::optional<std::chrono::steady_clock::time_point>
      missing_since;  // frames of this pass have not come out of the datapath
  std::chrono::steady_clock::time_point next_flush;
  std::atomic<bool> failed{false};
  std::string error;
  lossless_state last = LOSSLESS_IDLE;
};

namespace {

const PortEntry& port_entry(const lossless_fabric* f, size_t port) { return f->segment.ports()[port]; }

void say(char* to, size_t size, const std::string& text) { std::snprintf(to, size, "%s", text.c_str()); }

char* copy(const std::string& text) {
  char* result = static_cast<char*>(std::malloc(text.size() + 1));
  RL_CHECK(result != nullptr);
  std::memcpy(result, text.c_str(), text.size() + 1);
  return result;
}

void finish_pass(lossless_fabric* f) {
  const auto now = std::chrono::steady_clock::now();
  f->pass_open = !f->fabric.finish_pass(f->missing_since && now - *f->missing_since > kDatapathPatience);
  if (!f->pass_open)
    f->missing_since.reset();
  else if (!f->missing_since)
    f->missing_since = now;
}

// While others have something to do, or nobody has.
void flush_captures(lossless_fabric* f) {
  const auto now = std::chrono::steady_clock::now();
  if (now < f->next_flush) return;
  f->next_flush = now + kFlushInterval;
  const std::lock_guard guard(f->mutex);
  f->fabric.captures().flush();
}

std::uint32_t port_called(const lossless_fabric* f, const std::string& interface) {
  const auto ports = f->segment.ports();
  const auto found =
      std::ranges::find_if(ports, [&](const PortEntry& p) { return interface == p.interface; });
  if (found == ports.end()) throw std::runtime_error("no port of the run is called " + interface);
  return static_cast<std::uint32_t>(found - ports.begin());
}

// One step: what the datapath returned is worked off; then it is the switches' turn again, or the hosts'.
lossless_state run_step(lossless_fabric* f) {
  if (f->pass_open) f->work([&] { finish_pass(f); });
  if (f->failed) return LOSSLESS_IDLE;
  if (f->pass_open) return LOSSLESS_FRAMES;
  if (!f->coordinator.wait_ready(0)) return LOSSLESS_WAITING;
  Turn turn = Turn::kNobody;
  f->work([&] {
    f->fabric.collect();
    const Step step = f->coordinator.next_step(f->fabric.next_event());
    turn = step.turn;
    if (turn != Turn::kSwitches) return;
    f->fabric.begin_pass(step.end);
    f->pass_open = true;
  });
  if (f->failed || turn == Turn::kNobody) return LOSSLESS_IDLE;
  return turn == Turn::kHosts ? LOSSLESS_WAITING : LOSSLESS_FRAMES;
}

}  // namespace

lossless_fabric* lossless_attach(const char* segment, char* error, size_t error_size) {
  try {
    return new lossless_fabric(segment);
  } catch (const std::exception& e) {
    say(error, error_size, e.what());
    return nullptr;
  }
}

void lossless_free(lossless_fabric* f) { delete f; }

bool lossless_detach(lossless_fabric* f, char* error, size_t error_size) {
  std::string problem = f->error;
  try {
    if (f->pass_open && f->fabric.pending() == 0 && !f->failed) f->fabric.finish_pass(true);
    f->fabric.save();
  } catch (const std::exception& e) {
    if (problem.empty()) problem = e.what();
  }
  f->coordinator.stop();
  delete f;
  say(error, error_size, problem);
  return problem.empty();
}

size_t lossless_n_ports(const lossless_fabric* f) { return f->segment.ports().size(); }
const char* lossless_port_interface(const lossless_fabric* f, size_t port) {
  return port_entry(f, port).interface;
}
const char* lossless_port_switch(const lossless_fabric* f, size_t port) {
  return f->segment.switches()[port_entry(f, port).switch_index].name;
}
const char* lossless_port_peer(const lossless_fabric* f, size_t port) {
  const std::uint32_t peer = port_entry(f, port).peer_port;
  return peer == rocelab::kNoPeer ? nullptr : port_entry(f, peer).interface;
}

void lossless_set_ready_byte(lossless_fabric* f, size_t port, uint8_t* byte) {
  f->visit([&](Fabric& fabric) { fabric.set_ready_byte(static_cast<std::uint32_t>(port), byte); });
}

lossless_state lossless_turn(lossless_fabric* f) {
  for (int i = 0; i < kStepsPerTurn; ++i) {
    if (f->visitors.load(std::memory_order_relaxed) > 0) sched_yield();
    f->last = run_step(f);
    if (f->last != LOSSLESS_FRAMES || f->fabric.pending() > 0) return f->last;
  }
  return f->last = LOSSLESS_WAITING;
}

void lossless_wait(lossless_fabric* f, int64_t wall_ns) {
  flush_captures(f);
  if (f->last == LOSSLESS_WAITING && !f->failed)
    f->coordinator.wait_ready(wall_ns);
  else
    f->coordinator.wait_idle(wall_ns);
}

size_t lossless_pending(const lossless_fabric* f) { return f->failed ? 0 : f->fabric.pending(); }

size_t lossless_receive(lossless_fabric* f, size_t port, lossless_frame* frames, size_t max) {
  if (f->failed) return 0;
  size_t n = 0;
  for (Fabric::Handed h; n < max && f->fabric.receive(static_cast<std::uint32_t>(port), h); ++n)
    frames[n] = {h.bytes.data(), h.slot, h.hash, h.length, static_cast<uint16_t>(h.bytes.size())};
  return n;
}

void lossless_forwarded(lossless_fabric* f, uint32_t slot, size_t port, const void* data, size_t length) {
  if (f->failed) return;
  try {
    f->fabric.on_forwarded(slot, static_cast<std::uint32_t>(port),
                           {static_cast<const std::byte*>(data), length});
  } catch (const std::exception& e) {
    f->fail(e.what());
  }
}

void lossless_fail(lossless_fabric* f, const char* why) {
  f->work([&] { throw RunError(why); });
}

void lossless_get_stats(lossless_fabric* f, size_t port, lossless_port_stats* stats) {
  const auto index = static_cast<std::uint32_t>(port);
  const rocelab::SwitchPortCounters c = f->visit([&](Fabric& fabric) { return fabric.counters(index); });
  const rocelab::PortResult& r = f->fabric.segment().port_results()[port];
  // Received and refused; all else had its output, and is a drop of the port that it did not leave by.
  const std::uint64_t refused =
      c.drops_input_buffer + c.drops_headroom + c.drops_oversize + c.drops_no_route + c.drops_forged;
  *stats = {c.rx_frames,
            c.rx_bytes,
            c.tx_frames,
            c.tx_bytes,
            refused + r.link_in.malformed_frames,
            c.drops - refused + r.link_out.undeliverable_frames};
}

size_t lossless_n_counters(void) { return rocelab::switch_port_counters(); }
const char* lossless_counter_name(size_t counter) { return rocelab::switch_port_counter_name(counter); }

void lossless_get_counters(lossless_fabric* f, size_t port, uint64_t* values) {
  const auto index = static_cast<std::uint32_t>(port);
  const auto all = rocelab::values_of(f->visit([&](Fabric& fabric) { return fabric.counters(index); }));
  std::copy_n(all.begin(), rocelab::switch_port_counters(), values);
}

char* lossless_show(lossless_fabric* f, const char* name) {
  const std::string text =
      f->visit([&](Fabric& fabric) { return rocelab::show(fabric, name != nullptr ? name : ""); });
  return text.empty() ? nullptr : copy(text);
}

char* lossless_counters_json(lossless_fabric* f) {
  return copy(f->visit([](Fabric& fabric) { return rocelab::counters_json(fabric); }));
}

void lossless_flush(lossless_fabric* f) {
  f->visit([](Fabric& fabric) { fabric.flush_events(); });
}

bool lossless_capture(lossless_fabric* f, const char* file, const char* const interfaces[], size_t n,
                      char* error, size_t error_size) {
  try {
    std::vector<std::uint32_t> ports;
    for (size_t i = 0; i < n; ++i) ports.push_back(port_called(f, interfaces[i]));
    f->visit([&](Fabric& fabric) {
      fabric.captures().start(file, ports, rocelab::SwitchCapture::Owner::kLockHolder);
    });
    return true;
  } catch (const std::exception& e) {
    say(error, error_size, e.what());
    return false;
  }
}

bool lossless_capture_stop(lossless_fabric* f, const char* file, char* error, size_t error_size) {
  const std::string problem = f->visit([&](Fabric& fabric) { return fabric.captures().stop(file); });
  say(error, error_size, problem);
  return problem.empty();
}

char* lossless_openqueue(lossless_fabric* f, const char* const words[], size_t n, bool* ok) {
  *ok = true;
  try {
    const std::vector<std::string> all(words, words + n);
    if (n > 0 && all[0] == "load") {
      rocelab::PolicyLoad load = rocelab::read_load(f->segment, std::span(all).subspan(1));
      return copy(f->visit([&](Fabric& fabric) { return carry_out(fabric, std::move(load)); }));
    }
    if (n > 0 && n <= 2 && all[0] == "show")
      return copy(f->visit([&](Fabric& fabric) { return show_policies(fabric, n == 2 ? all[1] : ""); }));
    throw std::runtime_error("write load SWITCH|all FILE|builtin ..., or show [SWITCH]");
  } catch (const std::exception& e) {
    *ok = false;
    return copy(e.what());
  }
}
