// Claims: what is written to the device that is not a command of librdmacm's has an errno, and nothing else
// happens.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <rdma/rdma_user_cm.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>
#include <vector>

namespace rocelab::probe {
namespace {

struct Device {
  int fd = open("/dev/infiniband/rdma_cm", O_RDWR | O_CLOEXEC);
  ~Device() { close(fd); }

  // 0 or the errno.
  int write_bytes(const std::vector<unsigned char>& bytes) const {
    return write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) ? 0 : errno;
  }
  template <class Cmd>
  int command(unsigned number, const Cmd& cmd, std::size_t in = sizeof(Cmd), std::size_t out = 256) const {
    const rdma_ucm_cmd_hdr header{number, static_cast<__u16>(in), static_cast<__u16>(out)};
    std::vector<unsigned char> bytes(sizeof header + sizeof cmd);
    std::memcpy(bytes.data(), &header, sizeof header);
    std::memcpy(bytes.data() + sizeof header, &cmd, sizeof cmd);
    return write_bytes(bytes);
  }
  std::uint32_t create() const {
    rdma_ucm_create_id cmd{};
    rdma_ucm_create_id_resp out{};
    cmd.response = reinterpret_cast<__u64>(&out);
    cmd.ps = RDMA_PS_TCP;
    EXPECT_EQ(command(RDMA_USER_CM_CMD_CREATE_ID, cmd), 0);
    return out.id;
  }
};

TEST(CmDeviceProbe, IsACharacterDevice) {
  Device device;
  ASSERT_GE(device.fd, 0);
  struct stat st {};
  ASSERT_EQ(fstat(device.fd, &st), 0);
  EXPECT_TRUE(S_ISCHR(st.st_mode));
}

TEST(CmDeviceProbe, CommandsThatAreCutOrUnknownAreRefused) {
  Device device;
  EXPECT_EQ(device.write_bytes({}), EINVAL);
  EXPECT_EQ(device.write_bytes({1, 2, 3}), EINVAL);
  rdma_ucm_destroy_id destroy{};
  EXPECT_EQ(device.command(99, destroy), ENOSYS);
  EXPECT_EQ(device.command(RDMA_USER_CM_CMD_BIND, rdma_ucm_bind{}), ENOSYS);
  EXPECT_EQ(device.command(RDMA_USER_CM_CMD_DESTROY_ID, destroy, 4), EINVAL);       // says less than it needs
  EXPECT_EQ(device.command(RDMA_USER_CM_CMD_DESTROY_ID, destroy, 60'000), EINVAL);  // ... more than there is
  EXPECT_EQ(device.command(RDMA_USER_CM_CMD_DESTROY_ID, destroy, sizeof destroy, 0), ENOSPC);
}

TEST(CmDeviceProbe, IdentifiersBelongToTheirFile) {
  Device device, other;
  const std::uint32_t id = device.create();
  rdma_ucm_destroy_id_resp out{};
  rdma_ucm_destroy_id destroy{};
  destroy.response = reinterpret_cast<__u64>(&out);
  destroy.id = id + 1'000;
  EXPECT_EQ(device.command(RDMA_USER_CM_CMD_DESTROY_ID, destroy), ENOENT);
  destroy.id = id;
  EXPECT_EQ(other.command(RDMA_USER_CM_CMD_DESTROY_ID, destroy), EINVAL);
  EXPECT_EQ(device.command(RDMA_USER_CM_CMD_DESTROY_ID, destroy), 0);
  EXPECT_EQ(device.command(RDMA_USER_CM_CMD_DESTROY_ID, destroy), ENOENT);
}

TEST(CmDeviceProbe, CallsOutOfTurnAreEinval) {
  Device device;
  const std::uint32_t id = device.create();
  rdma_ucm_connect connect{};
  connect.id = id;
  connect.conn_param.valid = 1;
  EXPECT_EQ(device.command(RDMA_USER_CM_CMD_CONNECT, connect), EINVAL);
  rdma_ucm_accept accept{};
  accept.id = id;
  EXPECT_EQ(device.command(RDMA_USER_CM_CMD_ACCEPT, accept), EINVAL);
  EXPECT_EQ(device.command(RDMA_USER_CM_CMD_DISCONNECT, rdma_ucm_disconnect{id}), EINVAL);
  EXPECT_EQ(device.command(RDMA_USER_CM_CMD_RESOLVE_ROUTE, rdma_ucm_resolve_route{id, 0}), EINVAL);
  rdma_ucm_reject reject{};
  reject.id = id;
  EXPECT_EQ(device.command(RDMA_USER_CM_CMD_REJECT, reject), EINVAL);
}

TEST(CmDeviceProbe, WithoutAnEventANonBlockingReaderIsToldToTryAgain) {
  Device device;
  fcntl(device.fd, F_SETFL, O_NONBLOCK);
  rdma_ucm_event_resp out{};
  rdma_ucm_get_event get{reinterpret_cast<__u64>(&out)};
  EXPECT_EQ(device.command(RDMA_USER_CM_CMD_GET_EVENT, get, sizeof get, sizeof out), EAGAIN);
}

// Random commands with a valid place for the answer. GET_EVENT may not wait.
TEST(CmDeviceProbe, RandomCommandsNeverCrash) {
  Device device;
  fcntl(device.fd, F_SETFL, O_NONBLOCK);
  std::mt19937 random(1);
  std::vector<unsigned char> answer(1'024);
  const auto where = reinterpret_cast<std::uint64_t>(answer.data());
  for (int i = 0; i < 5'000; ++i) {
    std::vector<unsigned char> bytes(sizeof(rdma_ucm_cmd_hdr) + random() % 500);
    for (unsigned char& b : bytes) b = random() % 4 != 0 ? 0 : static_cast<unsigned char>(random());
    const rdma_ucm_cmd_hdr header{static_cast<__u32>(random() % 24),
                                  static_cast<__u16>(bytes.size() - sizeof header), 1'024};
    if (header.cmd == RDMA_USER_CM_CMD_SET_OPTION) continue;  // its pointer is another
    std::memcpy(bytes.data(), &header, sizeof header);
    // The answer's address is the first or second word of a command.
    for (const std::size_t at : {sizeof header, sizeof header + 8})
      if (bytes.size() >= at + 8) std::memcpy(bytes.data() + at, &where, sizeof where);
    if (bytes.size() >= 32) bytes[24] = static_cast<unsigned char>(random() % 8);  // identifiers are small
    device.write_bytes(bytes);
  }
}

}  // namespace
}  // namespace rocelab::probe
