// Claims: rdma_cm in forked children of a program that uses it. librdmacm keeps a context of the device that
// it has once opened, also in a child, where it is good for nothing: so these run in a process of their own,
// and in this order.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "irn_provider/verbs/sanitizer.h"
#include "tests/probes/rdma_cm/cm_end.h"

namespace rocelab::probe {
namespace {

constexpr std::uint16_t kPort = 5'100;

void expect_success(pid_t child) {
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "exit code " << WEXITSTATUS(status);
}

void refuse_one(CmEnd& server) {
  CmEvent request = server.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
  rdma_cm_id* id = request->id;
  EXPECT_EQ(rdma_reject(id, nullptr, 0), 0);
  request.reset();
  EXPECT_EQ(rdma_destroy_id(id), 0);
}

// The exit code.
int child_that_connects_to(const CmEnd& parents) {
  {
    CmEnd client, other;
    client.resolve(kOwnAddress, kPort);
    client.make_qp(client.id);
    if (client.connect() != 0) return 2;
    if (client.expect(RDMA_CM_EVENT_REJECTED)->status != 28) return 3;
    sockaddr_in any = address("0.0.0.0", kPort);
    if (rdma_bind_addr(other.id, reinterpret_cast<sockaddr*>(&any)) == 0 || errno != EADDRINUSE) return 4;
    other.listen(kPort + 1);
    if (fcntl(parents.channel->fd, F_GETFD) < 0 || close(parents.channel->fd) != 0) return 5;
    if (fcntl(parents.channel->fd, F_GETFD) != -1) return 6;
  }
  return testing::Test::HasFailure() ? 1 : 0;
}

TEST(CmForkProbe, AChildHasAConnectionManagerOfItsOwn) {
  if (kThreadSanitizer) GTEST_SKIP() << "it knows no threads of a forked child";
  CmEnd server;
  server.listen(kPort);
  const pid_t child = fork();
  if (child == 0) _exit(child_that_connects_to(server));
  refuse_one(server);
  expect_success(child);
  CmEnd client;  // and goes on after the child's end
  client.resolve(kOwnAddress, kPort);
  client.make_qp(client.id);
  ASSERT_EQ(client.connect(), 0);
  refuse_one(server);
  client.expect(RDMA_CM_EVENT_REJECTED);
}

TEST(CmForkProbe, TheContextThatAChildHasOfItsParentIsRefused) {
  if (kThreadSanitizer) GTEST_SKIP() << "it knows no threads of a forked child";
  CmEnd client;
  client.resolve(kOwnAddress, kPort);
  const pid_t child = fork();
  if (child == 0) {
    CmEnd own;
    own.resolve(kOwnAddress, kPort);
    if (testing::Test::HasFailure()) _exit(1);
    ibv_qp_init_attr attr{};
    attr.qp_type = IBV_QPT_RC;
    attr.cap = {
        .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
    if (rdma_create_qp(own.id, nullptr, &attr) == 0) _exit(2);
    _exit(errno == ENODEV ? 0 : 3);
  }
  expect_success(child);
  client.make_qp(client.id);
}

}  // namespace
}  // namespace rocelab::probe
