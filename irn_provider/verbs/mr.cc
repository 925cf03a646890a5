// Memory regions. A region is the program's own memory, used in place: registering checks that it is mapped
// with the rights asked for, and pins nothing, though it counts as if it did (pinned.h). A program that
// unmaps registered memory and lets its peer write there gets a segmentation fault where hardware would write
// to the pinned pages.
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <utility>

#include "irn_provider/verbs/exports.h"
#include "irn_provider/verbs/limits.h"
#include "irn_provider/verbs/objects.h"
#include "irn_provider/verbs/pinned.h"
#include "irn_provider/verbs/real_verbs.h"

namespace rocelab::verbs {
namespace {

constexpr unsigned kPlainAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                                  IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED;
// Hints: they change how fast hardware is, not what it does.
constexpr unsigned kHints = unsigned{IBV_ACCESS_HUGETLB} | unsigned{IBV_ACCESS_OPTIONAL_RANGE};

// Is all of [begin, end) mapped readable, and writable if asked? From /proc/self/maps, whose lines are in
// order of address.
bool mapped(std::uintptr_t begin, std::uintptr_t end, bool writable) {
  KeepsErrno keeps;
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

int check_access(unsigned access) {
  if ((access & ~kPlainAccess) != 0) {
    debug("ibv_reg_mr: access flags 0x%x are not offered", access & ~kPlainAccess);
    return EOPNOTSUPP;
  }
  // IBTA 10.6.3.1: who lets a peer write lets itself write.
  const bool remote_write = (access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) != 0;
  if (!remote_write || (access & IBV_ACCESS_LOCAL_WRITE) != 0) return 0;
  return refused("ibv_reg_mr", EINVAL, "access: REMOTE_WRITE and REMOTE_ATOMIC need LOCAL_WRITE");
}

int check_bounds(std::uintptr_t begin, std::size_t length, std::uint64_t iova, unsigned access) {
  if (length == 0 || length > kMaxMrBytes || begin + length < begin || iova + length < iova)
    return refused("ibv_reg_mr", EINVAL, "length is %zu; a region has 1 byte to %" PRIu64, length,
                   kMaxMrBytes);
  const bool writable = (access & IBV_ACCESS_LOCAL_WRITE) != 0;
  if (mapped(begin, begin + length, writable)) return 0;
  return refused("ibv_reg_mr", EFAULT, "not all of the %zu bytes at %#" PRIxPTR " are memory that may be %s",
                 length, begin, writable ? "written" : "read");
}

// Under the lock; 0 or an errno.
int pin_or_refuse(std::uint64_t pages) {
  const int error = pin(pages);
  if (error == 0) return 0;
  return refused("ibv_reg_mr", error,
                 "%" PRIu64
                 " more pages are above the limit of locked memory: ulimit -l unlimited, or CAP_IPC_LOCK",
                 pages);
}

// What keys call the first byte of a region (ibv_reg_mr(3)): where it is, or what the program has said; of a
// zero-based one 0.
std::uint64_t first_address(std::uint64_t iova, unsigned access) {
  return (access & IBV_ACCESS_ZERO_BASED) != 0 ? 0 : iova;
}

ibv_mr* register_memory(ibv_pd* pd, void* addr, std::size_t length, std::uint64_t iova, unsigned access) {
  if (inherited(pd->context)) return refuse(ENODEV);
  if (forged(of(pd))) return refuse(ENOENT);
  access &= ~kHints;
  iova = first_address(iova, access);
  if (const int error = check_access(access); error != 0) return refuse(error);
  const auto begin = reinterpret_cast<std::uintptr_t>(addr);
  if (const int error = check_bounds(begin, length, iova, access); error != 0) return refuse(error);
  auto mr = std::make_unique<Mr>();
  std::optional<RKey> key;
  const int error = with_nic(pd->context, [&](Nic& nic, Time) {
    const std::uint64_t pages = pages_of(begin, length);
    if (const int refusal = pin_or_refuse(pages); refusal != 0) return refusal;
    key = nic.reg_mr(of(pd).pdn, begin, length, iova, access);
    if (!key)
      return unpin(pages), refused("ibv_reg_mr", ENOMEM, "none of the device's %u memory regions is left",
                                   of(pd->context).device->host.nic.max_mrs);
    mr->pages = pages;
    of(pd->context).context_objects.mrs.add(*mr);
    return 0;
  });
  if (error != 0) return refuse(error);
  mr->key = *key;
  mr->base = {.context = pd->context,
              .pd = pd,
              .addr = addr,
              .length = length,
              .handle = key->value,
              .lkey = key->value,
              .rkey = key->value};
  mr->access = access;
  return &mr.release()->base;
}

}  // namespace

bool end(Nic& nic, Mr& mr) {
  if (!nic.dereg_mr(mr.key)) return false;
  unpin(mr.pages);
  return true;
}

}  // namespace rocelab::verbs

using namespace rocelab;
using namespace rocelab::verbs;

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

// Nothing is taken apart before all is checked: a region that cannot become what is asked for is as it was
// (IBV_REREG_MR_ERR_INPUT). Its keys stay.
RL_EXPORT int ibv_rereg_mr(ibv_mr* mr, int flags, ibv_pd* pd, void* addr, std::size_t length, int access) {
  if (!in_experiment()) return REAL(ibv_rereg_mr)(mr, flags, pd, addr, length, access);
  const bool moves = (flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
  const bool changes_access = (flags & IBV_REREG_MR_CHANGE_ACCESS) != 0;
  const bool changes_pd = (flags & IBV_REREG_MR_CHANGE_PD) != 0;
  const auto fail = [](int error) {
    errno = error;
    return int{IBV_REREG_MR_ERR_INPUT};
  };
  Mr& region = verbs::of(mr);
  if (forged(region) || (changes_pd && pd != nullptr && forged(verbs::of(pd)))) return fail(ENOENT);
  if (flags == 0 || (flags & ~int{IBV_REREG_MR_FLAGS_SUPPORTED}) != 0 || (access != 0 && !changes_access) ||
      (changes_pd && pd == nullptr))
    return fail(EINVAL);
  const unsigned rights = changes_access ? static_cast<unsigned>(access) & ~kHints : region.access;
  if (const int error = check_access(rights); error != 0) return fail(error);
  const auto begin = reinterpret_cast<std::uintptr_t>(moves ? addr : mr->addr);
  const MrBounds bounds{begin, first_address(begin, rights), moves ? length : mr->length};
  const bool rebased = ((rights ^ region.access) & IBV_ACCESS_ZERO_BASED) != 0;
  if (moves || changes_access)
    if (const int error = check_bounds(bounds.addr, bounds.length, bounds.iova, rights); error != 0)
      return fail(error);
  const int error = ask_nic(mr->context, [&](Nic& nic, Time) {
    if (nic.mr_has_windows(region.key)) return EBUSY;
    const std::uint64_t pages = pages_of(bounds.addr, bounds.length);
    if (const int refusal = moves ? pin_or_refuse(pages) : 0; refusal != 0) return refusal;
    const bool done = nic.rereg_mr(region.key, changes_pd ? std::optional(verbs::of(pd).pdn) : std::nullopt,
                                   moves || rebased ? std::optional(bounds) : std::nullopt, rights);
    if (moves) unpin(done ? std::exchange(verbs::of(mr).pages, pages) : pages);
    return done ? 0 : EINVAL;
  });
  if (error != 0) return fail(error);
  region.access = rights;
  if (changes_pd) mr->pd = pd;
  if (moves) mr->addr = addr, mr->length = length;
  return 0;
}

RL_EXPORT int ibv_dereg_mr(ibv_mr* mr) {
  if (!in_experiment()) return REAL(ibv_dereg_mr)(mr);
  if (forged(verbs::of(mr))) return answer(ENOENT);
  int error = EINVAL;
  const bool ended = end_in_nic(mr->context, [&](Nic& nic, Time) {
    if (nic.mr_has_windows(verbs::of(mr).key))
      return error = refused("ibv_dereg_mr", EBUSY, "memory windows are bound to it"), false;
    if (!end(nic, verbs::of(mr))) return false;
    verbs::of(mr->context).context_objects.mrs.remove(verbs::of(mr));
    return true;
  });
  if (!ended) return error;
  delete &verbs::of(mr);
  return 0;
}
