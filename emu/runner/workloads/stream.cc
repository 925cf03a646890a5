#include "emu/runner/workloads/stream.h"

#include <algorithm>
#include <string>

#include "base/quantity.h"
#include "emu/runner/workload_parts.h"

namespace rocelab {
namespace {

constexpr std::int64_t kMaxMessages = 10'000'000;

constexpr auto kFields = fields(
    field<&StreamSettings::rate>(
        "rate",
        "payload of one stream while it is on: message n is posted when the stream's clock, which begins "
        "with it, shows n x message_size x 8 / rate"),
    field<&StreamSettings::on>("on",
                               "bursts: the stream's clock runs for `on`, stands still for `off`, and "
                               "so on; its mean rate is rate x on / (on + off)")
        .positive()
        .or_word("always"),
    field<&StreamSettings::off>("off", "pause between bursts").positive().or_word("never"));

}  // namespace

Schema<StreamSettings> Streams::schema() { return kFields; }

void Streams::read(ConfigSection& section, WorkloadSettings&, const WorkloadContext&) {
  const bool on = params.on.ps() > 0, off = params.off.ps() > 0;
  if (on != off)
    section.fail(std::string("has ") + (on ? "on without off" : "off without on") +
                 ": bursts need both, for example on = \"100us\", off = \"300us\"");
}

void Streams::check(ConfigSection& section, const WorkloadSettings& w, const Topology& topology) const {
  if (w.message_size.count() == 0) section.fail_at("message_size", "must be more than 0");
  if (w.queue_pairs == QueuePairs::kPersistent)
    section.fail_at("queue_pairs",
                    "= \"persistent\" is not for streams: a pair of hosts has one, whose queue pairs live "
                    "until its stop anyway");
  const std::int64_t messages = stream_messages(params, w.message_size, w.stop - w.start);
  if (messages > std::min(kMaxMessages, kMostBytes / w.message_size))
    section.fail_at("stop", "makes a stream of " + std::to_string(messages) + " messages, more than " +
                                std::to_string(kMaxMessages) + " or " + to_string(kMostBytes));
  check_pairs(section, w, topology);
}

// None where the jitter leaves no message.
void Streams::draw(FlowDraw& draw) const {
  const WorkloadSettings& w = draw.workload();
  for_each_pair(w, draw.topology(), [&](std::uint32_t src, std::uint32_t dst) {
    const Duration after = draw.jitter();
    const std::int64_t messages = stream_messages(params, w.message_size, w.stop - (w.start + after));
    if (messages == 0) return;
    Flow& flow = draw.add_plain(src, dst, after);
    flow.size = messages * w.message_size;
    flow.stream = params;
  });
}

// A stream has no end but its stop.
std::optional<WorkloadRate> Streams::rate(const WorkloadSettings& w, const Topology&, std::uint32_t) const {
  return WorkloadRate{"rate", static_cast<double>((w.stop - w.start).ps())};
}

void Streams::offer(const WorkloadSettings& w, std::uint32_t path_mtu, OfferedTraffic& traffic) const {
  WorkloadSettings one = w;
  one.size = {w.message_size, w.message_size};
  const double on = params.off.ps() == 0 ? 1 : params.on.seconds() / (params.on + params.off).seconds();
  const double bps = static_cast<double>(params.rate.bps()) * on * mean_wire_bytes(one, path_mtu) /
                     static_cast<double>(w.message_size.count());
  for_each_pair(w, traffic.topology(),
                [&](std::uint32_t from, std::uint32_t to) { traffic.between(from, to, bps); });
}

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

}  // namespace rocelab
