#include "lockstep/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>

#include "base/check.h"
#include "lockstep/futex.h"

namespace rocelab::lockstep {
namespace {

constexpr std::int64_t kMostOnALink = 1 << 24;  // small frames

constexpr std::uint64_t align(std::uint64_t n, std::uint64_t to) { return (n + to - 1) / to * to; }

enum RingIndex : std::uint32_t { kTx, kRx, kReturns, kRefill };

// Bytes of one VF's four rings: two of descriptors, then returns (as long as rx) and refill (every frame may
// come home at once).
std::uint64_t ring_bytes(const Header& h) {
  return 2ull * h.ring_capacity * sizeof(FrameDescriptor) +
         (std::uint64_t{h.ring_capacity} + h.frames_per_vf) * sizeof(std::uint32_t);
}

void lay_out(Header& h) {
  const std::uint64_t vfs = std::uint64_t{h.hosts} * h.vfs_per_host;
  h.host_offset = align(sizeof(Header), 4096);
  h.host_port_offset = align(h.host_offset + h.hosts * sizeof(HostEntry), 128);
  h.switch_offset = h.host_port_offset + h.hosts * sizeof(HostPort);
  h.port_offset = align(h.switch_offset + h.switches * sizeof(SwitchEntry), 128);
  h.link_change_offset = h.port_offset + h.ports * sizeof(PortEntry);
  h.policy_offset = h.link_change_offset + h.link_changes * sizeof(LinkChangeEntry);
  h.port_result_offset = align(h.policy_offset + h.policy_bytes, 128);
  h.vf_offset = align(h.port_result_offset + h.ports * sizeof(PortResult), 128);
  h.rings_offset = align(h.vf_offset + vfs * sizeof(VfSlot), 4096);
  h.frames_offset = align(h.rings_offset + vfs * ring_bytes(h), 4096);
  h.service_port_offset =
      align(h.frames_offset + (vfs + 1) * h.frames_per_vf * std::uint64_t{h.frame_stride}, 4096);
  h.total_bytes = h.service_port_offset + std::uint64_t{h.hosts} * kServicePorts * sizeof(std::uint64_t);
}

// Room for what can be on one link at once: a delay and two windows of the smallest frames, in both
// directions of rounding.
std::uint32_t ring_capacity(const SegmentPlan& plan, Duration lookahead) {
  std::int64_t most = 64;
  for (const PortEntry& p : plan.world.ports)
    most = std::max(most, (p.config.delay + 4 * lookahead) / wire_time(kMinFrameBytes, p.config.rate) + 2);
  if (most > kMostOnALink)
    throw std::runtime_error("a link with room for " + std::to_string(most) +
                             " small frames at once, at most " + std::to_string(kMostOnALink) +
                             " are possible: give it a shorter delay or a lower rate");
  return static_cast<std::uint32_t>(std::bit_ceil(static_cast<std::uint64_t>(2 * most)));
}

// Frames are named by 32 bits, of which all ones name none.
void check_frames(const Header& h) {
  const std::uint64_t ranges = std::uint64_t{h.hosts} * h.vfs_per_host + 1;
  if (ranges * h.frames_per_vf > std::uint64_t{1} << 31)
    throw std::runtime_error("engine.frames_per_vf = " + std::to_string(h.frames_per_vf) +
                             " is too many for " + std::to_string(ranges - 1) +
                             " virtual functions, which may have 2^31 together");
}

template <std::size_t N>
void copy_text(char (&to)[N], const std::string& from, const char* what) {
  if (from.size() >= N)
    throw std::runtime_error(std::string(what) + " '" + from + "' is longer than " + std::to_string(N - 1) +
                             " bytes");
  std::memcpy(to, from.c_str(), from.size() + 1);
}

// The pages of the tables, which every process writes: one for which there is no memory would be a bus error
// later. Rings and frames are holes of the file, unless the plan says otherwise: of the frames a VF uses few
// again and again, and all of them would often be more than the machine has.
bool reserve(int fd, const Header& h, bool all) {
  int error = EINTR;
  while (error == EINTR)
    error = posix_fallocate(fd, 0, static_cast<off_t>(all ? h.total_bytes : h.rings_offset));
  errno = error;
  return error == 0;
}

std::string megabytes(std::uint64_t bytes) { return std::to_string(bytes / 1'000'000 + 1) + " MB"; }

std::byte* map(int fd, std::uint64_t size) {
  void* base = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return base == MAP_FAILED ? nullptr : static_cast<std::byte*>(base);
}

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& why) {
  throw std::runtime_error(path.string() + ": " + why);
}

// Under the wall clock time does not wait for a thread that waits for the outside: foreign peers go on.
constexpr std::int64_t kWallGraceNs = 1'000'000;
// A completion ends an empty poll in any case. A short interval makes windows that a machine cannot run as
// fast as its clock goes.
constexpr Duration kWallPollInterval = 1_ms;

}  // namespace

// Programs and switch must have been built from the same declarations: sizes, and the text of the headers
// that hold them (CMakeLists.txt), so that a field which moves inside a struct is noticed too.
std::uint64_t layout_hash() {
  std::uint64_t hash = ROCELAB_LAYOUT_TEXT_HASH;
  for (const std::uint64_t size :
       {sizeof(Header), sizeof(HostEntry), sizeof(SwitchEntry), sizeof(PortEntry), sizeof(LinkChangeEntry),
        sizeof(PortResult), sizeof(VfSlot), sizeof(HostPort), sizeof(FrameDescriptor), sizeof(NicConfig),
        sizeof(SwitchConfig), sizeof(PortConfig)})
    hash = (hash ^ size) * 0x100000001b3;
  return hash;
}

std::string cannot_map(std::uint64_t bytes, int error) {
  const std::string what = "cannot map " + megabytes(bytes) + " of shared memory: " + std::strerror(error);
  rlimit limit{};
  if (error != ENOMEM || getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return what;
  return what + "; this process may have " + megabytes(limit.rlim_cur) +
         " of address space: raise the limit (ulimit -v)";
}

Segment::Segment(std::byte* base, std::size_t size)
    : base_(base), size_(size), header_(reinterpret_cast<Header*>(base)) {}

Segment::Segment(Segment&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)), size_(other.size_), header_(other.header_) {}

Segment::~Segment() {
  if (base_ != nullptr) munmap(base_, size_);
}

Segment Segment::create(const std::filesystem::path& path, const SegmentPlan& plan) {
  if (plan.vfs_per_host < 1 || plan.vfs_per_host > kMaxVfsPerHost)
    throw std::runtime_error("a host has 1 to " + std::to_string(kMaxVfsPerHost) + " virtual functions");
  Header h;
  h.layout_hash = layout_hash();
  copy_text(h.run_id, plan.run_id, "run id");
  copy_text(h.trace_dir, plan.trace_dir, "trace folder");
  copy_text(h.pcap_dir, plan.pcap_dir, "pcap folder");
  copy_text(h.schedule, plan.schedule, "path of a recorded schedule");
  copy_text(h.schedule_key, plan.schedule_key, "key of a recorded schedule");
  h.seed = plan.world.seed;
  const Duration lookahead = lookahead_of(plan.world.view());
  h.lookahead_ps = lookahead.ps();
  h.poll_interval_ps = plan.poll_interval.ps();
  h.sample_interval_ps = plan.sample_interval.ps();
  h.pace = plan.pace;
  h.dilation = plan.dilation;
  if (plan.dilation > 0) {
    h.grace_wall_ns = h.stopped_wall_ns = kWallGraceNs;
    h.poll_interval_ps = std::max(h.poll_interval_ps, kWallPollInterval.ps());
  }
  h.expected_participants = plan.expected_participants;
  h.hosts = static_cast<std::uint32_t>(plan.world.hosts.size());
  h.vfs_per_host = plan.vfs_per_host;
  h.switches = static_cast<std::uint32_t>(plan.world.switches.size());
  h.ports = static_cast<std::uint32_t>(plan.world.ports.size());
  h.link_changes = static_cast<std::uint32_t>(plan.world.link_changes.size());
  h.policy_bytes = static_cast<std::uint32_t>(plan.world.policies.size());
  h.ring_capacity = ring_capacity(plan, lookahead);
  h.frames_per_vf = std::bit_ceil(plan.frames_per_vf);
  h.frame_stride = static_cast<std::uint32_t>(align(plan.max_frame_bytes, 64));
  check_frames(h);
  lay_out(h);

  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) fail(path, std::string("cannot create the run's shared memory: ") + std::strerror(errno));
  const bool made = ftruncate(fd, static_cast<off_t>(h.total_bytes)) == 0 && reserve(fd, h, plan.reserve);
  std::byte* base = made ? map(fd, h.total_bytes) : nullptr;
  const int error = errno;
  close(fd);
  if (base == nullptr) {
    unlink(path.c_str());
    fail(path, made ? cannot_map(h.total_bytes, error)
                    : "no room for " + megabytes(h.total_bytes) + ": " + std::strerror(error) +
                          "; make /dev/shm larger (mount -o remount,size=1G /dev/shm; docker run --shm-size "
                          "1g), or use fewer hosts or a smaller nic.vfs");
  }
  Segment segment(base, h.total_bytes);
  auto* header = new (base) Header();
  // The plain part ends where the clock begins; the atomics were constructed just now.
  std::memcpy(static_cast<void*>(base), &h, offsetof(Header, committed_ps));
  std::uninitialized_copy(plan.world.hosts.begin(), plan.world.hosts.end(), segment.hosts().data());
  std::uninitialized_copy(plan.world.switches.begin(), plan.world.switches.end(), segment.switches().data());
  std::uninitialized_copy(plan.world.ports.begin(), plan.world.ports.end(), segment.ports().data());
  std::ranges::uninitialized_copy(
      plan.world.link_changes,
      std::span(reinterpret_cast<LinkChangeEntry*>(base + h.link_change_offset), h.link_changes));
  std::memcpy(base + h.policy_offset, plan.world.policies.data(), plan.world.policies.size());
  std::ranges::uninitialized_value_construct(segment.port_results());
  for (std::uint32_t i = 0; i < header->hosts; ++i)
    new (&segment.host_ports()[i]) HostPort{.classes = plan.world.hosts[i].nic.class_turns()};
  for (std::uint32_t i = 0; i < header->hosts * header->vfs_per_host; ++i) {
    auto* slot = new (&segment.vfs()[i]) VfSlot();
    slot->host = i / header->vfs_per_host;
    slot->vf = i % header->vfs_per_host;
    slot->lead = segment.slot_of(slot->host - plan.world.hosts[slot->host].nic_number, slot->vf);
    slot->first_qpn = first_qpn_of(slot->vf);
  }
  return segment;
}

Segment Segment::open(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0)
    fail(path, std::string("cannot open the run's shared memory: ") + std::strerror(errno) +
                   "; is the topology up?");
  struct stat st {};
  fstat(fd, &st);
  const auto size = static_cast<std::uint64_t>(st.st_size);
  std::byte* base = size >= sizeof(Header) ? map(fd, size) : nullptr;
  const int error = errno;
  close(fd);
  if (size < sizeof(Header)) fail(path, "too small for a segment");
  if (base == nullptr) fail(path, cannot_map(size, error));
  Segment segment(base, size);
  const Header& h = segment.header();
  if (h.magic != kMagic) fail(path, "not a rocelab segment");
  if (h.layout_hash != layout_hash())
    fail(path, "made by another build of rocelab; start the topology again");
  if (h.total_bytes != size) fail(path, "its size is not what its header says");
  return segment;
}

std::span<HostEntry> Segment::hosts() const {
  return {reinterpret_cast<HostEntry*>(base_ + header_->host_offset), header_->hosts};
}
std::span<HostPort> Segment::host_ports() const {
  return {reinterpret_cast<HostPort*>(base_ + header_->host_port_offset), header_->hosts};
}
std::span<SwitchEntry> Segment::switches() const {
  return {reinterpret_cast<SwitchEntry*>(base_ + header_->switch_offset), header_->switches};
}
std::span<PortEntry> Segment::ports() const {
  return {reinterpret_cast<PortEntry*>(base_ + header_->port_offset), header_->ports};
}
std::span<const LinkChangeEntry> Segment::link_changes() const {
  return {reinterpret_cast<const LinkChangeEntry*>(base_ + header_->link_change_offset),
          header_->link_changes};
}
std::string_view Segment::policies() const {
  return {reinterpret_cast<const char*>(base_ + header_->policy_offset), header_->policy_bytes};
}
std::span<PortResult> Segment::port_results() const {
  return {reinterpret_cast<PortResult*>(base_ + header_->port_result_offset), header_->ports};
}
HostShare Segment::share_of(std::uint32_t host) const {
  RL_CHECK(host < header_->hosts);
  const std::uint32_t vfs_each = header_->vfs_per_host;
  return {vfs().subspan(std::size_t{host} * vfs_each, vfs_each),
          std::span(reinterpret_cast<std::atomic<std::uint64_t>*>(base_ + header_->service_port_offset),
                    std::size_t{header_->hosts} * kServicePorts)
              .subspan(std::size_t{host} * kServicePorts, kServicePorts)};
}
std::span<VfSlot> Segment::vfs() const {
  return {reinterpret_cast<VfSlot*>(base_ + header_->vf_offset),
          std::size_t{header_->hosts} * header_->vfs_per_host};
}

std::byte* Segment::ring_area(std::uint32_t vf, std::uint32_t which) const {
  std::byte* area = base_ + header_->rings_offset + vf * ring_bytes(*header_);
  const std::uint64_t descriptors = std::uint64_t{header_->ring_capacity} * sizeof(FrameDescriptor);
  switch (which) {
    case kTx:
      return area;
    case kRx:
      return area + descriptors;
    case kReturns:
      return area + 2 * descriptors;
    default:
      return area + 2 * descriptors + std::uint64_t{header_->ring_capacity} * sizeof(std::uint32_t);
  }
}

FrameRing Segment::tx(std::uint32_t vf) const {
  return {&vfs()[vf].tx, reinterpret_cast<FrameDescriptor*>(ring_area(vf, kTx)), header_->ring_capacity};
}
FrameRing Segment::rx(std::uint32_t vf) const {
  return {&vfs()[vf].rx, reinterpret_cast<FrameDescriptor*>(ring_area(vf, kRx)), header_->ring_capacity};
}
IndexRing Segment::returns(std::uint32_t vf) const {
  return {&vfs()[vf].returns, reinterpret_cast<std::uint32_t*>(ring_area(vf, kReturns)),
          header_->ring_capacity};
}
IndexRing Segment::refill(std::uint32_t vf) const {
  return {&vfs()[vf].refill, reinterpret_cast<std::uint32_t*>(ring_area(vf, kRefill)),
          header_->frames_per_vf};
}

std::span<std::byte> Segment::frame(std::uint32_t index) const {
  RL_CHECK(valid_frame(index));
  return {base_ + header_->frames_offset + std::uint64_t{index} * header_->frame_stride,
          header_->frame_stride};
}

std::vector<std::uint32_t> Segment::slots_of(std::uint32_t lead) const {
  std::vector<std::uint32_t> slots;
  for (std::uint32_t nic = 0; nic < hosts()[vfs()[lead].host].nics; ++nic)
    slots.push_back(lead + nic * header_->vfs_per_host);
  return slots;
}

void note_detach(Header& header, Time now) {
  std::int64_t none = -1;
  header.first_detach_ps.compare_exchange_strong(none, now.ps());
  header.last_detach_ps.store(now.ps());
  header.detaches.fetch_add(1);
}

void announce(Header& header) {
  header.activity.fetch_add(1);
  futex_wake_all(header.activity);
}

const HostEntry* Segment::find_host(std::string_view name) const {
  for (const HostEntry& h : hosts())
    if (name == h.name) return &h;
  return nullptr;
}

const HostEntry* Segment::find_host_by_ipv4(std::uint32_t ipv4) const {
  for (const HostEntry& h : hosts())
    if (h.ipv4 == ipv4) return &h;
  return nullptr;
}

}  // namespace rocelab::lockstep
