// Network: the parts of a run that other processes have (peers.h). After each round a process tells the
// others what its parts have sent to theirs, when the next event of each part is as far as it knows, and how
// far its programs are; queue pairs are told of when they are created. All processes are of one build and of
// one machine's byte order, which their driver checks before the run.
#include <cstring>
#include <span>
#include <stdexcept>
#include <type_traits>

#include "base/check.h"
#include "emu/des/network.h"
#include "emu/des/network_path.h"

namespace rocelab::des {
namespace {

template <class T>
void put(Peers::Buffer& to, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  to.insert(to.end(), bytes, bytes + sizeof(T));
}

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}
  template <class T>
  T get() {
    static_assert(std::is_trivially_copyable_v<T>);
    if (rest_.size() < sizeof(T)) throw std::runtime_error("another process sent less than it said");
    T value;
    std::memcpy(&value, rest_.data(), sizeof(T));
    rest_ = rest_.subspan(sizeof(T));
    return value;
  }
  bool done() const { return rest_.empty(); }
  std::span<const std::byte> rest() const { return rest_; }

 private:
  std::span<const std::byte> rest_;
};

// Before the time that is expected at each part, then the crossings.
struct RoundHead {
  Time over_since;
  std::uint64_t programs_running = 0, crossings = 0;
  bool any_failed = false;
};

struct CrossingHead {
  Time due;
  std::uint32_t from, to, port;
};

struct Failure {
  Time at;
  std::uint32_t flow;
};

struct EndpointHead {
  std::uint32_t flow, lanes;
  bool source;
};

void put_packet(Peers::Buffer& to, const Packet& packet) {
  RL_CHECK(packet.payload == nullptr && !packet.roce.has_gids);
  put(to, packet);
  if (const Telemetry* telemetry = PacketPool::telemetry_of(packet)) put(to, *telemetry);
  if (packet.roce.has_slack) put(to, PacketPool::slack(packet));
  if (packet.roce.has_hop_times) put(to, PacketPool::hop_times(packet));
}

PacketRef get_packet(Reader& from, PacketPool& pool) {
  PacketRef packet = pool.make();
  *packet = from.get<Packet>();
  if (packet->roce.telemetry_hops != 0) PacketPool::telemetry(*packet) = from.get<Telemetry>();
  if (packet->roce.has_slack) PacketPool::put_slack(*packet, from.get<Slack>());
  if (packet->roce.has_hop_times) PacketPool::put_hop_times(*packet, from.get<HopTimes>());
  return packet;
}

}  // namespace

std::uint32_t Network::first_part_of(std::uint32_t rank) const {
  return des::first_part_of(rank, sinks_.peers->ranks(), static_cast<std::uint32_t>(parts_.size()));
}

// Of flows that end here and elsewhere, the queue pairs of this end that exist and have not been told of.
void Network::share_endpoints() {
  std::vector<Peers::Buffer> out(sinks_.peers->ranks());
  tell_endpoints(out);
  for (const Peers::Buffer& in : sinks_.peers->exchange(out)) hear_endpoints(in);
}

void Network::tell_endpoints(std::vector<Peers::Buffer>& out) {
  const auto tell = [&](std::uint32_t flow) {
    for (const bool source : {true, false}) {
      const std::uint32_t here = source ? plan_.flows[flow].src : plan_.flows[flow].dst,
                          there = source ? plan_.flows[flow].dst : plan_.flows[flow].src;
      const std::vector<Endpoint>& lanes = source ? endpoints_[flow].source : endpoints_[flow].sink;
      if (!is_here(here) || is_here(there)) continue;
      if (lanes.empty()) return false;
      Peers::Buffer& to = out[rank_of(there)];
      put(to, EndpointHead{flow, static_cast<std::uint32_t>(lanes.size()), source});
      for (const Endpoint& lane : lanes) put(to, lane);
    }
    return true;
  };
  std::erase_if(untold_, tell);
}

void Network::hear_endpoints(std::span<const std::byte> in) {
  for (Reader reader(in); !reader.done();) {
    const auto head = reader.get<EndpointHead>();
    RL_CHECK(head.flow < endpoints_.size());
    std::vector<Endpoint>& lanes = head.source ? endpoints_[head.flow].source : endpoints_[head.flow].sink;
    lanes.clear();
    for (std::uint32_t lane = 0; lane < head.lanes; ++lane) lanes.push_back(reader.get<Endpoint>());
  }
}

std::uint32_t Network::rank_of(std::size_t node) const {
  std::uint32_t rank = 0;
  while (first_part_of(rank + 1) <= part_of_[node]) ++rank;
  return rank;
}

void Network::meet_peers() {
  const std::uint32_t ranks = sinks_.peers->ranks(), own = sinks_.peers->rank();
  RoundHead mine{local_over_since()};
  for (std::uint32_t p = first_part_; p < last_part_; ++p) {
    mine.programs_running += parts_[p].programs_running;
    mine.any_failed |= parts_[p].any_failed;
  }
  std::vector<Peers::Buffer> out(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    if (rank == own) continue;
    RoundHead head = mine;
    Peers::Buffer body;
    for (std::uint32_t from = first_part_; from < last_part_; ++from)
      for (std::uint32_t to = first_part_of(rank); to < first_part_of(rank + 1); ++to)
        for (const Crossing& crossing : parts_[from].out[side_][to].frames) {
          put(body, CrossingHead{crossing.due, from, to, crossing.port});
          put_packet(body, *crossing.packet);
          ++head.crossings;
        }
    put(out[rank], head);
    for (const Time expected : expected_) put(out[rank], expected);
    out[rank].insert(out[rank].end(), body.begin(), body.end());
  }
  tell_endpoints(out);
  const std::vector<Peers::Buffer> in = sinks_.peers->exchange(out);
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    if (rank != own) take_round(rank, in[rank]);
}

// A part elsewhere stands here with what it has sent to the parts here, as if it had run here.
void Network::take_round(std::uint32_t rank, std::span<const std::byte> in) {
  for (std::uint32_t p = first_part_of(rank); p < first_part_of(rank + 1); ++p)
    for (Crossings& sent : parts_[p].out[side_]) sent.clear();
  Reader reader(in);
  const auto head = reader.get<RoundHead>();
  Part& first = parts_[first_part_of(rank)];
  first.programs_running = head.programs_running;
  first.any_failed = head.any_failed;
  first.over_since = head.over_since;
  for (Time& expected : expected_) expected = std::min(expected, reader.get<Time>());
  for (std::uint64_t i = 0; i < head.crossings; ++i) {
    const auto crossing = reader.get<CrossingHead>();
    RL_CHECK(crossing.from < parts_.size() && crossing.to < parts_.size());
    Part& from = parts_[crossing.from];
    from.out[side_][crossing.to].add(get_packet(reader, from.pool), crossing.port, crossing.due);
  }
  hear_endpoints(reader.rest());
}

// A flow's end is given up when it is over, or when its other end fails. Receivers of READs, which learn of
// nothing, do not count.
Time Network::given_up_since() const {
  std::vector<Time> failed(flows_.size(), Time::never());
  const auto fail = [&](std::uint32_t flow, Time at) { failed.at(flow) = std::min(failed.at(flow), at); };
  for_transfers([&](const FlowProgram::Transfer& t) {
    if (t.record.status != 0) fail(t.flow_index, t.record.over);
  });
  if (sinks_.peers != nullptr) {
    Peers::Buffer mine;
    for (std::uint32_t flow = 0; flow < failed.size(); ++flow)
      if (!failed[flow].is_never()) put(mine, Failure{failed[flow], flow});
    for (const Peers::Buffer& in : exchange_with_all(mine))
      for (Reader reader(in); !reader.done();) {
        const auto failure = reader.get<Failure>();
        fail(failure.flow, failure.at);
      }
  }
  Time since = Time::zero();
  for_transfers([&](const FlowProgram::Transfer& t) {
    const bool passive = !t.script.is_requester() && t.script.flow().op == app::Op::kRead;
    if (!passive) since = std::max(since, std::min(t.record.over, failed[t.flow_index]));
  });
  return latest_of_all(since);
}

Time Network::last_event() const {
  Time last = Time::zero();
  for (const auto& host : hosts_)
    if (host) last = std::max(last, host->last_event());
  for (const auto& slot : switches_)
    if (slot) last = std::max(last, slot->node.last_event());
  return latest_of_all(last);
}

Time Network::latest_of_all(Time here) const {
  if (sinks_.peers == nullptr) return here;
  Peers::Buffer mine;
  put(mine, here);
  for (const Peers::Buffer& in : exchange_with_all(mine))
    if (!in.empty()) here = std::max(here, Reader(in).get<Time>());
  return here;
}

std::vector<Peers::Buffer> Network::exchange_with_all(const Peers::Buffer& mine) const {
  return sinks_.peers->exchange(std::vector(sinks_.peers->ranks(), mine));
}

}  // namespace rocelab::des
