// A device that has no room left says so, and has room again when something is destroyed; and how much memory
// may be registered.
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

#include "tests/probes/verbs/loopback.h"

namespace rocelab::probe {
namespace {

ibv_device_attr limits_of(ibv_context* context) {
  ibv_device_attr limits{};
  EXPECT_EQ(ibv_query_device(context, &limits), 0);
  return limits;
}

// Makes objects until there are `limit` of them, `there` of which were there before; then there is no more
// until one goes. Beside them the device stays what it was.
template <class T>
void exhaust(int limit, int there, const std::function<T*()>& make, const std::function<int(T*)>& destroy) {
  std::vector<T*> made;
  errno = 0;
  for (T* object = make(); object != nullptr; object = make()) made.push_back(object);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(static_cast<int>(made.size()), limit - there);
  ASSERT_FALSE(made.empty());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(destroy(made[made.size() / 2]), 0);
    made[made.size() / 2] = make();
    ASSERT_NE(made[made.size() / 2], nullptr);
    errno = 0;
    EXPECT_EQ(make(), nullptr);
    EXPECT_EQ(errno, ENOMEM);
  }
  for (T* object : made) ASSERT_EQ(destroy(object), 0);
}

TEST(ExhaustionProbe, ProtectionDomains) {
  Loopback l;
  exhaust<ibv_pd>(
      limits_of(l.context).max_pd, 1, [&] { return ibv_alloc_pd(l.context); }, ibv_dealloc_pd);
}

TEST(ExhaustionProbe, TheLastProtectionDomainIsAsGoodAsTheFirst) {
  Loopback l;
  std::vector<ibv_pd*> pds;
  for (ibv_pd* pd = ibv_alloc_pd(l.context); pd != nullptr; pd = ibv_alloc_pd(l.context)) pds.push_back(pd);
  ibv_mr* mr = ibv_reg_mr(pds.back(), l.memory.data(), 100, 0);
  EXPECT_NE(mr, nullptr);
  if (mr != nullptr) {
    EXPECT_EQ(ibv_dereg_mr(mr), 0);
  }
  // Those of another context of the process have no room of their own.
  ibv_context* other = open_device();
  EXPECT_EQ(ibv_alloc_pd(other), nullptr);
  EXPECT_EQ(ibv_close_device(other), 0);
  for (ibv_pd* pd : pds) ASSERT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST(ExhaustionProbe, QueuePairs) {
  Loopback l;
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = l.send_cq;
  init.qp_type = IBV_QPT_RC;
  init.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
  exhaust<ibv_qp>(
      limits_of(l.context).max_qp, 2, [&] { return ibv_create_qp(l.pd, &init); }, ibv_destroy_qp);
}

TEST(ExhaustionProbe, CompletionQueues) {
  Loopback l;
  exhaust<ibv_cq>(
      limits_of(l.context).max_cq, 2, [&] { return ibv_create_cq(l.context, 1, nullptr, nullptr, 0); },
      ibv_destroy_cq);
}

TEST(ExhaustionProbe, MemoryRegions) {
  Loopback l;
  exhaust<ibv_mr>(
      limits_of(l.context).max_mr, 1, [&] { return ibv_reg_mr(l.pd, l.memory.data(), 100, 0); },
      ibv_dereg_mr);
}

TEST(ExhaustionProbe, AddressHandles) {
  Loopback l;
  ibv_gid gid{};
  ASSERT_EQ(ibv_query_gid(l.context, 1, 1, &gid), 0);
  ibv_ah_attr address = rtr_attr(gid, 0).ah_attr;
  exhaust<ibv_ah>(
      limits_of(l.context).max_ah, 0, [&] { return ibv_create_ah(l.pd, &address); }, ibv_destroy_ah);
}

TEST(ExhaustionProbe, SharedReceiveQueues) {
  Loopback l;
  ibv_srq_init_attr init{};
  init.attr = {.max_wr = 1, .max_sge = 1, .srq_limit = 0};
  exhaust<ibv_srq>(
      limits_of(l.context).max_srq, 0, [&] { return ibv_create_srq(l.pd, &init); }, ibv_destroy_srq);
}

// --- RLIMIT_MEMLOCK, as a kernel counts what regions keep pinned

// While it lives this thread has no CAP_IPC_LOCK, and the process that limit.
class LockLimit {
 public:
  explicit LockLimit(std::size_t pages) {
    EXPECT_EQ(getrlimit(RLIMIT_MEMLOCK, &before_), 0);
    set_capability(false);
    const rlimit lower{.rlim_cur = pages * page(), .rlim_max = before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_MEMLOCK, &lower), 0);
  }
  ~LockLimit() {
    EXPECT_EQ(setrlimit(RLIMIT_MEMLOCK, &before_), 0);
    set_capability(true);
  }
  LockLimit(const LockLimit&) = delete;
  LockLimit& operator=(const LockLimit&) = delete;

  static std::size_t page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }
  // Of what the program may have: one that may not have it stays without.
  static void set_capability(bool on) {
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
    ASSERT_EQ(syscall(SYS_capget, &header, data), 0);
    auto& set = data[CAP_TO_INDEX(CAP_IPC_LOCK)];
    constexpr std::uint32_t kBit = CAP_TO_MASK(CAP_IPC_LOCK);
    set.effective = on ? set.effective | (set.permitted & kBit) : set.effective & ~kBit;
    ASSERT_EQ(syscall(SYS_capset, &header, data), 0);
  }

 private:
  rlimit before_{};
};

struct Pages : Loopback {
  Pages()
      : first(static_cast<char*>(mmap(nullptr, kPages * LockLimit::page(), PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {}
  ~Pages() { munmap(first, kPages * LockLimit::page()); }
  // The errno that it was refused with, or 0.
  int reg(std::size_t at, std::size_t length) {
    ibv_mr* made = ibv_reg_mr(pd, first + at, length, IBV_ACCESS_LOCAL_WRITE);
    if (made == nullptr) return errno;
    mrs.push_back(made);
    return 0;
  }
  // Those that the loopback's own region has.
  std::size_t own_pages() const {
    const auto at = reinterpret_cast<std::uintptr_t>(memory.data());
    const std::size_t page = LockLimit::page();
    return (at + memory.size() + page - 1) / page - at / page;
  }
  void dereg_last() {
    EXPECT_EQ(ibv_dereg_mr(mrs.back()), 0);
    mrs.pop_back();
  }
  void dereg_all() {
    while (!mrs.empty()) dereg_last();
  }
  static constexpr std::size_t kPages = 64;
  char* first;
  std::vector<ibv_mr*> mrs;
};

TEST(ExhaustionProbe, RegionsCountTheirPagesAgainstTheLimitOfLockedMemory) {
  Pages p;
  const std::size_t page = LockLimit::page();
  const LockLimit limit(p.own_pages() + 4);
  EXPECT_EQ(p.reg(0, 4 * page), 0);
  EXPECT_EQ(p.reg(8 * page, 1), ENOMEM);
  p.dereg_last();
  EXPECT_EQ(p.reg(page - 1, 2), 0) << "two pages";
  EXPECT_EQ(p.reg(page - 1, 2), 0) << "the same ones are counted again";
  EXPECT_EQ(p.reg(0, 1), ENOMEM);
  ibv_mr* mr = p.mrs.back();
  errno = 0;
  EXPECT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, p.first, 3 * page, 0),
            IBV_REREG_MR_ERR_INPUT)
      << "the old ones are let go when the new ones are there";
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(mr->length, 2u);
  p.dereg_last();
  EXPECT_EQ(ibv_rereg_mr(p.mrs.back(), IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, p.first, page, 0), 0);
  EXPECT_EQ(p.reg(0, 3 * page), 0) << "the one that moved has one page now";
  EXPECT_EQ(p.reg(0, 1), ENOMEM);
  p.dereg_all();
}

TEST(ExhaustionProbe, ClosingADeviceLetsItsPagesGo) {
  Pages p;
  const std::size_t page = LockLimit::page();
  const LockLimit limit(p.own_pages() + 8);
  for (int round = 0; round < 5; ++round) {
    ibv_context* context = open_device();
    EXPECT_NE(ibv_reg_mr(ibv_alloc_pd(context), p.first, 5 * page, 0), nullptr) << round;
    EXPECT_EQ(ibv_close_device(context), 0);
  }
}

TEST(ExhaustionProbe, WhoMayLockAllMemoryHasNoLimitAndWhoMayLockNoneRegistersNone) {
  Pages p;
  {
    const LockLimit limit(0);
    EXPECT_EQ(p.reg(0, 1), EPERM);
  }
  if (geteuid() != 0) return;
  const LockLimit limit(1);
  LockLimit::set_capability(true);
  EXPECT_EQ(p.reg(0, 64 * LockLimit::page()), 0);
  p.dereg_all();
}

}  // namespace
}  // namespace rocelab::probe
