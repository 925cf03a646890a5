// Events that a program, or its library, writes to an identifier of its own: what rdma_write_cm_event() and
// rdma_resolve_addrinfo() of later libraries need of the device. By its commands, since this library has
// neither.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <rdma/rdma_user_cm.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace rocelab::probe {
namespace {

constexpr std::uint32_t kWriteCmEvent = 24, kUser = 18, kInternal = 19;
struct WriteCmEvent {
  std::uint32_t id, reserved, event, status;
  std::uint64_t arg;
  unsigned char beyond[sizeof(rdma_ucm_ud_param) - sizeof(std::uint64_t)];
};

// 0 or errno.
template <class Cmd>
int command(int fd, std::uint32_t number, const Cmd& cmd, std::size_t out = 0) {
  struct {
    rdma_ucm_cmd_hdr header;
    Cmd cmd;
  } message{{.cmd = number, .in = sizeof cmd, .out = static_cast<__u16>(out)}, cmd};
  errno = 0;
  return write(fd, &message, sizeof message) == static_cast<ssize_t>(sizeof message) ? 0 : errno;
}

TEST(CmWriteEventProbe, AProgramTellsItselfOfAnEvent) {
  const int fd = open("/dev/infiniband/rdma_cm", O_RDWR | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  rdma_ucm_create_id_resp made{};
  rdma_ucm_create_id create{};
  create.uid = 0x1234, create.ps = 0x0106, create.qp_type = 2;  // RDMA_PS_TCP, IBV_QPT_RC
  create.response = reinterpret_cast<std::uintptr_t>(&made);
  ASSERT_EQ(command(fd, RDMA_USER_CM_CMD_CREATE_ID, create, sizeof made), 0);
  for (const std::uint32_t kind : {kUser, kInternal}) {
    WriteCmEvent event{};
    event.id = made.id, event.event = kind, event.status = 7, event.arg = 0x123456789abcdef0 + kind;
    ASSERT_EQ(command(fd, kWriteCmEvent, event), 0);
    rdma_ucm_event_resp told{};
    rdma_ucm_get_event get{};
    get.response = reinterpret_cast<std::uintptr_t>(&told);
    ASSERT_EQ(command(fd, RDMA_USER_CM_CMD_GET_EVENT, get, sizeof told), 0);
    EXPECT_EQ(told.uid, 0x1234u);
    EXPECT_EQ(told.id, made.id);
    EXPECT_EQ(told.event, kind);
    EXPECT_EQ(told.status, 7u);
    EXPECT_EQ(std::memcmp(&told.param, &event.arg, sizeof event.arg), 0);
  }
  WriteCmEvent wrong{};
  wrong.id = made.id, wrong.event = 9;  // ESTABLISHED: the device's to say
  EXPECT_EQ(command(fd, kWriteCmEvent, wrong), EINVAL);
  wrong.id = made.id + 99, wrong.event = kUser;
  EXPECT_EQ(command(fd, kWriteCmEvent, wrong), ENOENT);
  close(fd);
}

}  // namespace
}  // namespace rocelab::probe
