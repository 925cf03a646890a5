#include "verbs_app/flows/mesh.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace rocelab::app {
namespace {

enum FrameType : std::uint32_t { kHello = 1, kExchange, kFlowFailed, kDone, kEndpoints };

std::string hello_of(const std::string& name, const std::string& digest) { return name + '\n' + digest; }

std::string encode(std::uint32_t flow, const std::string& why) {
  const std::uint32_t id = htonl(flow);
  std::string bytes(sizeof id, '\0');
  std::memcpy(bytes.data(), &id, sizeof id);
  return bytes + why;
}

std::size_t index_of(const std::vector<Host>& hosts, const std::string& name) {
  const auto it = std::find_if(hosts.begin(), hosts.end(), [&](const Host& h) { return h.name == name; });
  if (it == hosts.end())
    throw std::runtime_error("a process called '" + name + "' connected, which has no flow");
  return static_cast<std::size_t>(it - hosts.begin());
}

}  // namespace

Mesh::Mesh(const std::vector<Host>& hosts, std::size_t me, std::uint16_t port, int timeout_seconds,
           const std::string& digest)
    : peers_(hosts.size()), me_(me) {
  Listener listener(hosts[me].address, port);
  const std::string hello = hello_of(hosts[me].name, digest);
  for (std::size_t i = 0; i < me; ++i) {
    Connection c = connect_to(hosts[i].address, port, timeout_seconds);
    c.set_timeout(timeout_seconds);
    c.send(kHello, hello);
    greet(hosts, std::move(c), digest);
  }
  for (std::size_t i = me + 1; i < hosts.size(); ++i) {
    Connection c = listener.accept(timeout_seconds);
    c.set_timeout(timeout_seconds);
    c.send(kHello, hello);
    greet(hosts, std::move(c), digest);
  }
}

// Learns who is at the other end, and that it runs the same flows.
void Mesh::greet(const std::vector<Host>& hosts, Connection connection, const std::string& digest) {
  const Frame frame = connection.receive();
  const std::size_t line_end = frame.bytes.find('\n');
  if (frame.type != kHello || line_end == std::string::npos)
    throw std::runtime_error("a peer does not greet as one");
  const std::string name = frame.bytes.substr(0, line_end);
  if (frame.bytes.substr(line_end + 1) != digest)
    throw std::runtime_error(name + " was given another flow list");
  Peer& peer = peers_[index_of(hosts, name)];
  if (peer.connection.open()) throw std::runtime_error("two processes are called " + name);
  peer.name = name;
  peer.connection = std::move(connection);
}

std::vector<std::string> Mesh::exchange(const std::vector<std::string>& out) {
  std::vector<std::string> in(peers_.size());
  for (std::size_t i = 0; i < peers_.size(); ++i)
    if (i != me_) peers_[i].connection.send(kExchange, out[i]);
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    if (i == me_) continue;
    Frame frame = peers_[i].connection.receive();
    if (frame.type != kExchange) throw std::runtime_error("a peer is out of step");
    in[i] = std::move(frame.bytes);
  }
  in[me_] = out[me_];
  return in;
}

// A peer that is gone is found by poll(); what it would have been told does not matter any more.
void Mesh::send_to(Peer& peer, std::uint32_t type, const std::string& bytes) {
  if (!peer.connection.open()) return;
  try {
    peer.connection.send(type, bytes);
  } catch (const std::runtime_error&) {
  }
}

void Mesh::tell_endpoints(std::size_t host, std::uint32_t flow, const std::string& endpoints) {
  send_to(peers_[host], kEndpoints, encode(flow, endpoints));
}

std::string Mesh::await_endpoints(std::size_t host, std::uint32_t flow) {
  Peer& peer = peers_[host];
  while (!peer.endpoints.contains(flow)) {
    const Frame frame = peer.connection.receive();
    if (frame.type == kEndpoints)
      take(host, frame, {});
    else
      peer.news.push_back(frame);
  }
  return peer.endpoints.extract(flow).mapped();
}

void Mesh::tell_failed(std::size_t host, std::uint32_t flow, const std::string& why) {
  send_to(peers_[host], kFlowFailed, encode(flow, why));
}

void Mesh::tell_done() {
  for (Peer& peer : peers_) send_to(peer, kDone, "");
}

void Mesh::take(std::size_t host, const Frame& frame, const Handlers& handlers) {
  Peer& peer = peers_[host];
  if (frame.type == kDone) peer.done = true;
  if (frame.bytes.size() < sizeof(std::uint32_t)) return;
  std::uint32_t id = 0;
  std::memcpy(&id, frame.bytes.data(), sizeof id);
  const std::string rest = frame.bytes.substr(sizeof id);
  if (frame.type == kEndpoints) peer.endpoints[ntohl(id)] = rest;
  if (frame.type == kFlowFailed) handlers.flow_failed(ntohl(id), rest);
}

void Mesh::poll_peer(std::size_t host, const Handlers& handlers) {
  Peer& peer = peers_[host];
  for (const Frame& frame : std::exchange(peer.news, {})) take(host, frame, handlers);
  try {
    while (const std::optional<Frame> frame = peer.connection.try_receive()) take(host, *frame, handlers);
  } catch (const std::runtime_error&) {
    peer.connection.close();
    if (!peer.done) handlers.gone(host);
  }
}

void Mesh::poll(const Handlers& handlers) {
  for (std::size_t i = 0; i < peers_.size(); ++i)
    if (peers_[i].connection.open()) poll_peer(i, handlers);
}

std::vector<std::string> Mesh::waiting_for() const {
  std::vector<std::string> names;
  for (const Peer& p : peers_)
    if (p.connection.open() && !p.done) names.push_back(p.name);
  return names;
}

}  // namespace rocelab::app
