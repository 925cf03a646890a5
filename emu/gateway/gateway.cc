#include "emu/gateway/gateway.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>
#include <stdexcept>

#include "base/check.h"
#include "base/wire/pfc.h"
#include "base/wire/shim.h"
#include "emu/gateway/frame_kind.h"
#include "irn_provider/nic/between_switches.h"
#include "lockstep/futex.h"
#include "lockstep/proc_state.h"
#include "lockstep/wall_clock.h"

namespace rocelab {

using lockstep::FrameDescriptor;
using lockstep::RunState;
using lockstep::Segment;

namespace {

constexpr std::int64_t kLookAroundNs = 200'000'000;  // without a window: does the run go on?
constexpr int kFramesAtOnce = 64;                    // read from a device before the other one's turn
constexpr std::size_t kLargestFrame = 65536 + 64;    // of management traffic

const HostEntry& find(const Segment& segment, const std::string& name) {
  const HostEntry* host = segment.find_host(name);
  if (host == nullptr) throw std::runtime_error("the run has no host '" + name + "'");
  if (segment.header().dilation <= 0)
    throw std::runtime_error("a foreign device needs the wall clock: start the topology with --clock wall");
  return *host;
}

std::uint32_t claim(const Segment& segment, const HostEntry& host) {
  const auto index = static_cast<std::uint32_t>(&host - segment.hosts().data());
  const std::uint32_t vf = lockstep::claim_for_gateway(segment, index);
  if (vf == lockstep::kNoSlot)
    throw std::runtime_error(std::string(host.name) +
                             ": programs run on the host, or a device is plugged in already; end them first");
  return vf;
}

}  // namespace

std::int64_t late_limit_ns(Duration base_rtt, double dilation) {
  return std::llround(0.05 * static_cast<double>(base_rtt.ps()) / 1e3 * dilation);
}

Gateway::Gateway(const Segment& segment, const std::string& host, Duration base_rtt, Interface& device,
                 Interface& management)
    : segment_(segment),
      host_(find(segment, host)),
      vf_(claim(segment, host_)),
      slot_(segment.vfs()[vf_]),
      device_(device),
      management_(management),
      buffer_(kLargestFrame),
      tx_(segment.tx(vf_)),
      rx_(segment.rx(vf_)),
      returns_(segment.returns(vf_)),
      frames_(segment, vf_),
      port_(host_.nic.link_rate, host_.nic.link_delay, counters_),
      seq_(slot_.grant_seq.load()),
      slips_before_(segment.header().wall_slips.load()) {
  report_.late_limit_ns = late_limit_ns(base_rtt, segment.header().dilation);
  settle();
  windows_ = std::thread([this] { windows(); });
}

Gateway::~Gateway() {
  leaving_ = true;
  lockstep::futex_wake_all(slot_.grant_seq);
  windows_.join();
  const std::lock_guard guard(mutex_);
  if (slot_.grant_seq.load() != seq_) run_window();
  slot_.result.counters = counters_;
  slot_.promise_ps.store(Time::never().ps());
  slot_.state.store(lockstep::VfState::kLeft);
  lockstep::announce(segment_.header());
}

bool Gateway::run(int stop) {
  std::array<pollfd, 3> fds{{{stop, POLLIN, 0}, {device_.fd(), POLLIN, 0}, {management_.fd(), POLLIN, 0}}};
  std::int64_t looked_ns = lockstep::monotonic_ns();
  while (run_goes_on()) {
    const int ready = poll(fds.data(), fds.size(), kLookAroundNs / 1'000'000);
    if (const std::int64_t now_ns = lockstep::monotonic_ns(); now_ns - looked_ns >= kLookAroundNs) {
      looked_ns = now_ns;
      if (lockstep::process_ended(segment_.header().coordinator_pid.load()))
        throw std::runtime_error("the switch process (ovs-vswitchd) is gone");
    }
    if (ready < 0) continue;
    if (fds[0].revents != 0) return true;
    if (fds[1].revents != 0) read_device();
    if (fds[2].revents != 0) read_management();
  }
  return false;
}

bool Gateway::run_goes_on() const {
  const RunState state = segment_.header().state.load();
  return state == RunState::kSetup || state == RunState::kRunning;
}

GatewayReport Gateway::report() {
  const std::lock_guard guard(mutex_);
  report_.unread = device_.dropped() + management_.dropped();
  report_.slips = segment_.header().wall_slips.load() - slips_before_;
  return report_;
}

bool GatewayReport::ok() const {
  return violations * 1000 <= to_device && late.percentile_ns(0.999) <= late_limit_ns &&
         overruns + refused + unread + slips == 0;
}

std::string GatewayReport::to_json() const {
  std::ostringstream o;
  o << "{\"verdict\": \"" << (ok() ? "ok" : "degraded") << "\", \"from_device\": " << from_device
    << ", \"to_device\": " << to_device << ", \"management_in\": " << management_in
    << ", \"management_out\": " << management_out << ", \"malformed\": " << malformed
    << ", \"overruns\": " << overruns << ", \"refused\": " << refused << ", \"socket_drops\": " << unread
    << ", \"slips\": " << slips << ", \"violations\": " << violations
    << ", \"late_p50_ns\": " << late.percentile_ns(0.5) << ", \"late_p99_ns\": " << late.percentile_ns(0.99)
    << ", \"late_p999_ns\": " << late.percentile_ns(0.999) << ", \"late_max_ns\": " << late.max_ns()
    << ", \"late_limit_ns\": " << late_limit_ns << "}";
  return o.str();
}

// --- the reading thread

void Gateway::read_device() {
  for (int n = 0; n < kFramesAtOnce; ++n) {
    const auto length = device_.read(buffer_);
    if (!length) return;
    const auto frame = std::span<const std::byte>(buffer_).first(*length);
    const ForeignFrameView view = look_at_foreign(frame, host_.nic);
    const std::lock_guard guard(mutex_);
    if (view.kind == ForeignFrame::kRoce)
      take(frame, view.tc);
    else if (view.kind == ForeignFrame::kBroken)
      ++report_.malformed;
    else if (management_.write(frame))
      ++report_.management_in;
  }
}

void Gateway::read_management() {
  for (int n = 0; n < kFramesAtOnce; ++n) {
    const auto length = management_.read(buffer_);
    if (!length) return;
    const bool taken = device_.write(std::span<const std::byte>(buffer_).first(*length));
    const std::lock_guard guard(mutex_);
    ++(taken ? report_.management_out : report_.refused);
  }
}

// Time stands from `hold` on; what it shows then is what the frame cannot be earlier than.
void Gateway::take(std::span<const std::byte> frame, std::uint8_t tc) {
  const std::size_t length = std::max(frame.size(), static_cast<std::size_t>(kMinFrameBytes.count()));
  if (length > segment_.header().frame_stride) {
    ++report_.malformed;
    return;
  }
  const auto index = frames_.take();
  if (!index) {
    ++report_.overruns;
    return;
  }
  const std::span<std::byte> bytes = segment_.frame(*index);
  std::ranges::copy(frame, bytes.begin());
  std::ranges::fill(bytes.subspan(frame.size(), length - frame.size()), std::byte{});
  slot_.hold.store(1);
  lockstep::announce(segment_.header());
  const lockstep::Header& header = segment_.header();
  const Time ready = std::max(Time::from_ps(header.committed_ps.load()), lockstep::wall_time(header));
  port_.push(*index, static_cast<std::uint16_t>(length), Tc{tc}, ready);
  settle();
}

// Says what comes next and lets time pass.
void Gateway::settle() {
  slot_.promise_ps.store(next_event().ps());
  slot_.excluded.store(0);
  if (slot_.hold.exchange(0) != 0) lockstep::announce(segment_.header());
}

Time Gateway::next_event() {
  const FrameDescriptor* head = rx_.front();
  return std::min(port_.next_departure(), head != nullptr ? Time::from_ps(head->due_ps) : Time::never());
}

// --- the thread of the windows

void Gateway::windows() {
  while (!leaving_ && run_goes_on()) {
    for (lockstep::Patience patience; slot_.grant_seq.load() == seq_ && patience.yield();) {
    }
    if (slot_.grant_seq.load() == seq_) {
      lockstep::futex_wait(slot_.grant_seq, seq_, kLookAroundNs);
      continue;
    }
    const std::lock_guard guard(mutex_);
    run_window();
  }
}

// Arrivals and departures before the window's end, in the order of their times; arrivals first.
void Gateway::run_window() {
  seq_ = slot_.grant_seq.load();
  const Time limit = Time::from_ps(slot_.grant_ps.load());
  for (const FrameDescriptor* d = rx_.front(); d != nullptr && d->due_ps < limit.ps(); d = rx_.front()) {
    const FrameDescriptor descriptor = *d;
    rx_.pop();
    send_until(Time::from_ps(descriptor.due_ps));
    arrive(descriptor);
  }
  send_until(limit);
  slot_.result.counters = counters_;
  slot_.promise_ps.store(next_event().ps());
  lockstep::finish_window(segment_, vf_, seq_);
  if (slot_.excluded.load() != 0) settle();  // time has gone on without this process, which was stopped
}

void Gateway::send_until(Time limit) {
  while (const auto departure = port_.depart(limit)) {
    RL_CHECK(tx_.push({.due_ps = departure->due.ps(),
                       .frame = departure->frame,
                       .length = departure->length,
                       .kind = static_cast<std::uint8_t>(PacketKind::kOther)}));  // the switch looks itself
    ++report_.from_device;
    ++counters_.tx_packets;
    counters_.tx_bytes += departure->length;
  }
}

void Gateway::arrive(const FrameDescriptor& d) {
  const std::span<std::byte> bytes = segment_.frame(d.frame).first(d.length);
  const Time due = Time::from_ps(d.due_ps);
  if (const auto pfc = PfcFrame::parse(bytes))
    port_.on_pfc(*pfc, due);
  else if (const auto kind = static_cast<PacketKind>(d.kind); is_from_switches(kind) && !is_feedback(kind))
    count_between_switches(counters_, kind);
  else
    hand_over(bytes, due);
  RL_CHECK(returns_.push(d.frame));
}

void Gateway::hand_over(std::span<std::byte> bytes, Time due) {
  const std::size_t length = remove_shim(bytes).value_or(bytes.size());  // a foreign device knows no shim
  ++(device_.write(bytes.first(length)) ? report_.to_device : report_.refused);
  ++counters_.rx_packets;
  counters_.rx_bytes += length;
  const lockstep::Header& header = segment_.header();
  const std::int64_t late = lockstep::monotonic_ns() - lockstep::wall_ns_of(header, due);
  const Bytes frame = Bytes::from_count(static_cast<std::int64_t>(bytes.size()));
  const Duration hidden = wire_time(frame, host_.nic.link_rate) + host_.nic.link_delay;
  report_.late.add(late);
  if (static_cast<double>(late) > static_cast<double>(hidden / 1_ns) * header.dilation) ++report_.violations;
}

}  // namespace rocelab
