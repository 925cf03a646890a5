#include "emu/runner/workload.h"

#include <algorithm>
#include <cmath>

#include "emu/runner/formula.h"

namespace rocelab {
namespace {

Bytes draw_size(const SizeSettings& sizes, Rng& rng) {
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
      : settings_(settings), w_(w), rng_(std::move(rng)) {
    for (const std::string& name : w.senders) senders_.push_back(settings.topology.find(name));
    if (senders_.empty())
      for (std::uint32_t h = 0; h < settings.topology.hosts(); ++h) senders_.push_back(h);
  }

  std::vector<Flow> flows() {
    switch (w_.kind) {
      case WorkloadKind::kIncast:
        for (const std::uint32_t src : senders_) add(src, settings_.topology.find(w_.receiver), w_.start);
        break;
      case WorkloadKind::kList:
        listed();
        break;
      case WorkloadKind::kPermutation:
        permutation();
        break;
      case WorkloadKind::kPoisson:
        for (const std::uint32_t src : senders_) poisson(src);
        break;
    }
    return std::move(flows_);
  }

 private:
  Flow& add(std::uint32_t src, std::uint32_t dst, Duration start) {
    Flow flow;
    flow.group = w_.name;
    flow.src = src;
    flow.dst = dst;
    flow.op = w_.op;
    flow.size = draw_size(w_.size, rng_);
    flow.start = Time::zero() + start +
                 (w_.kind == WorkloadKind::kPoisson ? Duration{} : draw_jitter(w_.jitter, rng_));
    flow.qps = w_.qps;
    flows_.push_back(flow);
    return flows_.back();
  }

  void listed() {
    for (const ListedFlow& listed : w_.flows) {
      Flow& flow =
          add(settings_.topology.find(listed.src), settings_.topology.find(listed.dst), listed.start);
      flow.size = listed.size;
      flow.op = listed.op;
    }
  }

  // Everybody sends to the next on one random cycle (Sattolo): nobody to itself, nobody receives twice.
  void permutation() {
    std::vector<std::uint32_t> to = senders_;
    for (std::size_t i = to.size(); i > 1; --i) std::swap(to[i - 1], to[rng_.below(i - 1)]);
    for (std::size_t i = 0; i < senders_.size(); ++i)
      if (to[i] != senders_[i]) add(senders_[i], to[i], w_.start);
  }

  // Counted as RoCE frames whatever the transport, so that all labels get the same flows.
  // Arrivals at one host such that its link carries `load` of its rate, counting headers, preamble and gap;
  // receivers are drawn among all other hosts.
  void poisson(std::uint32_t src) {
    const Link& link = settings_.topology.links()[settings_.topology.nodes()[src].links[0]];
    FlowShape mean;
    mean.op = w_.op;
    mean.size = (w_.size.min + w_.size.max) / 2;
    mean.path_mtu = settings_.nic.config.active_mtu;
    mean.message_size = w_.message_size;
    const double mean_gap_ps =
        static_cast<double>(transfer_time(wire_bytes_of(mean), link.rate).ps()) / w_.load;
    const std::uint64_t others = settings_.topology.hosts() - 1;
    for (double at = mean_gap_ps * draw_exponential(rng_); at < static_cast<double>(w_.duration.ps());
         at += mean_gap_ps * draw_exponential(rng_)) {
      if (others == 0) return;
      const std::uint64_t k = rng_.below(others);
      add(src, static_cast<std::uint32_t>(k < src ? k : k + 1),
          w_.start + Duration::from_ps(static_cast<std::int64_t>(at)));
    }
  }

  const Settings& settings_;
  const WorkloadSettings& w_;
  Rng rng_;
  std::vector<std::uint32_t> senders_;
  std::vector<Flow> flows_;
};

// A flow's messages: as large as the scenario says, at least one per queue pair, and within the limit of the
// architecture.
void choose_message_size(Flow& flow, Bytes wanted) {
  const std::int64_t size = flow.size.count();
  std::int64_t message = wanted.count() > 0 ? wanted.count() : (size + flow.qps - 1) / flow.qps;
  message = std::min(message, std::int64_t{1} << 31);
  flow.message_size = Bytes::from_count(std::min(message, size));
}

}  // namespace

double draw_exponential(Rng& rng) {
  for (int whole = 0;; ++whole) {
    const double first = rng.uniform();
    double last = first;
    bool odd = true;  // length of the decreasing run that starts with `first`
    for (double next = rng.uniform(); next < last; next = rng.uniform()) {
      last = next;
      odd = !odd;
    }
    if (odd) return whole + first;
  }
}

std::vector<Flow> draw_flows(const Settings& settings, Rng seed) {
  std::vector<Flow> flows;
  for (const WorkloadSettings& w : settings.workloads) {
    std::vector<Flow> drawn = Draw(settings, w, seed.fork("workload/" + w.name)).flows();
    for (Flow& flow : drawn) choose_message_size(flow, w.message_size);
    flows.insert(flows.end(), drawn.begin(), drawn.end());
  }
  std::stable_sort(flows.begin(), flows.end(),
                   [](const Flow& a, const Flow& b) { return a.start < b.start; });
  for (std::size_t i = 0; i < flows.size(); ++i) flows[i].id = static_cast<std::uint32_t>(i) + 1;
  return flows;
}

}  // namespace rocelab
