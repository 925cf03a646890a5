// What a packet socket alone carries between two interfaces, to measure rocelab's own cost against: the same
// ring, batches and frame sizes, without a NIC. Prints one line of JSON.
//   packet_bench DEVICE blast MAC WHAT SECONDS    sends as fast as it can
//   packet_bench DEVICE sink  MAC WHAT SECONDS    counts what comes, until nothing has for SECONDS
//   packet_bench DEVICE ping  MAC WHAT TIMES      there and back, half of the time it takes
//   packet_bench DEVICE pong  MAC WHAT SECONDS    sends back what comes, until nothing has for SECONDS
// MAC: the peer's. WHAT: bytes of a frame, whose EtherType is for local experiments (IEEE 802, 9.2.3), each
// by itself; or OWN,PEER, IPv4 addresses: what ib_write_lat of 8 bytes sends at a time, a WRITE and an
// acknowledgement as one train.
#include <arpa/inet.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/wire/bytes.h"
#include "base/wire/frame.h"
#include "base/wire/opcode.h"
#include "irn_provider/realtime/packet_socket.h"

namespace {

using rocelab::direct::FramePort;
using rocelab::direct::PacketSocket;

constexpr std::uint16_t kEtherType = 0x88b5;
constexpr std::uint32_t kWholeFrame = 0x40000;

double now() {
  timespec ts{};
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return static_cast<double>(ts.tv_sec) + static_cast<double>(ts.tv_nsec) * 1e-9;
}

std::vector<sock_filter> frames_of(std::uint16_t ether_type) {
  return {{BPF_LD | BPF_H | BPF_ABS, 0, 0, 12},
          {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, ether_type},
          {BPF_RET | BPF_K, 0, 0, kWholeFrame},
          {BPF_RET | BPF_K, 0, 0, 0}};
}

// What is sent at a time.
struct Sample {
  struct Frame {
    std::vector<std::byte> bytes;
    FramePort::Kind kind = FramePort::Kind::kData;
  };
  std::vector<Frame> frames;
  bool one_flow = false;  // they leave as one
  std::uint16_t ether_type = kEtherType;
};

rocelab::MacAddress mac_of(const char* text) {
  unsigned b[6];
  if (std::sscanf(text, "%x:%x:%x:%x:%x:%x", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5]) != 6)
    throw std::runtime_error("not a MAC address");
  rocelab::MacAddress mac;
  std::copy(std::begin(b), std::end(b), mac.begin());
  return mac;
}

rocelab::Gid gid_of(const std::string& ipv4) {
  rocelab::Ipv4Address address;
  if (inet_pton(AF_INET, ipv4.c_str(), address.data()) != 1)
    throw std::runtime_error(ipv4 + " is not an IPv4 address");
  return rocelab::ipv4_mapped(address);
}

// Its source MAC address is nobody's: nothing answers to it.
constexpr rocelab::MacAddress kSource = {2, 2, 2, 2, 2, 2};

Sample frame_of(const rocelab::MacAddress& peer, std::size_t bytes) {
  if (bytes < rocelab::EthernetHeader::kSize) throw std::runtime_error("too few bytes for a frame");
  std::vector<std::byte> frame(bytes);
  rocelab::EthernetHeader{peer, kSource, kEtherType}.write(
      std::span(frame).first<rocelab::EthernetHeader::kSize>());
  Sample sample;
  sample.frames.push_back({std::move(frame)});
  return sample;
}

Sample train_of(const rocelab::MacAddress& peer, const std::string& own_ipv4, const std::string& peer_ipv4) {
  constexpr std::uint32_t kMessage = 8;
  rocelab::FrameAddress address;
  address.dst_mac = peer;
  address.src_mac = kSource;
  address.src_gid = gid_of(own_ipv4);
  address.dst_gid = gid_of(peer_ipv4);
  Sample train;
  train.one_flow = true;
  train.ether_type = rocelab::kEtherTypeIpv4;
  const auto add = [&](rocelab::Operation operation, std::uint16_t ip_id, FramePort::Kind kind,
                       std::size_t payload) {
    rocelab::RoceHeaders roce;
    roce.opcode = make_opcode(rocelab::TransportClass::kRc, operation);
    roce.dma_length = static_cast<std::uint32_t>(payload);
    address.ip_id = ip_id;
    std::vector<std::byte> bytes(rocelab::frame_length(roce, payload, address.is_ipv4));
    rocelab::write_frame(address, roce, std::vector<std::byte>(payload), bytes);
    train.frames.push_back({std::move(bytes), kind});
  };
  add(rocelab::Operation::kAck, 1, FramePort::Kind::kAck, 0);  // the message goes before it
  add(rocelab::Operation::kWriteOnly, 0, FramePort::Kind::kData, kMessage);
  return train;
}

Sample sample_of(const rocelab::MacAddress& peer, const std::string& what) {
  const std::size_t comma = what.find(',');
  if (comma == what.npos) return frame_of(peer, static_cast<std::size_t>(std::atoi(what.c_str())));
  return train_of(peer, what.substr(0, comma), what.substr(comma + 1));
}

std::uint32_t longest(const Sample& sample) {
  std::size_t bytes = 0;
  for (const Sample::Frame& frame : sample.frames) bytes = std::max(bytes, frame.bytes.size());
  return static_cast<std::uint32_t>(bytes);
}

class Bench {
 public:
  Bench(const char* device, Sample sample)
      : socket_(device, frames_of(sample.ether_type), longest(sample)),
        quiet_udp_(sample.one_flow ? rocelab::direct::quiet_udp_socket() : -1),
        sample_(std::move(sample)) {}
  ~Bench() {
    if (quiet_udp_ >= 0) close(quiet_udp_);
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  void blast(double seconds) {
    const double begin = now();
    std::uint64_t frames = 0;
    while (now() - begin < seconds) {
      for (std::uint32_t i = 0; i < PacketSocket::kBatch; ++i) put();
      frames += PacketSocket::kBatch;
      while (!socket_.flush()) sched_yield();
    }
    std::printf("{\"frames\": %lu, \"seconds\": %.6f}\n", frames, now() - begin);
  }

  void sink(double patience) {
    std::uint64_t frames = 0;
    double first = 0, last = now();
    while (now() - last < (frames == 0 ? 20 * patience : patience)) {
      const std::uint64_t some = receive();
      if (some == 0) {
        sched_yield();
        continue;
      }
      last = now();
      if (frames == 0) first = last;
      frames += some;
    }
    std::printf("{\"frames\": %lu, \"seconds\": %.6f, \"dropped\": %lu}\n", frames, last - first,
                socket_.dropped());
  }

  void ping(int times) {
    std::vector<double> all;
    for (int i = 0; i < times; ++i) {
      const double begin = now();
      put();
      socket_.flush();
      if (!wait(2.0)) throw std::runtime_error("no answer");
      all.push_back((now() - begin) / 2 * 1e6);
    }
    std::sort(all.begin(), all.end());
    std::printf("{\"median_us\": %.3f, \"p99_us\": %.3f}\n", all[all.size() / 2], all[all.size() * 99 / 100]);
  }

  void pong(double patience) {
    std::uint64_t frames = 0;
    for (; wait(frames == 0 ? 20 * patience : patience); ++frames) {
      put();
      socket_.flush();
    }
    std::printf("{\"frames\": %lu}\n", frames);
  }

 private:
  void put() {
    for (const Sample::Frame& frame : sample_.frames) {
      // No two frames of one flow: each goes by itself.
      if (!sample_.one_flow) ++flow_;
      const auto slot = socket_.place({nullptr, flow_}, frame.bytes.size(), frame.kind).bytes;
      std::copy(frame.bytes.begin(), frame.bytes.end(), slot.begin());
      socket_.fill();
    }
  }
  std::size_t receive() {
    const std::size_t frames = socket_.receive().size();
    socket_.release();
    return frames;
  }
  bool wait(double patience) {
    const double begin = now();
    while (receive() == 0) {
      if (now() - begin > patience) return false;
      sched_yield();
    }
    return true;
  }

  PacketSocket socket_;
  const int quiet_udp_;
  const Sample sample_;
  std::uint32_t flow_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 6)
      throw std::runtime_error(
          "usage: packet_bench DEVICE blast|sink|ping|pong MAC BYTES|OWN,PEER SECONDS|TIMES");
    Bench bench(argv[1], sample_of(mac_of(argv[3]), argv[4]));
    const std::string_view what = argv[2];
    if (what == "blast") bench.blast(std::atof(argv[5]));
    if (what == "sink") bench.sink(std::atof(argv[5]));
    if (what == "ping") bench.ping(std::atoi(argv[5]));
    if (what == "pong") bench.pong(std::atof(argv[5]));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "packet_bench: %s\n", e.what());
    return 1;
  }
  return 0;
}
