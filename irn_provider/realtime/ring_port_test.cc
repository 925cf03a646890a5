// Names are per network namespace: these take one that no interface has.
#include "irn_provider/realtime/ring_port.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "base/wire/cm/mad.h"
#include "irn_provider/live/packet_edge.h"

namespace rocelab::direct {
namespace {

constexpr std::uint32_t kLongest = 4300;
using Bytes = std::vector<std::byte>;

struct End {
  explicit End(const HostEntry& host, const std::string& key)
      : share(InterfaceShare::join(host, key)), port(*share, kLongest) {}
  std::uint32_t qpn() const { return first_qpn_of(share->vf()); }
  void send(std::uint32_t dest, const Bytes& frame) {
    const FramePort::Slot slot = port.place({nullptr, dest}, frame.size(), FramePort::Kind::kData);
    std::copy(frame.begin(), frame.end(), slot.bytes.begin());
    port.fill();
  }
  std::vector<Bytes> receive() {
    std::vector<Bytes> all;
    for (const FramePort::Arrival& arrival : port.receive())
      all.emplace_back(arrival.shared.begin(), arrival.shared.end());
    port.release();
    return all;
  }
  bool readable() const {
    pollfd fd{port.fd(), POLLIN, 0};
    return poll(&fd, 1, 0) == 1;
  }
  std::unique_ptr<InterfaceShare> share;
  RingPort port;
};

class RingPortTest : public ::testing::Test {
 protected:
  RingPortTest() {
    host_.ipv4 = 0x7f000001;
    host_.mac = {2, 0, 0, 0, 0, 1};
  }
  HostEntry host_;
  const std::string key_ = "shm:test" + std::to_string(getpid());
};

TEST_F(RingPortTest, FramesGoBetweenVfsAndToOneself) {
  End a(host_, key_), b(host_, key_);
  const Bytes first(4200, std::byte{1}), second(60, std::byte{2});
  a.send(b.qpn(), first);
  a.send(b.qpn() + 5, second);
  EXPECT_TRUE(b.receive().empty());  // not before flush()
  EXPECT_TRUE(a.port.flush());
  EXPECT_EQ(b.receive(), (std::vector<Bytes>{first, second}));
  a.send(a.qpn(), second);
  a.port.flush();
  EXPECT_EQ(a.receive(), std::vector<Bytes>{second});
  EXPECT_TRUE(b.receive().empty());
  EXPECT_EQ(a.port.lost() + b.port.lost(), 0u);
}

TEST_F(RingPortTest, FramesToQp1GoToAll) {
  End a(host_, key_), b(host_, key_), c(host_, key_);
  const Bytes frame(300, std::byte{3});
  a.send(kGsiQpn.value, frame);
  a.port.flush();
  for (End* end : {&a, &b, &c}) EXPECT_EQ(end->receive(), std::vector<Bytes>{frame});
}

TEST_F(RingPortTest, FramesToNobodyAreLost) {
  End a(host_, key_);
  for (const std::uint32_t dest : {first_qpn_of(1), first_qpn_of(40), 0u, 0xfffffeu})
    a.send(dest, Bytes(100));
  EXPECT_TRUE(a.port.flush());
  EXPECT_FALSE(a.port.stuck());
  EXPECT_EQ(a.port.lost(), 1u);  // the others name no VF at all
}

TEST_F(RingPortTest, OnlyASleeperIsWoken) {
  End a(host_, key_), b(host_, key_);
  a.send(b.qpn(), Bytes(100));
  a.port.flush();
  EXPECT_FALSE(b.readable());
  EXPECT_FALSE(b.port.before_sleep());  // one waits already
  b.receive();
  EXPECT_TRUE(b.port.before_sleep());
  for (int i = 0; i < 3; ++i) {
    a.send(b.qpn(), Bytes(100));
    a.port.flush();
  }
  EXPECT_TRUE(b.readable());
  b.port.after_sleep(true);
  EXPECT_TRUE(b.readable());  // another thread may sleep on it: until the frames are taken
  EXPECT_EQ(b.receive().size(), 3u);
  EXPECT_FALSE(b.readable());
  EXPECT_TRUE(b.port.before_sleep());
  b.port.before_poll();  // another thread polls instead
  a.send(b.qpn(), Bytes(100));
  a.port.flush();
  EXPECT_FALSE(b.readable());
}

TEST_F(RingPortTest, AFullRingTakesFramesLaterAndInOrder) {
  End a(host_, key_), b(host_, key_);
  std::uint8_t n = 0;
  for (; !a.port.stuck(); ++n) {
    ASSERT_LT(n, 200);
    a.send(b.qpn(), Bytes(4200, std::byte{n}));
  }
  std::uint8_t got = 0;
  while (got < n) {
    a.port.flush();
    const std::vector<Bytes> some = b.receive();
    ASSERT_FALSE(some.empty());
    EXPECT_LE(some.size(), FramePort::kReceiveBatch);
    for (const Bytes& frame : some) EXPECT_EQ(frame, Bytes(4200, std::byte{got++}));
  }
  EXPECT_FALSE(a.port.stuck());
  EXPECT_EQ(a.port.lost(), 0u);
}

TEST_F(RingPortTest, AReceiverThatTakesNothingLosesFramesAndOthersDoNot) {
  End a(host_, key_), silent(host_, key_), other(host_, key_);
  while (!a.port.stuck()) a.send(silent.qpn(), Bytes(4200));
  while (!a.port.flush()) {
  }
  EXPECT_EQ(a.port.lost(), 1u);
  a.send(silent.qpn(), Bytes(4200));  // no more patience
  EXPECT_FALSE(a.port.stuck());
  EXPECT_EQ(a.port.lost(), 2u);
  a.send(other.qpn(), Bytes(100));
  EXPECT_TRUE(a.port.flush());
  EXPECT_EQ(other.receive().size(), 1u);
  EXPECT_FALSE(silent.receive().empty());
  a.send(silent.qpn(), Bytes(4200));  // it takes again
  EXPECT_EQ(a.port.lost(), 2u);
}

TEST_F(RingPortTest, AKilledProcessLosesItsFramesAndTheNextOneHearsNothingOfIt) {
  std::array<int, 2> ready{};
  ASSERT_EQ(pipe(ready.data()), 0);
  const pid_t other = fork();
  if (other == 0) {
    End end(host_, key_);  // VF 0
    const char ok = 'y';
    if (write(ready[1], &ok, 1) == 1) pause();
    _exit(0);
  }
  char ok = 0;
  ASSERT_EQ(read(ready[0], &ok, 1), 1);
  close(ready[0]);
  close(ready[1]);
  End mine(host_, key_);
  ASSERT_EQ(mine.share->vf(), 1u);
  mine.send(first_qpn_of(0), Bytes(100, std::byte{1}));
  mine.port.flush();
  EXPECT_EQ(mine.port.lost(), 0u);
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
  mine.share->sweep();
  mine.send(first_qpn_of(0), Bytes(100, std::byte{2}));
  mine.port.flush();
  EXPECT_EQ(mine.port.lost(), 1u);
  End next(host_, key_);
  ASSERT_EQ(next.share->vf(), 0u);
  EXPECT_TRUE(next.receive().empty());
  mine.send(next.qpn(), Bytes(100, std::byte{3}));
  mine.port.flush();
  EXPECT_EQ(next.receive(), std::vector<Bytes>{Bytes(100, std::byte{3})});
}

TEST_F(RingPortTest, MalformedRingsAreCountedAndOtherPeersGoOn) {
  End a(host_, key_), b(host_, key_), bad(host_, key_);
  bad.send(b.qpn(), Bytes(100));
  bad.port.flush();
  b.share->rings().counters(bad.share->vf(), b.share->vf()).tail = 0x123456789;
  b.share->rings().bell(b.share->vf()).pending = ~0u;  // rings that nobody has, too
  a.send(b.qpn(), Bytes(200));
  a.port.flush();
  EXPECT_EQ(b.receive(), std::vector<Bytes>{Bytes(200)});
  EXPECT_EQ(b.port.malformed(), 1u);
}

// In a mount namespace of the calling thread, whose /dev/shm has this much room. False: not allowed here.
bool enter_little_shm(const char* size) {
  return unshare(CLONE_FS | CLONE_NEWNS) == 0 &&
         mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("little", "/dev/shm", "tmpfs", 0, size) == 0;
}

TEST_F(RingPortTest, APeerForWhoseRingThereWasNoMemoryIsReachedWhenThereIs) {
  bool skipped = false;
  std::thread([&] {
    if ((skipped = !enter_little_shm("size=3m"))) return;
    End a(host_, key_), b(host_, key_);
    const int rest = open("/dev/shm/rest", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    const std::vector<char> page(4096);
    while (write(rest, page.data(), page.size()) > 0) {
    }
    a.send(b.qpn(), Bytes(100, std::byte{1}));
    a.port.flush();
    EXPECT_EQ(a.port.lost(), 1u);
    EXPECT_EQ(ftruncate(rest, 0), 0);
    a.send(b.qpn(), Bytes(100, std::byte{2}));
    a.port.flush();
    EXPECT_EQ(a.port.lost(), 2u) << "not so soon";
    std::this_thread::sleep_for(std::chrono::nanoseconds(RingPort::kTryMemoryAgain.ps() / 1'000));
    a.send(b.qpn(), Bytes(100, std::byte{3}));
    a.port.flush();
    EXPECT_EQ(b.receive(), std::vector<Bytes>{Bytes(100, std::byte{3})});
    close(rest);
  }).join();
  if (skipped) GTEST_SKIP() << "needs root";
}

TEST_F(RingPortTest, SignalsDoNotKeepMemoryAway) {
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = [](int) {};
  ASSERT_EQ(sigaction(SIGALRM, &action, &before), 0);
  const itimerval often{.it_interval = {0, 20}, .it_value = {0, 20}}, never{};
  setitimer(ITIMER_REAL, &often, nullptr);
  const auto share = InterfaceShare::join(host_, key_);
  for (std::uint32_t to = 0; to < kMaxVfsPerHost; ++to) EXPECT_TRUE(share->rings().take_memory(0, to)) << to;
  setitimer(ITIMER_REAL, &never, nullptr);
  sigaction(SIGALRM, &before, nullptr);
}

// --- what a NIC makes of frames that their sender can still change

Bytes make_frame(std::uint8_t opcode, std::size_t payload) {
  FrameAddress address;
  address.src_gid = address.dst_gid = ipv4_mapped({127, 0, 0, 1});
  RoceHeaders roce;
  roce.opcode = opcode;
  roce.dest = Qpn{0x1234};
  Bytes bytes(payload + 160);
  const FrameLayout layout = write_frame_headers(address, roce, payload, bytes);
  std::ranges::fill(std::span(bytes).subspan(layout.payload, payload), std::byte{9});
  seal_frame(layout, bytes, Icrc::kNone);
  bytes.resize(layout.length);
  return bytes;
}

class SharedFrameTest : public ::testing::Test {
 protected:
  HostEntry host_;
  PacketPool pool_;
  NullTrace trace_;
  PacketEdge edge_{host_, pool_, trace_};
};

TEST_F(SharedFrameTest, HeadersAreReadInTheCopyAndPayloadWhereItLies) {
  Bytes shared = make_frame(0x01, 1024);  // RC SEND Middle
  Bytes copy(shared.size());
  std::copy_n(shared.begin(), 160, copy.begin());
  std::fill_n(shared.begin(), 54, std::byte{0xff});  // its sender changes its mind: too late
  const PacketRef packet = edge_.parse_shared(copy, shared, Time::zero());
  ASSERT_TRUE(packet);
  EXPECT_EQ(packet->roce.dest, Qpn{0x1234});
  EXPECT_EQ(packet->payload_length, 1024u);
  EXPECT_EQ(packet->payload, shared.data() + 54);
}

TEST_F(SharedFrameTest, ADatagramsPayloadStandsBehindItsGrh) {
  const Bytes shared = make_frame(0x64, 2048);  // UD SEND Only
  Bytes copy(shared.size());
  std::copy_n(shared.begin(), 160, copy.begin());
  const PacketRef packet = edge_.parse_shared(copy, shared, Time::zero());
  ASSERT_TRUE(packet);
  EXPECT_EQ(packet->payload, copy.data() + 62);
  EXPECT_EQ(packet->payload[2047], std::byte{9});
  EXPECT_EQ(packet->payload[-20], std::byte{0x45});  // the IPv4 header, at the GRH's end
}

TEST_F(SharedFrameTest, CutFramesAreCountedAndNothingElseIsRead) {
  const Bytes whole = make_frame(0x01, 1024);
  for (std::size_t n = 0; n < whole.size(); ++n) {
    Bytes shared(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n)), copy = shared;
    EXPECT_FALSE(edge_.parse_shared(copy, shared, Time::zero())) << n;
  }
  EXPECT_EQ(edge_.counters().rx_malformed, whole.size());
}

// A wire's frame has an ICRC, which is looked at.
TEST_F(SharedFrameTest, WithoutAnIcrcItIsNoFrameOfAWire) {
  Bytes frame = make_frame(0x01, 1024);
  EXPECT_FALSE(edge_.parse(frame, PacketKind::kData, Time::zero()));
  EXPECT_EQ(edge_.counters().rx_icrc_encapsulated, 1u);
}

}  // namespace
}  // namespace rocelab::direct
