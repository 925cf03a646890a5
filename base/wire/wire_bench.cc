// Nanoseconds of the wire format, without a NIC or a kernel: the ICRC beside a copy of the same bytes, both
// of packets in the caches and of packets that come from memory, and the headers and ICRCs of what a small
// WRITE puts on a wire, message and acknowledgement, written and parsed. Counters are per packet, or per such
// pair.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "base/wire/frame.h"
#include "base/wire/icrc.h"
#include "base/wire/opcode.h"
#include "base/wire/test_frames.h"

namespace rocelab {
namespace {

constexpr std::size_t kBeyondCaches = 256u << 20, kHeadersAndPad = 60;

void count(benchmark::State& state, const char* what) {
  state.counters[what] = benchmark::Counter(static_cast<double>(state.iterations()),
                                            benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// Packets of `state.range(0)` payload bytes, one behind the other in `memory` bytes, as long as the caller
// asks.
class Packets {
 public:
  Packets(const benchmark::State& state, std::size_t memory)
      : length_(static_cast<std::size_t>(state.range(0)) + kHeadersAndPad),
        bytes_(std::max(memory, length_), std::byte{0x5a}) {}

  std::span<const std::byte> next() {
    if (at_ + length_ > bytes_.size()) at_ = 0;
    const auto packet = std::span(bytes_).subspan(at_, length_);
    at_ += length_;
    return packet;
  }
  std::size_t length() const { return length_; }

 private:
  const std::size_t length_;
  const std::vector<std::byte> bytes_;
  std::size_t at_ = 0;
};

void sum(benchmark::State& state, std::size_t memory) {
  Packets packets(state, memory);
  for (auto _ : state) benchmark::DoNotOptimize(icrc(packets.next(), true));
  count(state, "per_packet");
}

void copy(benchmark::State& state, std::size_t memory) {
  Packets packets(state, memory);
  std::vector<std::byte> out(packets.length());
  for (auto _ : state) {
    std::memcpy(out.data(), packets.next().data(), out.size());
    benchmark::ClobberMemory();
  }
  count(state, "per_packet");
}

void BM_Icrc(benchmark::State& state) { sum(state, 0); }
void BM_Copy(benchmark::State& state) { copy(state, 0); }
void BM_IcrcFromMemory(benchmark::State& state) { sum(state, kBeyondCaches); }
void BM_CopyFromMemory(benchmark::State& state) { copy(state, kBeyondCaches); }
BENCHMARK(BM_Icrc)->Arg(8)->Arg(1024)->Arg(4096);
BENCHMARK(BM_Copy)->Arg(8)->Arg(1024)->Arg(4096);
BENCHMARK(BM_IcrcFromMemory)->Arg(4096);
BENCHMARK(BM_CopyFromMemory)->Arg(4096);

struct Frame {
  Frame(Operation operation, std::size_t payload_bytes) : payload(payload_bytes) {
    roce = test::filled_headers(make_opcode(TransportClass::kRc, operation), payload_bytes);
    bytes.resize(frame_length(roce, payload_bytes, true));
    write();
  }
  void write() { write_frame(test::address_v4(), roce, payload, bytes); }

  RoceHeaders roce;
  test::ByteVector payload, bytes;
};

struct MessageAndAck {
  Frame message{Operation::kWriteOnly, 8}, ack{Operation::kAck, 0};
};

void BM_WriteMessageAndAck(benchmark::State& state) {
  MessageAndAck pair;
  for (auto _ : state) {
    pair.message.write();
    pair.ack.write();
    benchmark::ClobberMemory();
  }
  count(state, "per_packet");
}
BENCHMARK(BM_WriteMessageAndAck);

void BM_ParseMessageAndAck(benchmark::State& state) {
  MessageAndAck pair;
  FrameError why{};
  for (auto _ : state)
    for (Frame* frame : {&pair.message, &pair.ack}) {
      const auto parsed = parse_frame(std::span<std::byte>(frame->bytes), IcrcCheck::kVerify, &why);
      if (!parsed) return state.SkipWithError("a frame that was written does not parse");
      benchmark::DoNotOptimize(parsed->roce.psn);
    }
  count(state, "per_packet");
}
BENCHMARK(BM_ParseMessageAndAck);

}  // namespace
}  // namespace rocelab

BENCHMARK_MAIN();
