#include "emu/des/replay.h"

#include <stdexcept>
#include <string>
#include <utility>

#include "base/slack.h"

namespace rocelab::des {

Replay::Replay(const RunPlan& original) : original_(original), routing_(original.settings.topology) {
  const auto& hosts = original.world.hosts;
  ports_.reserve(hosts.size());
  for (std::uint32_t h = 0; h < hosts.size(); ++h) {
    ports_.emplace_back(*this, h);
    if (hosts[h].node >= host_of_.size()) host_of_.resize(hosts[h].node + 1);
    host_of_[hosts[h].node] = h;
  }
}

// On an idle network: every link of the path, the host's own included.
Duration Replay::least(std::uint32_t host, const Packet& packet) {
  const std::uint32_t to = host_of_[packet.dst.value];
  Route& route = routes_[std::uint64_t{host} << 32 | to];
  if (route.path.empty()) route.path = routing_.path(host, to);
  if (route.frame != packet.frame()) {
    route.frame = packet.frame();
    route.least = {};
    for (const Hop& hop : route.path) route.least += wire_time(route.frame, hop.rate) + hop.delay;
  }
  return route.least;
}

Slack Replay::departs(std::uint32_t host, const Packet& packet, Time now) {
  Stream& stream = streams_[key_of(packet)];
  if (!replays_) {
    if (stream.packets.empty()) stream.first_psn = packet.roce.psn.value();
    strange_ += index_of(stream, packet) != stream.packets.size();
    stream.packets.push_back({now});
    ++recorded_;
    return {};
  }
  const std::size_t index = index_of(stream, packet);
  if (index >= stream.packets.size()) {
    ++strange_;
    return {Slack::kMost, Slack::kMost, 0};
  }
  Times& times = stream.packets[index];
  moved_ += std::exchange(times.in, Time::never()) != now;
  return {times.out.ps(), (times.out - now - least(host, packet)).ps(), 0};
}

void Replay::arrives(const Packet& packet, Time now) {
  const auto found = streams_.find(key_of(packet));
  if (found == streams_.end() || index_of(found->second, packet) >= found->second.packets.size()) {
    ++strange_;
    return;
  }
  Times& times = found->second.packets[index_of(found->second, packet)];
  if (!replays_) {
    times.out = now;
  } else {
    unequal_ += (now - times.out).ps() != -PacketPool::slack(packet).current;
  }
}

void Replay::begin_replay() {
  std::uint64_t lost = 0;
  for (auto& [key, stream] : streams_) {
    for (const Times& times : stream.packets) lost += times.out.is_never();
    stream.packets.shrink_to_fit();
  }
  if (lost > 0)
    throw std::runtime_error(
        "of the run that is to be replayed, " + original_.label + ", " + std::to_string(lost) + " of " +
        std::to_string(recorded_) +
        " packets have not arrived: raise switch.lossy_buffer, or let it run to its end");
  replays_ = true;
}

void Replay::check(std::uint64_t drops) const {
  if (drops > 0)
    throw std::runtime_error("in the replay of " + original_.label + " " + std::to_string(drops) +
                             " frames were dropped, and nothing may be: raise switch.lossy_buffer");
  if (moved_ + strange_ + unequal_ == 0) return;
  throw std::runtime_error("this is no replay of " + original_.label + ": " + std::to_string(moved_) +
                           " packets left their NICs at another instant, " + std::to_string(strange_) +
                           " are not those of the original, and of " + std::to_string(unequal_) +
                           " the lateness is not the slack that is left");
}

}  // namespace rocelab::des
