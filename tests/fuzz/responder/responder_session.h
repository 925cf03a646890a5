// A session with one Nic, read from any bytes: see README.md. Aborts when something reaches beyond registered
// memory or an invariant breaks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/wire/opcode.h"
#include "irn_provider/nic/nic.h"

namespace rocelab::fuzz {

// What a session reached; for tests that ask whether the bytes got anywhere.
struct SessionOutcome {
  std::uint64_t packets = 0, placed = 0, receive_cqes = 0, read_responses = 0, naks = 0, errors = 0;
  std::uint64_t binds = 0, invalidated = 0;  // memory windows; invalidated by the peer
  std::uint64_t foreign = 0;                 // packets that were refused for where they came from
};
SessionOutcome run_responder_session(std::span<const std::uint8_t> bytes);

// Numbers from the session's bytes; zeros when they are used up.
class ByteSource {
 public:
  explicit ByteSource(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  bool empty() const { return bytes_.empty(); }
  std::uint8_t u8() {
    if (bytes_.empty()) return 0;
    const std::uint8_t value = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return value;
  }
  std::uint32_t u16() { return u8() | std::uint32_t{u8()} << 8; }
  std::uint32_t u32() { return u16() | u16() << 16; }
  std::uint64_t u64() { return u32() | std::uint64_t{u32()} << 32; }
  // True for 1 of `n` bytes' values: mistakes are rare enough for sessions to get on.
  bool one_in(std::uint32_t n) { return u8() < 256 / n; }

 private:
  std::span<const std::uint8_t> bytes_;
};

// An address space of its own: every access must lie in a region that is registered now, and that region, or
// a window that was bound to it once, must allow it.
class CheckedMemory final : public Memory {
 public:
  static constexpr std::uint64_t kBase = 0x7f0000000000;
  static constexpr std::size_t kBytes = 1 << 16;
  struct Region {
    RKey key;
    std::uint64_t addr = 0, length = 0;
    std::uint32_t access = 0;
  };
  void write(std::uint64_t addr, const std::byte* bytes, std::uint32_t length) override;
  void read(std::uint64_t addr, std::byte* bytes, std::uint32_t length) override;
  std::uint64_t compare_swap(std::uint64_t addr, std::uint64_t compare, std::uint64_t swap) override;
  std::uint64_t fetch_add(std::uint64_t addr, std::uint64_t add) override;
  std::vector<Region> regions, windows;
  std::uint64_t placed = 0;

 private:
  void check(std::uint64_t addr, std::uint32_t length, std::uint32_t any_of) const;
  std::uint64_t exchange(std::uint64_t addr, std::uint64_t value, std::optional<std::uint64_t> only_if);
  std::vector<std::byte> bytes_ = std::vector<std::byte>(kBytes);
};

// What an honest peer would know, so that packets can be nearly right.
struct PeerView {
  UnwrappedPsn request_psn = 0;   // next request that the NIC expects
  UnwrappedPsn response_psn = 0;  // next response that the NIC's requester expects (READ responses: rPSN)
  UnwrappedPsn sent_psn = 0;      // one past the highest request that the NIC sent
  UnwrappedPsn read_psn = 0;      // one past the highest READ response that the NIC sent
  std::uint32_t receive_sn = 0, read_sn = 0;
};

class ResponderSession {
 public:
  explicit ResponderSession(std::span<const std::uint8_t> bytes);
  SessionOutcome run();

 private:
  static constexpr std::uint32_t kMtu = 256;

  void step();
  void use_rc3();
  void connect();
  void reconnect();
  void change_memory();
  MwBinding binding();
  void post_receive();
  void post_send();
  void pass_time();
  void drain(int packets);
  void learn(const Packet& packet);
  void poll();
  const CheckedMemory::Region& region();
  Sge sge();
  // responder_packets.cc
  void deliver(Packet packet);
  void move_elsewhere(Packet& packet);
  std::uint32_t payload_length(const OpcodeInfo& info);
  UnwrappedPsn near(UnwrappedPsn psn);
  void address(RoceHeaders& headers);
  void send_request();
  void send_answer();
  void send_noise();

  ByteSource in_;
  NicConfig config_;
  PacketPool pool_;
  CheckedMemory memory_;
  NullTrace trace_;
  std::optional<Nic> nic_;
  Pdn pd_;
  Cqn cq_;
  std::array<RKey, 2> windows_;  // one of either type, by the keys that they were given last
  Qpn qp_;
  QpAttr attr_;
  Time now_;
  PeerView peer_;
  SessionOutcome outcome_;
};

}  // namespace rocelab::fuzz
