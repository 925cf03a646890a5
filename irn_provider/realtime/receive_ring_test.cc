// Frames that a packet socket gets, short and long, through the kernel: on the loopback interface of a
// network namespace of the test's own.
#include "irn_provider/realtime/receive_ring.h"

#include <gtest/gtest.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <functional>
#include <thread>
#include <vector>

#include "base/wire/bytes.h"
#include "base/wire/frame.h"
#include "irn_provider/realtime/packet_socket.h"

namespace rocelab::direct {
namespace {

using Bytes = std::vector<std::byte>;
constexpr std::size_t kShort = 100, kLong = 3'000;  // bytes of a frame: of a slot, and more than that
constexpr std::uint32_t kLongest = 9'000;

std::vector<sock_filter> take(std::uint32_t bytes) { return {{BPF_RET | BPF_K, 0, 0, bytes}}; }

bool set_link(bool up) {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq flags{};
  std::snprintf(flags.ifr_name, sizeof flags.ifr_name, "lo");
  flags.ifr_flags = up ? IFF_UP : 0;
  const bool done = ioctl(fd, SIOCSIFFLAGS, &flags) == 0;
  close(fd);
  return done;
}

// False: not allowed here.
bool enter_own_namespace() { return unshare(CLONE_NEWNET) == 0 && set_link(true); }

// Begins with `number`, of an EtherType for local experiments.
Bytes make_frame(std::size_t bytes, std::uint32_t number) {
  Bytes frame(bytes, static_cast<std::byte>(number));
  wire::store16(frame, 12, 0x88b5);
  wire::store32(frame, 14, number);
  return frame;
}

class ReceiveRingTest : public ::testing::Test {
 protected:
  // A namespace is a thread's: all of a test runs in one that ends with it.
  void in_namespace(const std::function<void()>& test) {
    bool skipped = false;
    std::thread([&] {
      if ((skipped = !enter_own_namespace())) return;
      in_.emplace("lo", take(0x40000), kLongest);
      out_.emplace("lo", take(0), kLongest);
      test();
      out_.reset();
      in_.reset();
    }).join();
    if (skipped) GTEST_SKIP() << "needs root";
  }
  void send(std::size_t bytes, std::uint32_t number) {
    const Bytes frame = make_frame(bytes, number);
    // No two frames of one flow: each goes by itself.
    const FramePort::Slot slot = out_->place({nullptr, number}, bytes, FramePort::Kind::kData);
    std::copy(frame.begin(), frame.end(), slot.bytes.begin());
    out_->fill();
    ASSERT_TRUE(out_->flush());
  }
  std::vector<Bytes> receive() {
    std::vector<Bytes> all;
    while (true) {
      const std::span<const FramePort::Arrival> arrivals = in_->receive();
      for (const FramePort::Arrival& arrival : arrivals)
        all.emplace_back(arrival.bytes.begin(), arrival.bytes.end());
      in_->release();
      if (!in_->waits()) return all;
    }
  }
  std::optional<PacketSocket> in_, out_;
};

TEST_F(ReceiveRingTest, ShortAndLongFramesComeWholeAndInOrder) {
  in_namespace([&] {
    EXPECT_FALSE(in_->waits());
    std::vector<Bytes> sent;
    for (std::uint32_t i = 0; i < 100; ++i) {
      const std::size_t bytes = i % 3 == 0 ? kLong + i : i % 7 == 0 ? ReceiveRing::kSlotBytes : kShort + i;
      sent.push_back(make_frame(bytes, i));
      send(bytes, i);
    }
    EXPECT_TRUE(in_->waits());
    EXPECT_EQ(receive(), sent);
    EXPECT_FALSE(in_->waits());
    EXPECT_TRUE(in_->receive().empty());
    EXPECT_EQ(in_->lost(), 0u);
  });
}

TEST_F(ReceiveRingTest, SlotsComeRoundAgain) {
  in_namespace([&] {
    std::uint32_t next = 0;
    for (std::uint32_t i = 0; i < 2 * ReceiveRing::kSlots + 100; ++i) {
      send(i % 5 == 0 ? kLong : kShort, i);
      if (i % 50 != 49) continue;
      for (const Bytes& frame : receive()) ASSERT_EQ(wire::load32(frame, 14), next++);
      ASSERT_EQ(next, i + 1);
    }
    EXPECT_EQ(in_->lost(), 0u);
  });
}

TEST_F(ReceiveRingTest, MoreThanThereAreSlotsIsLostAndCounted) {
  in_namespace([&] {
    EXPECT_FALSE(in_->fuller_than(0.06));
    for (std::uint32_t i = 0; i < ReceiveRing::kSlots + 10; ++i) send(kShort, i);
    EXPECT_TRUE(in_->fuller_than(0.06));
    EXPECT_EQ(in_->lost(), 10u);
    EXPECT_EQ(receive().size(), ReceiveRing::kSlots);
    EXPECT_FALSE(in_->fuller_than(0));
    send(kShort, 7);
    EXPECT_EQ(receive(), std::vector<Bytes>{make_frame(kShort, 7)});
  });
}

TEST_F(ReceiveRingTest, LongFramesThatTheQueueHasNoRoomForAreLostAndShortOnesAreNot) {
  in_namespace([&] {
    const int little = 20'000;
    setsockopt(in_->fd(), SOL_SOCKET, SO_RCVBUF, &little, sizeof little);
    for (std::uint32_t i = 0; i < 100; ++i) send(i % 2 == 0 ? kLong : kShort, i);
    EXPECT_TRUE(in_->fuller_than(0.5));
    std::uint64_t longs = 0, shorts = 0;
    std::int64_t last = -1;
    for (const Bytes& frame : receive()) {
      const std::uint32_t number = wire::load32(frame, 14);
      ASSERT_GT(number, last);  // in order
      last = number;
      ASSERT_EQ(frame, make_frame(number % 2 == 0 ? kLong : kShort, number));
      ++(number % 2 == 0 ? longs : shorts);
    }
    EXPECT_EQ(shorts, 50u);
    EXPECT_GT(longs, 1u);
    EXPECT_LT(longs, 50u);
    EXPECT_EQ(in_->lost(), 50 - longs);
  });
}

TEST_F(ReceiveRingTest, FramesKeepTheirSlotsWhenTheInterfaceGoesDown) {
  in_namespace([&] {
    for (std::uint32_t round = 0; round < 3; ++round) {
      std::vector<Bytes> sent;
      for (std::uint32_t i = 0; i < 5; ++i) {
        sent.push_back(make_frame(i == 3 ? kShort : kLong, 10 * round + i));
        send(i == 3 ? kShort : kLong, 10 * round + i);
      }
      if (round == 1) {
        ASSERT_TRUE(set_link(false) && set_link(true));
        out_->clear_error();  // else the next frame is lost to it
      }
      EXPECT_EQ(receive(), sent) << round;
    }
  });
}

TEST_F(ReceiveRingTest, AnInterfaceThatGoesDownIsToldOnce) {
  in_namespace([&] {
    const auto told = [&] {
      pollfd fd{in_->fd(), POLLIN, 0};
      return poll(&fd, 1, 0) == 1 ? fd.revents : 0;
    };
    EXPECT_EQ(told(), 0);
    ASSERT_TRUE(set_link(false));
    EXPECT_EQ(told() & POLLERR, POLLERR);
    in_->clear_error();
    EXPECT_EQ(told(), 0);
  });
}

// Of four frames.
class TrainTest : public ReceiveRingTest {
 protected:
  std::vector<Bytes> send_train(std::size_t payload) {
    std::vector<Bytes> sent;
    for (std::uint32_t i = 0; i < 4; ++i) {
      FrameAddress address;
      address.src_gid = ipv4_mapped({10, 0, 0, 2});
      address.dst_gid = ipv4_mapped({10, 0, 0, 1});
      RoceHeaders roce;
      roce.opcode = 0x01;  // RC SEND Middle
      roce.dest = Qpn{0x1234};
      roce.psn = Psn(i);
      Bytes frame(payload + 160);
      const auto slot = out_->place({nullptr, 1}, payload + 58, FramePort::Kind::kData);
      address.ip_id = slot.ip_id;
      frame.resize(write_frame(address, roce, Bytes(payload, static_cast<std::byte>(i)), frame));
      EXPECT_EQ(frame.size(), payload + 58);
      std::copy(frame.begin(), frame.end(), slot.bytes.begin());
      out_->fill();
      sent.push_back(std::move(frame));
    }
    EXPECT_TRUE(out_->flush());
    return sent;
  }
  // What comes, as one.
  std::vector<Bytes> receive_train(std::size_t payload) {
    std::vector<Bytes> came;
    const auto arrivals = in_->receive();
    EXPECT_EQ(arrivals.size(), 1u);
    for (const FramePort::Arrival& arrival : arrivals) {
      EXPECT_EQ(arrival.segment, payload + 16);  // with BTH and ICRC
      cut_train(arrival.bytes, arrival.segment,
                [&](std::span<std::byte> f) { came.emplace_back(f.begin(), f.end()); });
    }
    in_->release();
    return came;
  }
};

TEST_F(TrainTest, IsCutIntoTheFramesThatItWasMadeOf) {
  in_namespace([&] {
    for (const std::size_t payload : {std::size_t{8}, std::size_t{1'024}}) {  // of a slot; more than that
      const std::vector<Bytes> sent = send_train(payload);
      EXPECT_EQ(receive_train(payload), sent) << payload;
    }
  });
}

TEST_F(TrainTest, ThatTheInterfaceDoesNotTakeIsLostAndLaterOnesAreTrains) {
  in_namespace([&] {
    ASSERT_TRUE(set_link(false));
    send_train(1'024);
    EXPECT_EQ(out_->lost(), 4u);
    ASSERT_TRUE(set_link(true));
    out_->clear_error();
    const std::vector<Bytes> sent = send_train(1'024);
    EXPECT_EQ(receive_train(1'024), sent);
    EXPECT_EQ(out_->lost(), 4u);
  });
}

}  // namespace
}  // namespace rocelab::direct
