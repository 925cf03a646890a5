#include "emu/des/recorder.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace rocelab::des {
namespace {

constexpr std::int64_t kNotYet = -1;

}  // namespace

Recorder::Recorder(const RunPlan& original) : original_(original), routing_(original.settings.topology) {
  recorded_.switches = original.settings.nic.config.slack.switches;
  const auto& hosts = original.world.hosts;
  ports_.reserve(hosts.size());
  for (std::uint32_t h = 0; h < hosts.size(); ++h) {
    ports_.emplace_back(*this, h);
    if (hosts[h].node >= host_of_.size()) host_of_.resize(hosts[h].node + 1);
    host_of_[hosts[h].node] = h;
  }
}

// On an idle network: every link of the path, the host's own included.
Duration Recorder::least(std::uint32_t host, const Packet& packet) {
  const std::uint32_t to = host_of_[packet.dst.value];
  Path& path = paths_[std::uint64_t{host} << 32 | to];
  if (path.empty()) path = routing_.path(host, to);
  Duration least;
  for (const Hop& hop : path) least += wire_time(packet.frame(), hop.rate) + hop.delay;
  return least;
}

void Recorder::departs(std::uint32_t host, const Packet& packet, Time now) {
  RecordedSchedule::Stream& stream = recorded_.streams[key_of(packet)];
  if (stream.ps.empty()) stream.first_psn = packet.roce.psn.value();
  strange_ += index_of(stream, packet) != recorded_.packets(stream);
  if (std::ranges::find(stream.leasts, packet.frame_length, &RecordedSchedule::Least::frame) ==
      stream.leasts.end())
    stream.leasts.push_back({packet.frame_length, least(host, packet)});
  stream.ps.push_back(now.ps());
  stream.ps.resize(stream.ps.size() + recorded_.row() - 1, kNotYet);
  ++packets_;
}

void Recorder::arrives(const Packet& packet, Time now) {
  const auto found = recorded_.streams.find(key_of(packet));
  if (found == recorded_.streams.end() ||
      index_of(found->second, packet) >= recorded_.packets(found->second)) {
    ++strange_;
    return;
  }
  std::int64_t* row = &found->second.ps[index_of(found->second, packet) * recorded_.row()];
  row[1] = now.ps();
  if (packet.roce.has_hop_times) {
    const HopTimes& times = PacketPool::hop_times(packet);
    std::copy_n(times.ps.begin(), recorded_.switches, row + 2);
  }
}

std::uint64_t Recorder::missing() const {
  std::uint64_t missing = 0;
  for (const auto& [key, stream] : recorded_.streams)
    for (std::size_t at = 1; at < stream.ps.size(); at += recorded_.row())
      missing += stream.ps[at] == kNotYet;
  return missing;
}

Schedule Recorder::save(const ScheduleFile& file) {
  const std::string run = "of the run that is to be replayed, " + original_.label + ", ";
  if (const std::uint64_t lost = missing(); lost > 0)
    throw std::runtime_error(
        run + std::to_string(lost) + " of " + std::to_string(packets_) +
        " packets have not arrived: raise switch.lossy_buffer, or let it run to its end");
  if (strange_ > 0)
    throw std::runtime_error(run + std::to_string(strange_) + " of " + std::to_string(packets_) +
                             " packets left twice, or came from nowhere");
  return Schedule::write(recorded_, file);
}

}  // namespace rocelab::des
