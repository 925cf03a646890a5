// XRC domains, and queue pairs that are opened by number: ibv_open_xrcd, ibv_close_xrcd, ibv_open_qp. Source:
// their manual pages; what they leave open is as the kernel answers (drivers/infiniband/core: uverbs_cmd.c,
// verbs.c). A domain that belongs to a file is known by its inode to all of this process, not to others: each
// has a NIC of its own (DEVIATIONS.md).
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <utility>

#include "irn_provider/verbs/objects.h"

namespace rocelab::verbs {
namespace {

// Handles of one domain; under the lock.
struct SharedDomain {
  Xrcdn xrcdn;
  std::uint32_t handles = 0;
};
using Inode = std::pair<dev_t, ino_t>;
std::map<Inode, SharedDomain>& domains_of_files() {
  static std::map<Inode, SharedDomain> domains;
  return domains;
}

auto domain_of_file(Xrcdn xrcdn) {
  auto& all = domains_of_files();
  return std::find_if(all.begin(), all.end(), [&](const auto& d) { return d.second.xrcdn == xrcdn; });
}

// Under the lock; 0 or an errno.
int open_domain_of(Nic& nic, int fd, int oflags, Xrcdn& xrcdn) {
  struct stat file {};
  if (fstat(fd, &file) != 0) return EBADF;
  auto& all = domains_of_files();
  const Inode inode{file.st_dev, file.st_ino};
  auto found = all.find(inode);
  if (found == all.end() && (oflags & O_CREAT) == 0) return EAGAIN;
  if (found != all.end() && (oflags & O_EXCL) != 0) return EINVAL;
  if (found == all.end()) {
    const Xrcdn made = nic.alloc_xrcd();
    if (made == Xrcdn{}) return ENOMEM;
    found = all.emplace(inode, SharedDomain{made, 0}).first;
  }
  ++found->second.handles;
  xrcdn = found->second.xrcdn;
  return 0;
}

int open_domain(Nic& nic, const ibv_xrcd_init_attr& attr, Xrcdn& xrcdn) {
  if (attr.fd != -1) return open_domain_of(nic, attr.fd, attr.oflags, xrcdn);
  xrcdn = nic.alloc_xrcd();
  return xrcdn == Xrcdn{} ? ENOMEM : 0;
}

}  // namespace

ibv_xrcd* open_xrcd(ibv_context* context, ibv_xrcd_init_attr* attr) {
  constexpr std::uint32_t kMask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  auto xrcd = std::make_unique<Xrcd>();
  const int error = (attr->comp_mask & ~kMask) != 0 ? unsupported("open_xrcd: these attributes")
                    : attr->comp_mask != kMask      ? EINVAL
                                                    : ask_nic(context, [&](Nic& nic, Time) {
                                                   const int refused = open_domain(nic, *attr, xrcd->xrcdn);
                                                   if (refused == 0)
                                                     of(context).context_objects.xrcds.add(*xrcd);
                                                   return refused;
                                                 });
  if (error != 0) {
    errno = error;
    return nullptr;
  }
  xrcd->base.context = context;
  return &xrcd.release()->base;
}

// Only the last handle of a domain ends it; none goes while something was made with it.
bool end(Nic& nic, Xrcd& xrcd) {
  if (xrcd.users > 0) return false;
  const auto file = domain_of_file(xrcd.xrcdn);
  const bool shared = file != domains_of_files().end();
  if (shared && file->second.handles > 1) return --file->second.handles, true;
  if (!nic.free_xrcd(xrcd.xrcdn)) return false;
  if (shared) domains_of_files().erase(file);
  return true;
}

int close_xrcd(ibv_xrcd* base) {
  Xrcd& xrcd = of(base);
  const bool closed = end_in_nic(base->context, [&](Nic& nic, Time) {
    if (!end(nic, xrcd)) return false;
    of(base->context).context_objects.xrcds.remove(xrcd);
    return true;
  });
  if (!closed) return EBUSY;
  delete &xrcd;
  return 0;
}

ibv_qp* open_qp(ibv_context* context, ibv_qp_open_attr* attr) {
  constexpr std::uint32_t kNeeded = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
  auto qp = std::make_unique<Qp>();
  const auto open = [&](Nic&, Time) {
    const auto found = registry(context).qps.find(attr->qp_num);
    if (found == registry(context).qps.end()) return EINVAL;
    const Qp& first = *found->second.front();
    Xrcd& xrcd = of(attr->xrcd);
    if (first.init.type != QpType::kXrcTgt || first.init.xrcd != xrcd.xrcdn) return EINVAL;
    qp->init = first.init;
    qp->path = first.path;
    qp->xrcd = &xrcd;
    ++xrcd.users;
    void* const qp_context = (attr->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT) != 0 ? attr->qp_context : nullptr;
    init_qp(*qp, context, Qpn{attr->qp_num}, IBV_QPT_XRC_RECV, qp_context);
    qp->base.state = first.base.state;
    found->second.push_back(qp.get());
    of(context).context_objects.qps.add(*qp);
    return 0;
  };
  const bool known = (attr->comp_mask & ~(kNeeded | IBV_QP_OPEN_ATTR_CONTEXT)) == 0;
  const bool complete = (attr->comp_mask & kNeeded) == kNeeded && attr->xrcd != nullptr;
  const bool valid = complete && attr->qp_type == IBV_QPT_XRC_RECV;
  const int error = !known  ? unsupported("open_qp: these attributes")
                    : valid ? ask_nic(context, open)
                            : EINVAL;
  if (error != 0) {
    errno = error;
    return nullptr;
  }
  return &qp.release()->base;
}

}  // namespace rocelab::verbs
