// Protection domains and memory regions. A region is the program's own memory, used in place: registering
// checks that it is mapped with the rights asked for, and pins nothing. A program that unmaps registered
// memory and lets its peer write there gets a segmentation fault where hardware would write to the pinned
// pages.
#include <cerrno>
#include <cstdio>
#include <memory>

#include "irn_provider/verbs/exports.h"
#include "irn_provider/verbs/limits.h"
#include "irn_provider/verbs/objects.h"
#include "irn_provider/verbs/real_verbs.h"

namespace rocelab::verbs {
namespace {

constexpr unsigned kPlainAccess =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
// Hints: they change how fast hardware is, not what it does.
constexpr unsigned kHints = unsigned{IBV_ACCESS_HUGETLB} | unsigned{IBV_ACCESS_OPTIONAL_RANGE};

// Is all of [begin, end) mapped readable, and writable if asked? From /proc/self/maps, whose lines are in
// order of address.
bool mapped(std::uintptr_t begin, std::uintptr_t end, bool writable) {
  std::FILE* maps = std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return false;
  char line[512];
  while (begin < end && std::fgets(line, sizeof line, maps) != nullptr) {
    unsigned long from = 0, to = 0;
    char rights[5] = {};
    if (std::sscanf(line, "%lx-%lx %4s", &from, &to, rights) != 3 || to <= begin) continue;
    if (from > begin || rights[0] != 'r' || (writable && rights[1] != 'w')) break;
    begin = to;
  }
  std::fclose(maps);
  return begin >= end;
}

ibv_mr* refuse(int error) {
  errno = error;
  return nullptr;
}

ibv_mr* register_memory(ibv_pd* pd, void* addr, std::size_t length, std::uint64_t iova, unsigned access) {
  access &= ~kHints;
  if ((access & ~kPlainAccess) != 0) {
    debug("reg_mr: access flags 0x%x are not offered", access & ~kPlainAccess);
    return refuse(EOPNOTSUPP);
  }
  // IBTA 10.6.3.1: who lets a peer write lets itself write.
  const bool remote_write = (access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) != 0;
  const bool local_write = (access & IBV_ACCESS_LOCAL_WRITE) != 0;
  if (remote_write && !local_write) return refuse(EINVAL);
  const auto begin = reinterpret_cast<std::uintptr_t>(addr);
  if (length == 0 || length > kMaxMrBytes || begin + length < begin || iova + length < iova)
    return refuse(EINVAL);
  if (!mapped(begin, begin + length, local_write)) return refuse(EFAULT);
  const std::optional<RKey> key = with_nic(
      pd->context, [&](Nic& nic, Time) { return nic.reg_mr(of(pd).pdn, begin, length, iova, access); });
  if (!key) return refuse(ENOMEM);
  auto mr = std::make_unique<Mr>();
  mr->base = {.context = pd->context,
              .pd = pd,
              .addr = addr,
              .length = length,
              .handle = key->value,
              .lkey = key->value,
              .rkey = key->value};
  return &mr.release()->base;
}

}  // namespace
}  // namespace rocelab::verbs

using namespace rocelab;
using namespace rocelab::verbs;

RL_EXPORT ibv_pd* ibv_alloc_pd(ibv_context* context) {
  if (!in_experiment()) return REAL(ibv_alloc_pd)(context);
  if (of(context).pds.fetch_add(1) >= kMaxPd) {
    --of(context).pds;
    errno = ENOMEM;
    return nullptr;
  }
  auto pd = std::make_unique<Pd>();
  pd->base.context = context;
  pd->pdn = with_nic(context, [](Nic& nic, Time) { return nic.alloc_pd(); });
  pd->base.handle = pd->pdn.value;
  return &pd.release()->base;
}

RL_EXPORT int ibv_dealloc_pd(ibv_pd* pd) {
  if (!in_experiment()) return REAL(ibv_dealloc_pd)(pd);
  if (!with_nic(pd->context, [&](Nic& nic, Time) { return nic.free_pd(of(pd).pdn); })) return EBUSY;
  --of(pd->context).pds;
  delete &of(pd);
  return 0;
}

RL_EXPORT ibv_mr* ibv_reg_mr(ibv_pd* pd, void* addr, std::size_t length, int access) {
  if (!in_experiment()) return REAL(ibv_reg_mr)(pd, addr, length, access);
  return register_memory(pd, addr, length, reinterpret_cast<std::uintptr_t>(addr),
                         static_cast<unsigned>(access));
}

RL_EXPORT ibv_mr* ibv_reg_mr_iova(ibv_pd* pd, void* addr, std::size_t length, std::uint64_t iova,
                                  int access) {
  if (!in_experiment()) return REAL(ibv_reg_mr_iova)(pd, addr, length, iova, access);
  return register_memory(pd, addr, length, iova, static_cast<unsigned>(access));
}

RL_EXPORT ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* addr, std::size_t length, std::uint64_t iova,
                                   unsigned access) {
  if (!in_experiment()) return REAL(ibv_reg_mr_iova2)(pd, addr, length, iova, access);
  return register_memory(pd, addr, length, iova, access);
}

RL_EXPORT int ibv_dereg_mr(ibv_mr* mr) {
  if (!in_experiment()) return REAL(ibv_dereg_mr)(mr);
  if (!with_nic(mr->context, [&](Nic& nic, Time) { return nic.dereg_mr(RKey{mr->rkey}); })) return EINVAL;
  delete &of(mr);
  return 0;
}
