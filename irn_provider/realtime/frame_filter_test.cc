#include "irn_provider/realtime/frame_filter.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "base/wire/pfc.h"

namespace rocelab::direct {
namespace {

constexpr Gid kGid0 = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0xff, 0xfe, 0, 0, 1};
constexpr FilterPlan kPlan = {.ipv4 = 0x0a000001, .gid0 = kGid0, .first_qpn = 0x2000, .qpns = 0x1000};

// The kernel's own judgement: a datagram through a socket that has the filter.
class FrameFilterTest : public ::testing::Test {
 protected:
  FrameFilterTest() {
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends_.data()), 0);
    attach(kPlan);
  }
  void attach(const FilterPlan& plan) {
    std::vector<sock_filter> code = frame_filter(plan);
    const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
    EXPECT_EQ(setsockopt(ends_[1], SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program), 0);
  }
  ~FrameFilterTest() override {
    for (const int fd : ends_) close(fd);
  }

  // Length of what the filter lets through; 0: nothing.
  std::size_t passes(std::span<const std::byte> frame) {
    EXPECT_EQ(send(ends_[0], frame.data(), frame.size(), MSG_DONTWAIT), static_cast<ssize_t>(frame.size()));
    std::array<std::byte, 8192> buffer;
    const ssize_t n = recv(ends_[1], buffer.data(), buffer.size(), MSG_DONTWAIT);
    return n > 0 ? static_cast<std::size_t>(n) : 0;
  }

  static std::vector<std::byte> frame(bool is_ipv4, std::uint32_t qpn, std::size_t payload = 4096) {
    FrameAddress a;
    a.is_ipv4 = is_ipv4;
    a.src_gid = is_ipv4 ? ipv4_mapped({10, 0, 0, 2}) : Gid{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 2};
    a.dst_gid = is_ipv4 ? ipv4_mapped({10, 0, 0, 1}) : kGid0;
    RoceHeaders roce;
    roce.opcode = 0x04;  // RC SEND Only
    roce.dest = Qpn{qpn};
    std::vector<std::byte> bytes(payload + 160);
    bytes.resize(write_frame(a, roce, std::vector<std::byte>(payload), bytes));
    return bytes;
  }

 private:
  std::array<int, 2> ends_{};
};

TEST_F(FrameFilterTest, TakesWholeFramesToOwnQpnsAndToQp1) {
  for (const bool is_ipv4 : {true, false})
    for (const std::uint32_t qpn : {1u, 0x2000u, 0x2fffu}) {
      const auto bytes = frame(is_ipv4, qpn);
      EXPECT_EQ(passes(bytes), bytes.size()) << is_ipv4 << " " << qpn;
    }
}

TEST_F(FrameFilterTest, RefusesOthersQpns) {
  for (const bool is_ipv4 : {true, false})
    for (const std::uint32_t qpn : {0u, 2u, 0x1fffu, 0x3000u, 0xffffffu})
      EXPECT_EQ(passes(frame(is_ipv4, qpn)), 0u) << is_ipv4 << " " << qpn;
}

TEST_F(FrameFilterTest, RefusesWhatIsNotForThisHostsRoce) {
  struct Change {
    const char* what;
    bool is_ipv4;
    std::size_t at;
    std::uint8_t value;
  };
  for (const Change& c :
       {Change{"EtherType", true, 13, 0x06}, Change{"protocol", true, 23, 6}, Change{"address", true, 33, 9},
        Change{"fragment offset", true, 21, 1}, Change{"more fragments", true, 20, 0x20},
        Change{"IP options", true, 14, 0x46}, Change{"port", true, 37, 0xb8},
        Change{"next header", false, 20, 6}, Change{"first word of the address", false, 38, 0xff},
        Change{"last word of the address", false, 53, 9}, Change{"port", false, 57, 0xb8}}) {
    auto bytes = frame(c.is_ipv4, 0x2000);
    ASSERT_EQ(passes(bytes), bytes.size());
    bytes[c.at] = std::byte{c.value};
    EXPECT_EQ(passes(bytes), 0u) << c.what;
  }
}

TEST_F(FrameFilterTest, TakesDatagramsToGroupsOnlyWhenAsked) {
  constexpr std::size_t kAddressAt[] = {38, 30};
  const auto to_group = [&](bool is_ipv4, std::uint32_t qpn, std::uint8_t first) {
    auto bytes = frame(is_ipv4, qpn);
    bytes[kAddressAt[is_ipv4]] = std::byte{first};
    return passes(bytes) == bytes.size();
  };
  for (const bool asked : {false, true, false}) {
    FilterPlan plan = kPlan;
    plan.groups = asked;
    attach(plan);
    for (const std::uint8_t first : {std::uint8_t{224}, std::uint8_t{239}})
      EXPECT_EQ(to_group(true, 0xffffff, first), asked);
    for (const std::uint8_t first : {std::uint8_t{223}, std::uint8_t{240}, std::uint8_t{255}})
      EXPECT_FALSE(to_group(true, 0xffffff, first));
    EXPECT_EQ(to_group(false, 0xffffff, 0xff), asked);
    EXPECT_FALSE(to_group(true, 0x2000, 239));
    EXPECT_FALSE(to_group(false, 0x2000, 0xff));
    for (const bool is_ipv4 : {true, false}) {  // and to the host as before
      EXPECT_GT(passes(frame(is_ipv4, 0x2000)), 0u);
      EXPECT_EQ(passes(frame(is_ipv4, 0xffffff)), 0u);
    }
  }
}

TEST_F(FrameFilterTest, TakesPauseFrames) {
  std::array<std::byte, PfcFrame::kSize> pfc;
  PfcFrame{}.write(pfc, {2, 0, 0, 0, 0, 2});
  EXPECT_EQ(passes(pfc), pfc.size());
}

TEST_F(FrameFilterTest, RefusesFramesThatEndBeforeTheirQpn) {
  const auto bytes = frame(true, 0x2000);
  EXPECT_GT(passes(std::span(bytes).first(50)), 0u);
  EXPECT_EQ(passes(std::span(bytes).first(49)), 0u);
  EXPECT_EQ(passes(std::span(bytes).first(1)), 0u);
}

}  // namespace
}  // namespace rocelab::direct
