#include "emu/runner/workload.h"

#include <algorithm>
#include <utility>

#include "emu/runner/arrivals.h"

namespace rocelab {
namespace {

constexpr Bytes kCutMessage = 64_KB;  // of flows with a stop that say none: a message that has begun is sent

Bytes draw_size(const SizeSettings& sizes, Rng& rng) {
  if (!sizes.cdf.empty()) return sizes.cdf.draw(rng);
  const std::int64_t span = sizes.max.count() - sizes.min.count();
  return span == 0 ? sizes.min
                   : sizes.min + Bytes::from_count(static_cast<std::int64_t>(
                                     rng.below(static_cast<std::uint64_t>(span) + 1)));
}

Duration draw_jitter(Duration most, Rng& rng) {
  return most.ps() <= 0
             ? Duration{}
             : Duration::from_ps(static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(most.ps()))));
}

// One workload's flows, drawn in a fixed order.
class Draw {
 public:
  Draw(const Settings& settings, const WorkloadSettings& w, Rng rng)
      : settings_(settings), w_(w), rng_(std::move(rng)), senders_(w.senders) {
    if (senders_.empty())
      for (std::uint32_t h = 0; h < settings.topology.hosts(); ++h) senders_.push_back(h);
  }

  std::vector<Flow> flows() {
    switch (w_.kind) {
      case WorkloadKind::kIncast:
        incasts();
        break;
      case WorkloadKind::kList:
      case WorkloadKind::kFile:
        listed();
        break;
      case WorkloadKind::kPermutation:
        permutation();
        break;
      case WorkloadKind::kPoisson:
        for (const Arrival& a : draw_arrivals(settings_, w_, rng_))
          add(a.src, a.dst, w_.start + a.at).size = draw_size(w_.size, rng_);
        break;
      case WorkloadKind::kAllToAll:
        all_to_all([&](std::uint32_t src, std::uint32_t dst) { add_jittered(src, dst, w_.start); });
        break;
      case WorkloadKind::kStream:
        all_to_all([&](std::uint32_t src, std::uint32_t dst) { add_stream(src, dst); });
        break;
    }
    // Without those that would begin when it is over.
    std::erase_if(flows_, [](const Flow& flow) { return flow.start >= flow.stop; });
    return std::move(flows_);
  }

 private:
  // Without a size yet.
  Flow& add(std::uint32_t src, std::uint32_t dst, Duration start) {
    Flow flow;
    flow.group = w_.name;
    flow.src = src;
    flow.dst = dst;
    flow.op = w_.op;
    flow.start = Time::zero() + start;
    flow.qps = w_.qps;
    flow.dscp = w_.dscp;
    flow.service = w_.service;
    flow.stop = w_.stop == Duration::infinite() ? Time::never() : Time::zero() + w_.stop;
    flow.settle = w_.settle;
    flows_.push_back(flow);
    return flows_.back();
  }

  void add_jittered(std::uint32_t src, std::uint32_t dst, Duration start) {
    Flow& flow = add(src, dst, start);
    flow.size = draw_size(w_.size, rng_);
    flow.start = flow.start + draw_jitter(w_.jitter, rng_);
  }

  void incasts() {
    const auto draw_receiver = [&] {
      return static_cast<std::uint32_t>(rng_.below(settings_.topology.hosts()));
    };
    const std::vector<Duration> starts = request_starts();
    const bool drawn = w_.incast.receiver == Topology::kNoNode;
    const std::vector<std::uint32_t> all = senders_;
    std::uint32_t receiver = drawn && !w_.incast.each ? draw_receiver() : w_.incast.receiver;
    std::erase(senders_, receiver);
    for (std::uint32_t request = 0; request < starts.size(); ++request) {
      if (w_.incast.each) {
        receiver = draw_receiver();
        senders_ = all;
        std::erase(senders_, receiver);
      }
      incast(receiver, request, starts[request]);
    }
  }

  // Of the requests, from the workload's start on.
  std::vector<Duration> request_starts() const {
    std::vector<Duration> starts;
    const IncastSettings& incast = w_.incast;
    for (std::uint32_t i = 0; incast.every.ps() == 0 && i < incast.repeats; ++i)
      starts.push_back(i * incast.period);
    if (incast.every.ps() == 0) return starts;
    Rng gaps = rng_.fork("gaps");
    const auto mean_ps = static_cast<double>(incast.every.ps()),
               end_ps = static_cast<double>(incast.duration.ps());
    for (double at = mean_ps * draw_exponential(gaps); at < end_ps; at += mean_ps * draw_exponential(gaps))
      starts.push_back(Duration::from_ps(static_cast<std::int64_t>(at)));
    return starts;
  }

  // The first fan_in of a shuffle (Fisher-Yates); all senders in their order where all take part.
  void incast(std::uint32_t receiver, std::uint32_t request, Duration start) {
    const std::size_t all = senders_.size(), many = w_.incast.fan_in == 0 ? all : w_.incast.fan_in;
    if (many < all)
      for (std::size_t i = 0; i < many; ++i) std::swap(senders_[i], senders_[i + rng_.below(all - i)]);
    const std::int64_t total = w_.incast.total.count(), stripes = static_cast<std::int64_t>(many);
    for (std::size_t i = 0; i < many; ++i) {
      add_jittered(senders_[i], receiver, w_.start + start);
      flows_.back().request = request;
      if (total > 0)  // the bytes that do not divide go to the first
        flows_.back().size =
            Bytes::from_count(total / stripes + (static_cast<std::int64_t>(i) < total % stripes ? 1 : 0));
    }
  }

  void listed() {
    for (const ListedFlow& listed : w_.flows) {
      Flow& flow = add(listed.src, listed.dst, w_.start + listed.start);
      flow.start = flow.start + draw_jitter(w_.jitter, rng_);
      flow.size = listed.size;
      flow.op = listed.op;
      if (listed.dscp) flow.dscp = listed.dscp;
      if (listed.stop) flow.stop = Time::zero() + *listed.stop;
      if (!listed.group.empty()) flow.group = listed.group;
      flow.after = listed.after;
      flow.after_count = listed.after_count;
      if (flow.after_count > 0) flow.start = Time::zero();
    }
  }

  // Everybody sends to the next on one random cycle (Sattolo): nobody to itself, nobody receives twice.
  void permutation() {
    std::vector<std::uint32_t> to = senders_;
    for (std::size_t i = to.size(); i > 1; --i) std::swap(to[i - 1], to[rng_.below(i - 1)]);
    for (std::size_t i = 0; i < senders_.size(); ++i)
      if (to[i] != senders_[i]) add_jittered(senders_[i], to[i], w_.start);
  }

  template <class Add>
  void all_to_all(Add&& add_pair) {
    const std::vector<std::uint32_t>& to = w_.receivers.empty() ? senders_ : w_.receivers;
    for (const std::uint32_t src : senders_)
      for (const std::uint32_t dst :
           w_.behind_other_switches ? receivers_of(w_, settings_.topology, src) : to)
        if (src != dst) add_pair(src, dst);
  }

  // None where the jitter leaves no message.
  void add_stream(std::uint32_t src, std::uint32_t dst) {
    const Duration start = w_.start + draw_jitter(w_.jitter, rng_);
    const std::int64_t messages = stream_messages(w_.stream, w_.message_size, w_.stop - start);
    if (messages == 0) return;
    Flow& flow = add(src, dst, start);
    flow.size = messages * w_.message_size;
    flow.stream = w_.stream;
  }

  const Settings& settings_;
  const WorkloadSettings& w_;
  Rng rng_;
  std::vector<std::uint32_t> senders_;
  std::vector<Flow> flows_;
};

// In start order. `after` named flows by their place before.
void number_flows(std::vector<Flow>& flows) {
  for (std::size_t i = 0; i < flows.size(); ++i) flows[i].id = static_cast<std::uint32_t>(i);
  std::stable_sort(flows.begin(), flows.end(),
                   [](const Flow& a, const Flow& b) { return a.start < b.start; });
  std::vector<std::uint32_t> id_of(flows.size());
  for (std::size_t i = 0; i < flows.size(); ++i)
    id_of[std::exchange(flows[i].id, static_cast<std::uint32_t>(i) + 1)] = static_cast<std::uint32_t>(i) + 1;
  for (Flow& flow : flows)
    for (std::uint32_t& other : flow.after) other = id_of[other];
}

}  // namespace

// The first message that is not due: its time on the stream's own clock, which runs in bursts only, is the
// end.
std::int64_t stream_messages(const StreamSettings& stream, Bytes message, Duration length) {
  if (length.ps() <= 0) return 0;
  Duration on = length;
  if (stream.off.ps() > 0) {
    const Duration cycle = stream.on + stream.off;
    const std::int64_t bursts = length / cycle;
    on = bursts * stream.on + std::min(stream.on, length - bursts * cycle);
  }
  const __int128 message_bit_ps = static_cast<__int128>(message.count()) * 8'000'000'000'000;
  const __int128 bit_ps = static_cast<__int128>(on.ps()) * stream.rate.bps();
  constexpr __int128 kMost = 1'000'000'000'000'000'000;
  return static_cast<std::int64_t>(std::min(kMost, (bit_ps - stream.rate.bps()) / message_bit_ps)) + 1;
}

Bytes message_size_of(Bytes flow, std::uint32_t qps, Bytes wanted) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;  // IBTA 9.7.1
  const std::int64_t size = flow.count(),
                     message = wanted.count() > 0 ? wanted.count() : (size + qps - 1) / qps;
  return Bytes::from_count(std::min({message, kMost, size}));
}

std::vector<Flow> draw_flows(const Settings& settings, Rng seed) {
  std::vector<Flow> flows;
  for (const WorkloadSettings& w : settings.workloads) {
    std::vector<Flow> drawn = Draw(settings, w, seed.fork("workload/" + w.name)).flows();
    for (Flow& flow : drawn) {
      const bool cut = !flow.stop.is_never() && w.message_size.count() == 0;
      flow.message_size = message_size_of(flow.size, flow.qps, cut ? kCutMessage : w.message_size);
      for (std::uint32_t& other : flow.after) other += static_cast<std::uint32_t>(flows.size());
    }
    flows.insert(flows.end(), std::make_move_iterator(drawn.begin()), std::make_move_iterator(drawn.end()));
  }
  number_flows(flows);
  return flows;
}

}  // namespace rocelab
