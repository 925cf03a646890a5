// Slack in the switch (Mittal, chapter 5; base/slack.h): keeps that of each frame up to date, whatever the
// order of its queue (5.3.1: "only for book-keeping"), and gives LSTF's ranks to queues that serve by rank.
//
// LSTF (5.1.2): the frame with the least remaining slack leaves first. While frames wait, their slacks fall
// together, so that the order is one of a key that is known at arrival: slack + arrival + T, T the frame's
// own transmission time; it is the last instant at which its last bit may leave. T matters between frames of
// different lengths only. Equal ranks leave in the order of their arrival (A.4).
//
// A frame with a schedule (base/hop_times.h) is ranked by the time that it has for this switch, whatever the
// rank of others; one with room for its times has the instant of its departure written into it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "base/schema.h"
#include "base/wire_clock.h"
#include "ovs_patches/switch_model/actions.h"

namespace rocelab {

enum class SlackRank : std::uint8_t {
  kLeastSlack,  // LSTF
  kInitial,     // the value that the sending NIC wrote, as a static priority (5.1.3 (7), and SJF by size)
};

struct SlackParams {
  bool enabled = false;  // by the hosts' NICs, which write slack into frames
  SlackRank rank = SlackRank::kLeastSlack;
  Duration missing{};  // slack by which a frame without any is ranked
};

class SlackMechanism {
 public:
  using Params = SlackParams;
  struct Counters {
    static constexpr std::array kNames = {"slack_waited", "slack_overdue"};
    std::uint64_t waited = 0;   // frames with slack that waited here: for them this is a congestion point
    std::uint64_t overdue = 0;  // frames that left here with a negative rest, wherever it was lost
  };
  static constexpr std::string_view kName = "slack";
  static Schema<Params> schema();
  static bool is_on(const Params& params) { return params.enabled; }

  SlackMechanism(const Params& params, SwitchActions actions, Rng rng);

  std::int64_t rank(PortId out, const Packet& packet, Time now) const;
  void on_transmit(PortId out, Packet& packet, Time now);
  const Counters& counters(PortId port) const { return counters_[port.value]; }

 private:
  Params params_;
  std::vector<WireClock> clocks_;  // by port
  std::vector<Counters> counters_;
};

}  // namespace rocelab
