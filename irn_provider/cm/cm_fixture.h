// For tests: two connection managers, a link that takes a microsecond and loses what it is told to, a clock.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "irn_provider/cm/connection_manager.h"

namespace rocelab::cm::test {

inline constexpr Gid kGid[2] = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1},
                                {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 2}};
inline constexpr Qpn kQpn[2] = {Qpn{4097}, Qpn{8193}};
inline constexpr std::uint16_t kPort = 7174;
inline constexpr Duration kLink = 1_us;

inline CmConfig config_of(int side) {
  CmConfig c;
  c.ca_guid = 0x100 + static_cast<std::uint64_t>(side);
  c.first_id = static_cast<CommId>(side + 1) << 27;
  return c;
}

inline Address address_of(int side, std::uint16_t port) {
  Address a{.ip_version = 4, .ip = {}, .port = port};
  a.ip[12] = 10;
  a.ip[15] = static_cast<std::uint8_t>(side + 1);
  return a;
}

class Pair {
 public:
  Pair() : cm{ConnectionManager(config_of(0), Rng(7)), ConnectionManager(config_of(1), Rng(8))} {}

  ConnectionManager cm[2];
  Time now;
  std::vector<Event> events[2];
  std::vector<std::string> sent;                     // "0 REQ": side and message
  std::function<bool(int from, const CmMad&)> lose;  // true: it does not arrive
  std::vector<std::pair<int, OutgoingMad>> history;  // everything sent, by side

  // Runs until nothing is left before `limit`, or for ever.
  void run(Time limit = Time::never()) {
    for (;;) {
      drain();
      const Time link = in_flight_.empty() ? Time::never() : in_flight_.front().at;
      const Time next = std::min({link, cm[0].next_timeout(), cm[1].next_timeout()});
      if (next == Time::never() || next > limit) break;
      now = next;
      if (link == next) {
        const Flight f = in_flight_.front();
        in_flight_.erase(in_flight_.begin());
        cm[f.to].on_mad(f.mad.bytes, f.mad.local_gid, f.mad.remote_gid, now);
      }
      for (ConnectionManager& m : cm) m.on_timeout(now);
    }
    if (limit != Time::never() && limit > now) now = limit;
  }
  void run_for(Duration d) { run(now + d); }

  Event take(int side, EventKind kind) {
    if (events[side].empty()) {
      ADD_FAILURE() << "no event for side " << side << " of kind " << static_cast<int>(kind);
      return {};
    }
    Event e = events[side].front();
    events[side].erase(events[side].begin());
    EXPECT_EQ(e.kind, kind);
    return e;
  }
  int count(const std::string& what) const {
    return static_cast<int>(std::count(sent.begin(), sent.end(), what));
  }

  ConnectParams request(std::uint16_t local_port = 40'000) const {
    ConnectParams p;
    p.local_gid = kGid[0];
    p.remote_gid = kGid[1];
    p.local = address_of(0, local_port);
    p.remote = address_of(1, kPort);
    p.qpn = kQpn[0];
    p.responder_resources = 3;
    p.initiator_depth = 2;
    return p;
  }
  AcceptParams acceptance() const {
    AcceptParams p;
    p.qpn = kQpn[1];
    p.responder_resources = 2;
    p.initiator_depth = 3;
    return p;
  }
  Handle listen(PortSpace space = PortSpace::kTcp) { return cm[1].listen(service_id(space, kPort), 16); }

  struct Connected {
    Handle active, passive;
  };
  Connected connect() {
    Connected c;
    c.active = cm[0].connect(request(), now);
    run_for(1_ms);
    c.passive = take(1, EventKind::kRequest).handle;
    EXPECT_TRUE(cm[1].accept(c.passive, acceptance(), now));
    run_for(1_ms);
    EXPECT_EQ(take(0, EventKind::kReply).handle, c.active);
    EXPECT_TRUE(cm[0].establish(c.active, now));
    run_for(1_ms);
    EXPECT_EQ(take(1, EventKind::kEstablished).handle, c.passive);
    return c;
  }

  void drain() {
    for (int side = 0; side < 2; ++side) {
      while (const auto mad = cm[side].poll_transmit()) {
        const auto parsed = CmMad::parse(mad->bytes);
        if (!parsed) {
          ADD_FAILURE() << "sends what is no MAD";
          continue;
        }
        sent.push_back(std::to_string(side) + " " + name_of(parsed->message));
        history.push_back({side, *mad});
        if (!lose || !lose(side, *parsed)) in_flight_.push_back({now + kLink, 1 - side, *mad});
      }
      while (auto event = cm[side].poll_event()) events[side].push_back(std::move(*event));
    }
  }

 private:
  struct Flight {
    Time at;
    int to;
    OutgoingMad mad;
  };
  std::vector<Flight> in_flight_;
};

}  // namespace rocelab::cm::test
