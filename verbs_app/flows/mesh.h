// Mesh: a TCP connection between every two processes of a run, and what they do together over it.
// Before the run: exchange, which is also a barrier. While it runs, without ever waiting: news of flows that
// failed, of processes that have finished, and of those that are gone.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "verbs_app/common/tcp.h"
#include "verbs_app/flows/flow_list.h"

namespace rocelab::app {

class Mesh {
 public:
  // Process i connects to those before it in the list and is called by those behind it. `digest` must be
  // equal everywhere: that all read the same flow list.
  Mesh(const std::vector<Host>& hosts, std::size_t me, std::uint16_t port, int timeout_seconds,
       const std::string& digest);

  // Gives out[i] to process i, and returns what each process had for this one.
  std::vector<std::string> exchange(const std::vector<std::string>& out);

  struct Handlers {
    std::function<void(std::uint32_t flow, const std::string& why)> flow_failed;
    std::function<void(std::size_t host)> gone;  // its connection has ended before it said that it is done
  };
  // What a peer needs to connect the flow's queue pairs while the run is under way: sent, and waited for.
  void tell_endpoints(std::size_t host, std::uint32_t flow, const std::string& endpoints);
  std::string await_endpoints(std::size_t host, std::uint32_t flow);
  void tell_failed(std::size_t host, std::uint32_t flow, const std::string& why);
  void tell_done();
  void poll(const Handlers& handlers);
  std::vector<std::string> waiting_for() const;  // names of peers that are neither done nor gone

 private:
  struct Peer {
    std::string name;
    Connection connection;
    bool done = false;
    std::map<std::uint32_t, std::string> endpoints;  // that have come, by flow
    std::vector<Frame> news;                         // that came while something else was waited for
  };
  void greet(const std::vector<Host>& hosts, Connection connection, const std::string& digest);
  void send_to(Peer& peer, std::uint32_t type, const std::string& bytes);
  void take(std::size_t host, const Frame& frame, const Handlers& handlers);
  void poll_peer(std::size_t host, const Handlers& handlers);

  std::vector<Peer> peers_;  // by host; our own has no connection
  std::size_t me_;
};

}  // namespace rocelab::app
