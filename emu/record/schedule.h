// Schedule: the recorded schedule of a run (Mittal, 5.1): of each data packet when it left its NIC, i(p), and
// when its last bit arrived, o(p); where its frames had room for them (base/hop_times.h), also when each
// switch began to send it, o(p, a_i). A file that any number of replays read, in either engine, mapped and
// never written again:
//
//   Header | Stream[streams] | Least[leasts] | ps[packets][2 + switches]
//
// in the byte order of the machine. All that it says of its own size is checked when it is opened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/psn.h"
#include "base/replay_port.h"
#include "base/units.h"
#include "emu/world/replay_differences.h"

namespace rocelab {

// Where a schedule is, and of which run: a schedule with another key is refused.
struct ScheduleFile {
  static constexpr std::size_t kMostKey = 63;
  std::string path;  // empty: in memory, for this process alone
  std::string key;
};

// As it is recorded.
struct RecordedSchedule {
  struct Least {  // tmin(p) of frames of this length
    std::uint32_t frame = 0;
    Duration least;
  };
  // The packets of one queue pair, by PSN from its first on.
  struct Stream {
    std::uint32_t first_psn = 0;
    std::vector<Least> leasts;
    std::vector<std::int64_t> ps;  // rows of 2 + switches: in, out, hops; out -1: it has not arrived
  };
  std::size_t switches = 0;                           // of each row
  std::unordered_map<std::uint64_t, Stream> streams;  // by stream_key(); looked up

  std::size_t row() const { return 2 + switches; }
  std::size_t packets(const Stream& s) const { return s.ps.size() / row(); }
};
// Of the node and the queue pair that receive.
constexpr std::uint64_t stream_key(NodeId to, Qpn qpn) { return std::uint64_t{to.value} << 32 | qpn.value; }

class Schedule {
 public:
  // Empties `recorded`, stream by stream. Throws std::runtime_error: the file cannot be written, or not be
  // read, or is no schedule of this build and key.
  static Schedule write(RecordedSchedule& recorded, const ScheduleFile& file);
  static Schedule open(const ScheduleFile& file);
  Schedule(Schedule&& other) noexcept;
  Schedule& operator=(Schedule&&) = delete;
  ~Schedule();

  struct Entry {
    std::size_t number = 0;  // among all
    Time in, out;
    std::span<const std::int64_t> hops;
  };
  // Null: the original had none like it.
  std::optional<Entry> find(std::uint64_t stream, Psn psn) const;
  std::optional<Duration> least(std::uint64_t stream, std::uint32_t frame) const;
  std::size_t packets() const;
  std::size_t switches() const;

 private:
  struct Header;
  struct Stream;
  struct Least;
  explicit Schedule(std::span<const std::byte> bytes) : bytes_(bytes) {}
  static Schedule map(int fd, const ScheduleFile& file);
  std::string problem(const std::string& key) const;  // empty: none
  const Header& header() const;
  std::span<const Stream> streams() const;
  std::span<const Least> leasts() const;
  const Stream* stream(std::uint64_t key) const;
  std::span<const std::byte> bytes_;
};

// Replays one, to as many NICs as are told of it: of each packet the slack with which it arrives as it did.
// It holds the run to what must be so: the same packets at the same i(p), and a lateness that is the slack
// left with its sign changed, to the picosecond.
class ScheduleReplay final : public ReplayPort {
 public:
  explicit ScheduleReplay(const Schedule& schedule) : schedule_(schedule), left_(schedule.packets()) {}
  Replayed departs(const Packet& packet, Time now) override;
  void arrives(const Packet& packet, Time now) override;
  const ReplayDifferences& differences() const { return differences_; }

 private:
  const Schedule& schedule_;
  std::vector<bool> left_;
  ReplayDifferences differences_;
};

}  // namespace rocelab
