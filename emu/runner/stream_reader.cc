// [[workload]]: when it stops; and of kind "stream": messages by the clock.
#include <algorithm>
#include <string>

#include "emu/runner/quantity.h"
#include "emu/runner/readers.h"
#include "emu/runner/workload.h"

namespace rocelab {
namespace {

constexpr std::int64_t kMaxMessages = 10'000'000;

// Bursts of `on`, pauses of `off`.
void read_bursts(ConfigSection& section, StreamSettings& stream) {
  if (section.has("on") != section.has("off"))
    section.fail(std::string("has ") + (section.has("on") ? "on without off" : "off without on") +
                 ": bursts need both, for example on = \"100us\", off = \"300us\"");
  if (!section.has("on")) return;
  stream.on = section.duration("on", Duration{});
  stream.off = section.duration("off", Duration{});
  if (stream.on.ps() <= 0) section.fail_at("on", "must be more than 0");
  if (stream.off.ps() <= 0) section.fail_at("off", "must be more than 0");
}

}  // namespace

void read_stop(ConfigSection& section, WorkloadSettings& w) {
  const bool any = section.has("stop") ||
                   std::ranges::any_of(w.flows, [](const ListedFlow& f) { return f.stop.has_value(); });
  if (section.has("stop")) {
    w.stop = section.duration("stop", w.stop);
    if (w.stop <= w.start) section.fail_at("stop", "must be after the start, " + to_string(w.start));
    if (w.op == FlowOp::kRead ||
        std::ranges::any_of(w.flows, [](const ListedFlow& f) { return f.op == FlowOp::kRead; }))
      section.fail_at("stop",
                      "needs op = \"send\" or \"write\": a READ's source does not know when it is over");
  }
  const bool waits = any || w.service != FlowService::kRc;
  if (section.has("settle") && !waits)
    section.fail_at("settle",
                    "needs a stop, or service \"uc\" or \"ud\": receivers wait so long for the rest");
  if (!waits) return;
  w.settle = section.duration("settle", w.settle);
  if (w.settle.ps() < 0 || w.settle > kLongestDuration)
    section.fail_at("settle", "must be from 0us to " + to_string(kLongestDuration));
}

void read_stream(ConfigSection& section, WorkloadSettings& w) {
  for (const char* key : {"rate", "message_size", "stop"}) section.require(key);
  read_stop(section, w);
  if (w.op == FlowOp::kRead) section.fail_at("op", "must be \"send\" or \"write\": a stream's source posts");
  if (w.message_size.count() == 0) section.fail_at("message_size", "must be more than 0");
  w.stream.rate = section.rate("rate", Rate{});
  read_bursts(section, w.stream);
  w.overload = section.boolean("overload", false);
  const std::int64_t messages = stream_messages(w.stream, w.message_size, w.stop - w.start);
  if (messages > std::min(kMaxMessages, kMostBytes / w.message_size))
    section.fail_at("stop", "makes a stream of " + std::to_string(messages) + " messages, more than " +
                                std::to_string(kMaxMessages) + " or " + to_string(kMostBytes));
}

}  // namespace rocelab
