// What a packet socket alone carries between two interfaces, to measure rocelab's own cost against: the same
// ring, batches and frame sizes, without a NIC. Frames have an EtherType for local experiments (IEEE
// 802, 9.2.3). Prints one line of JSON.
//   packet_bench DEVICE blast PEER_MAC FRAME_BYTES SECONDS    sends as fast as it can
//   packet_bench DEVICE sink  PEER_MAC FRAME_BYTES SECONDS    counts what comes, until nothing has for
//   SECONDS packet_bench DEVICE ping  PEER_MAC FRAME_BYTES TIMES      one frame there and back, half of the
//   time it takes packet_bench DEVICE pong  PEER_MAC FRAME_BYTES SECONDS    sends back what comes, until
//   nothing has for SECONDS
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "base/wire/bytes.h"
#include "irn_provider/live/direct/packet_socket.h"

namespace {

using rocelab::direct::PacketSocket;

constexpr std::uint16_t kEtherType = 0x88b5;
constexpr std::uint32_t kWholeFrame = 0x40000;

double now() {
  timespec ts{};
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return static_cast<double>(ts.tv_sec) + static_cast<double>(ts.tv_nsec) * 1e-9;
}

std::vector<sock_filter> own_frames() {
  return {{BPF_LD | BPF_H | BPF_ABS, 0, 0, 12},
          {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, kEtherType},
          {BPF_RET | BPF_K, 0, 0, kWholeFrame},
          {BPF_RET | BPF_K, 0, 0, 0}};
}

class Bench {
 public:
  Bench(const char* device, const char* mac, std::size_t bytes)
      : socket_(device, own_frames(), static_cast<std::uint32_t>(bytes)), bytes_(bytes) {
    unsigned b[6];
    if (std::sscanf(mac, "%x:%x:%x:%x:%x:%x", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5]) != 6)
      throw std::runtime_error("not a MAC address");
    std::copy(std::begin(b), std::end(b), peer_);
  }

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
    // No two frames of one flow: each goes by itself.
    const std::span<std::byte> slot =
        socket_.place({nullptr, flow_++}, bytes_, PacketSocket::Kind::kData).bytes;
    std::memcpy(slot.data(), peer_, sizeof peer_);
    std::memset(slot.data() + 6, 2, 6);
    rocelab::wire::store16(slot, 12, kEtherType);
    socket_.fill();
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
  const std::size_t bytes_;
  std::uint32_t flow_ = 0;
  std::uint8_t peer_[6];
};

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 6)
      throw std::runtime_error("usage: packet_bench DEVICE blast|sink|ping|pong MAC BYTES SECONDS|TIMES");
    Bench bench(argv[1], argv[3], static_cast<std::size_t>(std::atoi(argv[4])));
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
