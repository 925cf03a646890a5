// PacketSocket: frames from and to a network interface by a packet socket: they come in a ring that is read
// without a call (receive_ring.h), and leave in batches, with frames of one flow that leave together as one
// (train.h). What its filter does not take is not seen, nor what the machine itself sends.
#pragma once

#include <linux/filter.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "irn_provider/realtime/frame_port.h"
#include "irn_provider/realtime/receive_ring.h"
#include "irn_provider/realtime/train.h"
#include "irn_provider/realtime/train_packer.h"

namespace rocelab::direct {

class PacketSocket final : public FramePort {
 public:
  // Throws std::runtime_error with a line that says what to do. `longest`: bytes of a frame that is sent.
  PacketSocket(const std::string& interface, const std::vector<sock_filter>& filter, std::uint32_t longest);
  ~PacketSocket() override;
  PacketSocket(const PacketSocket&) = delete;
  PacketSocket& operator=(const PacketSocket&) = delete;

  Icrc icrc() const override { return Icrc::kPresent; }
  int fd() const override { return fd_; }
  bool before_sleep() override { return true; }
  void clear_error() override;

  bool waits() const override { return ring_->waits(); }

  std::span<const Arrival> receive() override { return ring_->receive(); }
  void release() override { ring_->release(); }
  // Whether frames to multicast groups come from the interface; `filter` replaces the one before. 0, or the
  // errno with which the kernel refuses it (ENOMEM, EPERM): then it is as before.
  int take_groups(bool on, const std::vector<sock_filter>& filter);
  // Whether more than this part (0 to 1) of the room that the kernel has for our frames is taken.
  bool fuller_than(double part) const { return ring_->fuller_than(part); }
  std::uint64_t dropped();  // frames that the kernel had no room for, so far
  bool link_up() const;     // the interface is up and has a carrier; any thread

  static constexpr std::uint32_t kBatch = 128;  // frames: fill() flushes them when they are so many
  std::uint32_t room() const { return kBatch - packer_.frames(); }  // of a batch, still to come
  Slot place(const Flow& flow, std::size_t length, Kind kind) override;
  void fill() override;
  bool flush() override;
  bool stuck() const override { return stuck_; }
  // With frames that the interface will never take (it is down ...).
  std::uint64_t lost() override { return dropped() + refused_; }

 private:
  using Train = TrainPacker::Train;

  // In front of each frame its KernelHeader, which stays that of a single one: so it leaves as one piece.
  static constexpr std::size_t kFront = 64;
  static_assert(kFront >= sizeof(KernelHeader));
  static constexpr std::size_t kOnePiece = 512;  // bytes of a train that are worth a copy

  std::span<std::byte> slot_of(std::uint32_t i) {
    return {slots_.get() + i * (kFront + slot_bytes_) + kFront, slot_bytes_};
  }
  std::span<const std::byte> with_kernel_header(std::uint32_t slot) {
    return {slot_of(slot).data() - sizeof(KernelHeader), sizeof(KernelHeader) + packer_.length(slot)};
  }
  std::span<const std::byte> payload_of(std::uint32_t slot, const Train& train) {
    return slot_of(slot).subspan(train.headers, packer_.length(slot) - train.headers);
  }
  void open(const std::string& interface, const std::vector<sock_filter>& filter);
  void build();
  std::span<const std::byte> in_one_piece(const Train& train);
  int send_some();

  const std::string name_;
  int fd_ = -1, interface_ = 0;
  std::uint64_t dropped_ = 0, refused_ = 0;

  std::optional<ReceiveRing> ring_;

  std::size_t slot_bytes_;
  std::unique_ptr<std::byte[]> slots_;
  TrainPacker packer_{kBatch};
  std::size_t next_ = 0;  // train that has not left
  bool built_ = false;    // messages_ says what the trains are
  bool stuck_ = false;
  struct Head {
    KernelHeader kernel;
    std::array<std::byte, kMaxHeaders> bytes;
  };
  std::array<Head, kBatch> heads_;  // of trains
  std::vector<iovec> parts_;
  std::vector<mmsghdr> messages_;  // one of each train
  std::array<std::byte, kOnePiece> piece_{};
};

// A socket on UDP port 4791 that reads nothing: without one the kernel answers every RoCE frame with "port
// unreachable". -1: somebody else has the port, who answers or not as he likes.
int quiet_udp_socket();

}  // namespace rocelab::direct
