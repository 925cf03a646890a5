#include "emu/record/schedule.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace rocelab {

struct Schedule::Header {
  static constexpr std::uint64_t kMagic = 0x3164656863736c72;  // "rlschsd1", and of this layout
  std::uint64_t magic = kMagic;
  char key[ScheduleFile::kMostKey + 1] = {};
  std::uint64_t packets = 0;
  std::uint32_t streams = 0, leasts = 0, switches = 0, reserved = 0;
};
struct Schedule::Stream {
  std::uint64_t key = 0;
  std::uint64_t first = 0;  // of its packets among all
  std::uint32_t packets = 0, first_psn = 0, first_least = 0, leasts = 0;
};
struct Schedule::Least {
  std::int64_t ps = 0;
  std::uint32_t frame = 0, reserved = 0;
};

namespace {

[[noreturn]] void fail(const std::string& path, const std::string& why) {
  throw std::runtime_error((path.empty() ? "the recorded schedule" : path) + ": " + why);
}

class OpenFile {
 public:
  OpenFile(int fd, const std::string& path) : fd_(fd) {
    if (fd < 0) fail(path, std::strerror(errno));
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() { close(fd_); }
  int fd() const { return fd_; }

 private:
  int fd_;
};

template <class T>
void put(int fd, std::span<const T> values, const std::string& path) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::span<const std::byte> left = std::as_bytes(values);
  while (!left.empty()) {
    const ssize_t n = ::write(fd, left.data(), left.size());
    if (n < 0 && errno != EINTR) fail(path, std::strerror(errno));
    if (n > 0) left = left.subspan(static_cast<std::size_t>(n));
  }
}

}  // namespace

Schedule Schedule::write(RecordedSchedule& recorded, const ScheduleFile& file) {
  const OpenFile out(file.path.empty()
                         ? memfd_create("schedule", MFD_CLOEXEC)
                         : ::open(file.path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600),
                     file.path);
  Header header;
  if (file.key.size() > ScheduleFile::kMostKey) fail(file.path, "its key is too long");
  std::memcpy(header.key, file.key.data(), file.key.size());
  std::vector<Stream> streams;
  std::vector<Least> leasts;
  std::vector<std::uint64_t> keys;
  for (const auto& [key, s] : recorded.streams) keys.push_back(key);
  std::ranges::sort(keys);
  for (const std::uint64_t key : keys) {
    const RecordedSchedule::Stream& s = recorded.streams[key];
    const std::size_t packets = recorded.packets(s);
    streams.push_back({key, header.packets, static_cast<std::uint32_t>(packets), s.first_psn,
                       static_cast<std::uint32_t>(leasts.size()),
                       static_cast<std::uint32_t>(s.leasts.size())});
    for (const auto& [frame, least] : s.leasts) leasts.push_back({least.ps(), frame});
    header.packets += packets;
  }
  header.streams = static_cast<std::uint32_t>(streams.size());
  header.leasts = static_cast<std::uint32_t>(leasts.size());
  header.switches = static_cast<std::uint32_t>(recorded.switches);
  put(out.fd(), std::span<const Header>(&header, 1), file.path);
  put(out.fd(), std::span<const Stream>(streams), file.path);
  put(out.fd(), std::span<const Least>(leasts), file.path);
  for (const std::uint64_t key : keys) {  // what is in the file is not in memory any more
    const auto node = recorded.streams.extract(key);
    put(out.fd(), std::span<const std::int64_t>(node.mapped().ps), file.path);
  }
  return map(out.fd(), file);
}

Schedule Schedule::open(const ScheduleFile& file) {
  const OpenFile in(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC), file.path);
  return map(in.fd(), file);
}

Schedule Schedule::map(int fd, const ScheduleFile& file) {
  struct stat about {};
  if (fstat(fd, &about) != 0) fail(file.path, std::strerror(errno));
  const auto size = static_cast<std::size_t>(about.st_size);
  if (size < sizeof(Header)) fail(file.path, "it is no recorded schedule");
  void* base = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) fail(file.path, std::strerror(errno));
  Schedule schedule(std::span(static_cast<const std::byte*>(base), size));
  if (const std::string problem = schedule.problem(file.key); !problem.empty()) fail(file.path, problem);
  return schedule;
}

std::string Schedule::problem(const std::string& key) const {
  const Header& h = header();
  if (h.magic != Header::kMagic) return "it is no recorded schedule";
  if (strnlen(h.key, sizeof(h.key)) == sizeof(h.key) || key != h.key)
    return "it is the schedule of another run";
  if (h.switches > HopTimes::kMost) return "its packets have more switches than a frame has room for";
  // No factor exceeds the file.
  if (h.packets > bytes_.size() || h.streams > bytes_.size() || h.leasts > bytes_.size() ||
      bytes_.size() != sizeof(Header) + h.streams * sizeof(Stream) + h.leasts * sizeof(Least) +
                           h.packets * (2 + h.switches) * sizeof(std::int64_t))
    return "it is cut short, or longer than it says";
  std::uint64_t packets = 0, leasts = 0, least_key = 0;
  for (const Stream& s : streams()) {
    if (s.first != packets || s.first_least != leasts || (packets > 0 && s.key <= least_key) ||
        s.packets == 0)
      return "its streams do not follow one another";
    packets += s.packets;
    leasts += s.leasts;
    least_key = s.key;
  }
  return packets == h.packets && leasts == h.leasts ? "" : "its streams are not all of its packets";
}

Schedule::Schedule(Schedule&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
Schedule::~Schedule() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

const Schedule::Header& Schedule::header() const { return *reinterpret_cast<const Header*>(bytes_.data()); }
std::span<const Schedule::Stream> Schedule::streams() const {
  return {reinterpret_cast<const Stream*>(bytes_.data() + sizeof(Header)), header().streams};
}
std::span<const Schedule::Least> Schedule::leasts() const {
  return {reinterpret_cast<const Least*>(streams().data() + streams().size()), header().leasts};
}
std::size_t Schedule::packets() const { return header().packets; }
std::size_t Schedule::switches() const { return header().switches; }

const Schedule::Stream* Schedule::stream(std::uint64_t key) const {
  const auto all = streams();
  const auto found = std::ranges::lower_bound(all, key, {}, &Stream::key);
  return found != all.end() && found->key == key ? &*found : nullptr;
}

std::optional<Schedule::Entry> Schedule::find(std::uint64_t key, Psn psn) const {
  const Stream* s = stream(key);
  if (s == nullptr) return std::nullopt;
  const std::uint32_t index = (psn.value() - s->first_psn) & Psn::kMask;
  if (index >= s->packets) return std::nullopt;
  const auto* rows = reinterpret_cast<const std::int64_t*>(leasts().data() + leasts().size());
  const std::size_t number = s->first + index;
  const std::int64_t* row = rows + number * (2 + switches());
  if (!HopTimes::possible(row[0]) || !HopTimes::possible(row[1])) return std::nullopt;
  return Entry{number, Time::from_ps(row[0]), Time::from_ps(row[1]), {row + 2, switches()}};
}

std::optional<Duration> Schedule::least(std::uint64_t key, std::uint32_t frame) const {
  const Stream* s = stream(key);
  if (s == nullptr) return std::nullopt;
  for (const Least& least : leasts().subspan(s->first_least, s->leasts))
    if (least.frame == frame) return Duration::from_ps(least.ps);
  return std::nullopt;
}

Replayed ScheduleReplay::departs(const Packet& packet, Time now) {
  const std::uint64_t key = stream_key(packet.dst, packet.roce.dest);
  const auto original = schedule_.find(key, packet.roce.psn);
  const auto least = schedule_.least(key, packet.frame_length);
  if (!original || !least) {
    ++differences_.strange;
    return {Time::zero(), Duration::from_ps(Slack::kMost), {}};
  }
  differences_.moved += left_[original->number] || original->in != now;
  left_[original->number] = true;
  return {original->out, original->out - now - *least, original->hops};
}

void ScheduleReplay::arrives(const Packet& packet, Time now) {
  const std::uint64_t key = stream_key(packet.dst, packet.roce.dest);
  const auto original = schedule_.find(key, packet.roce.psn);
  const auto least = schedule_.least(key, packet.frame_length);
  if (!original || !least) {
    ++differences_.strange;
    return;
  }
  differences_.early += now < original->in + *least;
  differences_.unequal += (now - original->out).ps() != -PacketPool::slack(packet).current;
}

}  // namespace rocelab
