#include "verbs_app/perf/measure.h"

#include <sstream>
#include <stdexcept>

#include "verbs_app/common/clock.h"

namespace rocelab::app {
namespace {

Spread to_us(const Spread& ns) {
  return {.min = ns.min / 1e3, .median = ns.median / 1e3, .max = ns.max / 1e3, .mean = ns.mean / 1e3};
}

Spread read_latency(Side& side, const Plan& plan, std::uint32_t size) {
  std::vector<std::int64_t> samples;
  for (std::uint32_t i = 0; i < plan.iterations; ++i) {
    const std::int64_t begin = monotonic_ns();
    side.post(Op::kRead, size, false);
    side.wait_sent();
    samples.push_back(monotonic_ns() - begin);
  }
  return to_us(spread_of(samples));
}

Spread ping_pong_latency(Side& side, const Plan& plan, std::uint32_t size) {
  std::vector<std::int64_t> samples;
  for (std::uint32_t i = 0; i < plan.iterations; ++i) {
    const std::int64_t begin = monotonic_ns();
    side.post(plan.op, size, true);
    side.wait_received(side.received() + 1);
    samples.push_back(monotonic_ns() - begin);
  }
  side.wait_sent();
  Spread s = to_us(spread_of(samples));
  return {.min = s.min / 2, .median = s.median / 2, .max = s.max / 2, .mean = s.mean / 2};
}

double bandwidth(Side& side, const Plan& plan, std::uint32_t size) {
  const std::uint64_t replies = side.received();
  const std::int64_t begin = monotonic_ns();
  for (std::uint32_t i = 0; i < plan.iterations; ++i) side.post(plan.op, size, i + 1 == plan.iterations);
  side.wait_sent();
  const std::int64_t end = monotonic_ns();
  if (plan.op != Op::kRead) side.wait_received(replies + 1);  // the server has seen them all
  return gbps(std::uint64_t{size} * plan.iterations, end - begin);
}

}  // namespace

std::string Plan::encode() const {
  std::ostringstream out;
  out << to_string(op) << ' ' << iterations;
  for (const std::uint32_t size : sizes) out << ' ' << size;
  return out.str();
}

Plan Plan::decode(const std::string& text) {
  std::istringstream in(text);
  std::string op;
  Plan plan;
  if (!(in >> op >> plan.iterations)) throw std::runtime_error("the client's plan cannot be read");
  plan.op = op == "send" ? Op::kSend : op == "read" ? Op::kRead : Op::kWrite;
  for (std::uint32_t size; in >> size;) plan.sizes.push_back(size);
  return plan;
}

std::vector<Row> measure(Side& side, const Plan& plan) {
  std::vector<Row> rows;
  for (const std::uint32_t size : plan.sizes) {
    Row row;
    row.size = size;
    row.iterations = plan.iterations;
    row.latency_us =
        plan.op == Op::kRead ? read_latency(side, plan, size) : ping_pong_latency(side, plan, size);
    row.bandwidth_gbps = bandwidth(side, plan, size);
    rows.push_back(row);
  }
  if (plan.op == Op::kRead) side.post(Op::kSend, 0, true);  // a server of READs sees nothing else
  side.wait_sent();
  side.linger();
  return rows;
}

void serve(Side& side, const Plan& plan) {
  for (const std::uint32_t size : plan.sizes) {
    if (plan.op == Op::kRead) continue;
    for (std::uint32_t i = 0; i < plan.iterations; ++i) {
      side.wait_received(side.received() + 1);
      side.post(plan.op, size, true);
    }
    // Bandwidth: every SEND makes a completion here, of the WRITEs only the last.
    side.wait_received(side.received() + (plan.op == Op::kSend ? plan.iterations : 1));
    side.post(Op::kSend, 0, true);
  }
  if (plan.op == Op::kRead) side.wait_received(1);
  side.wait_sent();
  side.linger();
}

}  // namespace rocelab::app
