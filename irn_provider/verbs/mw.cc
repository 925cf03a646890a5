// Memory windows. Binding type 1 is a call of its own and type 2 a work request like others (translate.cc);
// to the NIC both are work requests (irn_provider/transport/memory_windows.h).
#include <cerrno>
#include <memory>

#include "irn_provider/verbs/objects.h"
#include "irn_provider/verbs/translate.h"

namespace rocelab::verbs {

ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type) {
  const auto refuse = [](int error) -> ibv_mw* {
    errno = error;
    return nullptr;
  };
  if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2) return refuse(EINVAL);
  if (inherited(pd->context)) return refuse(ENODEV);
  if (forged(of(pd))) return refuse(ENOENT);
  auto mw = std::make_unique<Mw>();
  const std::optional<RKey> key = with_nic(pd->context, [&](Nic& nic, Time) {
    const auto made = nic.alloc_mw(of(pd).pdn, static_cast<MwType>(type));  // same numbers
    if (made) of(pd->context).context_objects.mws.add(*mw);
    return made;
  });
  if (!key) return refuse(ENOMEM);
  mw->key = *key;
  mw->base = {.context = pd->context, .pd = pd, .rkey = key->value, .handle = key->value, .type = type};
  return &mw.release()->base;
}

// As other libraries do it: the window's new R_Key stands in `mw` when the bind is posted. A program whose
// bind then fails puts the old one back (ibv_bind_mw(3)).
int bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind) {
  constexpr unsigned kFlags = IBV_SEND_FENCE | IBV_SEND_SIGNALED;
  const std::uint32_t key = ibv_inc_rkey(mw->rkey);
  SendWqe wqe;
  int error =
      (bind->send_flags & ~kFlags) != 0 || (bind->bind_info.mw_access_flags & IBV_ACCESS_ZERO_BASED) != 0
          ? EINVAL
          : to_bind(mw, key, bind->bind_info, wqe);
  wqe.wr_id = bind->wr_id;
  wqe.signaled = of(qp).init.sq_sig_all || (bind->send_flags & IBV_SEND_SIGNALED) != 0;
  wqe.fence = (bind->send_flags & IBV_SEND_FENCE) != 0;
  libc::end_spin();
  if (error == 0)
    error = ask_nic(qp->context, [&](Nic& nic, Time now) { return post(nic, now, of(qp), wqe); });
  if (error == 0) mw->rkey = key;
  return answer(error);
}

bool end(Nic& nic, Mw& mw) { return nic.dealloc_mw(mw.key); }

int dealloc_mw(ibv_mw* mw) {
  if (forged(of(mw))) return answer(ENOENT);
  const bool destroyed = end_in_nic(mw->context, [&](Nic& nic, Time) {
    if (!end(nic, of(mw))) return false;
    of(mw->context).context_objects.mws.remove(of(mw));
    return true;
  });
  if (!destroyed) return EBUSY;
  delete &of(mw);
  return 0;
}

}  // namespace rocelab::verbs
