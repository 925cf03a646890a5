#include "irn_provider/verbs/test_fabric.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/check.h"
#include "base/wire/cm/mad.h"
#include "base/wire/multicast.h"
#include "emu/world/host_identity.h"
#include "emu/world/test_worlds.h"

namespace rocelab::verbs {

using lockstep::Segment;
using lockstep::SegmentPlan;

namespace {

constexpr std::uint32_t kFramesPerVf = 8'192;
constexpr std::size_t kPortFrames = kFramesPerVf / 2;

SegmentPlan plan_of(std::size_t hosts, std::uint32_t programs, const NicConfig& nic) {
  SegmentPlan plan;
  plan.run_id = "fabric";
  plan.world = star(static_cast<std::uint32_t>(hosts), nic);
  for (HostEntry& host : plan.world.hosts) host.ipv6 = ipv6_of(host.ipv4);
  plan.vfs_per_host = 8;  // of ended programs none is used again, and probes fork
  plan.frames_per_vf = kFramesPerVf;
  plan.max_frame_bytes = nic.active_mtu + 128;
  plan.expected_participants = programs;
  return plan;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& s : strings) result.push_back(s.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace

int TestFabric::Program::exit_code() const { return WIFEXITED(status) ? WEXITSTATUS(status) : -1; }

std::string TestFabric::Program::output() const {
  std::ostringstream text;
  text << std::ifstream(output_file).rdbuf();
  return text.str();
}

TestFabric::TestFabric(std::size_t hosts, std::uint32_t programs, const NicConfig& nic,
                       std::vector<LinkChangeEntry> link_changes)
    : nic_(nic), queues_(hosts), port_free_(hosts) {
  std::string name = (std::filesystem::temp_directory_path() / "rocelab-fabric-XXXXXX").string();
  RL_CHECK(mkdtemp(name.data()) != nullptr);
  folder_ = name;
  SegmentPlan plan = plan_of(hosts, programs, nic);
  plan.world.link_changes = std::move(link_changes);
  segment_ = std::make_unique<Segment>(Segment::create(folder_ / "segment", plan));
  // What is tested must not depend on how loaded the machine is.
  segment_->header().grace_wall_ns = 2'000'000'000;
  coordinator_ = std::make_unique<lockstep::Coordinator>(*segment_);
  for (std::uint32_t vf = 0; vf < segment_->vfs().size(); ++vf) {
    tx_.push_back(segment_->tx(vf));
    rx_.push_back(segment_->rx(vf));
    returns_.push_back(segment_->returns(vf));
    refill_.push_back(segment_->refill(vf));
  }
  const auto range = static_cast<std::uint32_t>(segment_->vfs().size());
  for (std::uint32_t i = 0; i < kFramesPerVf; ++i) own_frames_.push_back(segment_->first_frame(range) + i);
}

TestFabric::~TestFabric() {
  for (Program& p : programs_) {
    if (p.status != -1) continue;
    kill(-p.pid, SIGKILL);
    waitpid(p.pid, &p.status, 0);
  }
  std::filesystem::remove_all(folder_);
}

std::size_t TestFabric::start(std::size_t host, const std::vector<std::string>& command,
                              const std::vector<std::string>& settings) {
  Program program;
  program.output_file = folder_ / ("program-" + std::to_string(programs_.size()));
  program.pid = fork();
  if (program.pid == 0) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // a key that ends the test ends its own group alone
    const int out = open(program.output_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    setenv("ROCELAB_SEGMENT", (folder_ / "segment").c_str(), 1);
    setenv("ROCELAB_HOST", segment_->hosts()[host].name, 1);
    setenv("ROCELAB_DEBUG", "1", 1);
    setenv("LD_PRELOAD", ROCELAB_PRELOAD, 1);
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);  // the programs' leaks are their own
    // A trap of the time stamp counter is a signal, but one that comes where the program's code reads it.
    setenv("TSAN_OPTIONS", "report_signal_unsafe=0", 1);
    std::vector<std::string> own_settings = settings, own_command = command;
    for (std::string& s : own_settings) putenv(s.data());
    execvp(own_command[0].c_str(), pointers(own_command).data());
    std::fprintf(stderr, "cannot run %s\n", own_command[0].c_str());
    _exit(127);
  }
  setpgid(program.pid, program.pid);  // here, too: whoever comes first
  programs_.push_back(program);
  return programs_.size() - 1;
}

void TestFabric::collect() {
  const std::uint32_t per_host = segment_->header().vfs_per_host;
  for (auto& ring : tx_) {
    for (; ring.front() != nullptr; ring.pop()) {
      const lockstep::FrameDescriptor& d = *ring.front();
      const auto parsed = parse_frame(segment_->frame(d.frame).first(d.length));
      RL_CHECK(parsed.has_value());
      const auto hosts = segment_->hosts();
      if (is_multicast(parsed->address.dst_gid)) {  // to every host, back to the sender's, too
        for (std::uint32_t host = 0; host < hosts.size(); ++host) {
          lockstep::FrameDescriptor copy = d;
          copy.frame = copy_of(d.frame);
          in_flight_.push_back({copy, host * per_host, &lockstep::VfSlot::groups, Time::never()});
        }
        drop(d);
        continue;
      }
      const auto to = std::find_if(hosts.begin(), hosts.end(),
                                   [&](const auto& h) { return h.mac == parsed->address.dst_mac; });
      RL_CHECK(to != hosts.end());
      const auto host = static_cast<std::uint32_t>(to - hosts.begin());
      const bool gsi = parsed->roce.dest == kGsiQpn;
      const std::uint32_t vf = gsi ? 0 : vf_of_qpn(parsed->roce.dest.value);
      if (vf >= per_host) {  // of no program that there could be
        drop(d);
        continue;
      }
      in_flight_.push_back({d, host * per_host + vf, gsi ? &lockstep::VfSlot::cm : nullptr, Time::never()});
    }
  }
  std::stable_sort(in_flight_.begin(), in_flight_.end(),
                   [](const InFlight& a, const InFlight& b) { return a.frame.due_ps < b.frame.due_ps; });
}

// Only what is due before the end of the switches' turn is all there.
void TestFabric::enqueue(Time before) {
  std::size_t n = 0;
  for (; n < in_flight_.size() && Time::from_ps(in_flight_[n].frame.due_ps) < before; ++n) {
    InFlight f = in_flight_[n];
    const std::size_t port = f.to_vf / segment_->header().vfs_per_host;
    if (queues_[port].size() >= kPortFrames) {
      drop(f.frame);
      continue;
    }
    f.departure = std::max(port_free_[port], Time::from_ps(f.frame.due_ps));
    port_free_[port] = f.departure + wire_time(Bytes::from_count(f.frame.length), nic_.link_rate);
    f.frame.due_ps = (port_free_[port] + nic_.link_delay).ps();
    queues_[port].push_back(f);
  }
  in_flight_.erase(in_flight_.begin(), in_flight_.begin() + static_cast<std::ptrdiff_t>(n));
}

void TestFabric::transmit(Time before) {
  for (auto& queue : queues_) {
    for (; !queue.empty() && queue.front().departure < before; queue.pop_front()) {
      if (queue.front().takers != nullptr)
        transmit_to_takers(queue.front());
      else
        transmit(queue.front().frame, queue.front().to_vf);
    }
  }
}

void TestFabric::transmit(const lockstep::FrameDescriptor& frame, std::size_t vf) {
  const auto state = segment_->vfs()[vf].state.load();
  if (state == lockstep::VfState::kLeft || state == lockstep::VfState::kDead) return drop(frame);
  RL_CHECK(rx_[vf].push(frame));
  coordinator_->note_input(static_cast<std::uint32_t>(vf), Time::from_ps(frame.due_ps));
}

std::uint32_t TestFabric::copy_of(std::uint32_t frame) {
  RL_CHECK(!own_frames_.empty());
  const std::uint32_t copy = own_frames_.back();
  own_frames_.pop_back();
  std::ranges::copy(segment_->frame(frame), segment_->frame(copy).begin());
  return copy;
}

// A copy for each VF of the host that takes such datagrams, as the lossless port does.
void TestFabric::transmit_to_takers(const InFlight& f) {
  const std::size_t per_host = segment_->header().vfs_per_host, first = f.to_vf / per_host * per_host;
  for (std::size_t vf = first; vf < first + per_host; ++vf) {
    if ((segment_->vfs()[vf].*f.takers).load() == 0) continue;
    lockstep::FrameDescriptor copy = f.frame;
    copy.frame = copy_of(f.frame.frame);
    transmit(copy, vf);
  }
  drop(f.frame);
}

void TestFabric::drop(const lockstep::FrameDescriptor& frame) { go_home(frame.frame); }

void TestFabric::go_home(std::uint32_t frame) {
  const std::uint32_t owner = segment_->owner_of(frame);
  if (owner == refill_.size())
    own_frames_.push_back(frame);
  else
    RL_CHECK(refill_[owner].push(frame));
}

Time TestFabric::next_event() const {
  Time next = in_flight_.empty() ? Time::never() : Time::from_ps(in_flight_.front().frame.due_ps);
  for (const auto& queue : queues_)
    if (!queue.empty()) next = std::min(next, queue.front().departure);
  return next;
}

void TestFabric::recycle() {
  for (auto& ring : returns_)
    for (; ring.front() != nullptr; ring.pop()) go_home(*ring.front());
}

void TestFabric::drive_once() {
  coordinator_->take_ended();  // no slot is used twice in a test
  if (!coordinator_->wait_ready(1'000'000)) return;
  collect();
  recycle();
  const auto [turn, end] = coordinator_->next_step(next_event());
  if (turn == lockstep::Turn::kNobody) coordinator_->wait_idle(1'000'000);
  if (turn != lockstep::Turn::kSwitches) return;
  enqueue(end);
  transmit(end);
}

bool TestFabric::reap() {
  bool all = true;
  for (Program& p : programs_) {
    if (p.status == -1 && waitpid(p.pid, &p.status, WNOHANG) == 0) p.status = -1;
    all &= p.status != -1;
  }
  return all;
}

bool TestFabric::run(std::chrono::seconds wall) {
  const auto give_up = std::chrono::steady_clock::now() + wall;
  for (int i = 0; std::chrono::steady_clock::now() < give_up; ++i) {
    drive_once();
    if (i % 64 == 0 && reap()) return true;
  }
  return reap();
}

bool TestFabric::run_until_end_of(std::size_t index, std::chrono::seconds wall) {
  const auto give_up = std::chrono::steady_clock::now() + wall;
  while (programs_[index].status == -1 && std::chrono::steady_clock::now() < give_up) {
    drive_once();
    reap();
  }
  for (const Program& p : programs_)
    if (p.status == -1) kill(-p.pid, SIGTERM);
  const bool ended = run(std::chrono::seconds(10));
  for (const Program& p : programs_) kill(-p.pid, SIGKILL);  // children that have outlived them
  return ended;
}

}  // namespace rocelab::verbs
