// Protection domains, thread domains, and parent domains, which stand for a protection domain and a thread
// domain together. All verbs are thread-safe and nothing of an object lies in memory that a program could
// give, so a parent domain is its protection domain by another name: its allocators are not called.
#include <cerrno>
#include <memory>

#include "irn_provider/verbs/exports.h"
#include "irn_provider/verbs/limits.h"
#include "irn_provider/verbs/objects.h"
#include "irn_provider/verbs/real_verbs.h"

namespace rocelab::verbs {
namespace {

constexpr unsigned kParentMask =
    unsigned{IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS} | unsigned{IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT};

template <class T>
T* refuse(int error) {
  errno = error;
  return nullptr;
}

}  // namespace

ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* attr) {
  if (attr->comp_mask != 0) return refuse<ibv_td>(unsupported("alloc_td: this comp_mask"));
  if (inherited(context)) return refuse<ibv_td>(ENODEV);
  auto td = std::make_unique<Td>();
  td->base.context = context;
  with_nic(context, [&](Nic&, Time) { verbs::of(context).context_objects.tds.add(*td); });
  return &td.release()->base;
}

bool end(Nic& /*nic*/, Td& td) { return td.users == 0; }

int dealloc_td(ibv_td* td) {
  const bool ended = end_in_nic(td->context, [&](Nic& nic, Time) {
    if (!end(nic, verbs::of(td))) return false;
    verbs::of(td->context).context_objects.tds.remove(verbs::of(td));
    return true;
  });
  if (!ended) return EBUSY;
  delete &verbs::of(td);
  return 0;
}

ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* attr) {
  const unsigned allocators = unsigned{IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS};
  if (attr->pd == nullptr) return refuse<ibv_pd>(EINVAL);
  if ((attr->comp_mask & ~kParentMask) != 0)  // later libraries' bits, which programs try
    return refuse<ibv_pd>(unsupported("alloc_parent_domain: this comp_mask"));
  if (inherited(context)) return refuse<ibv_pd>(ENODEV);
  if ((attr->comp_mask & allocators) != 0 && (attr->alloc == nullptr || attr->free == nullptr))
    return refuse<ibv_pd>(EINVAL);
  Pd& protection = verbs::of(attr->pd);
  if (forged(protection)) return refuse<ibv_pd>(ENOENT);
  if (protection.protection != nullptr) return refuse<ibv_pd>(EINVAL);  // a parent domain itself
  auto pd = std::make_unique<Pd>();
  pd->base.context = context;
  pd->base.handle = protection.base.handle;
  pd->pdn = protection.pdn;
  pd->protection = &protection;
  pd->td = attr->td != nullptr ? &verbs::of(attr->td) : nullptr;
  with_nic(context, [&](Nic&, Time) {
    ++protection.parents;
    if (pd->td != nullptr) ++pd->td->users;
    verbs::of(context).context_objects.pds.add(*pd);
  });
  return &pd.release()->base;
}

bool end(Nic& nic, Pd& pd) {
  if (pd.protection == nullptr) return pd.parents == 0 && nic.free_pd(pd.pdn);
  --pd.protection->parents;
  if (pd.td != nullptr) --pd.td->users;
  return true;
}

}  // namespace rocelab::verbs

using namespace rocelab;
using namespace rocelab::verbs;

RL_EXPORT ibv_pd* ibv_alloc_pd(ibv_context* context) {
  if (!in_experiment()) return REAL(ibv_alloc_pd)(context);
  if (inherited(context)) return refuse<ibv_pd>(ENODEV);
  auto pd = std::make_unique<Pd>();
  pd->base.context = context;
  pd->pdn = with_nic(context, [&](Nic& nic, Time) {
    const Pdn made = nic.alloc_pd();
    if (made != Pdn{}) verbs::of(context).context_objects.pds.add(*pd);
    return made;
  });
  if (pd->pdn == Pdn{})
    return refused("ibv_alloc_pd", ENOMEM, "none of the device's %u protection domains is left",
                   Nic::kMaxPds),
           nullptr;
  pd->base.handle = pd->pdn.value;
  return &pd.release()->base;
}

RL_EXPORT int ibv_dealloc_pd(ibv_pd* pd) {
  if (!in_experiment()) return REAL(ibv_dealloc_pd)(pd);
  Pd& domain = verbs::of(pd);
  if (forged(domain)) return answer(ENOENT);
  const bool ended = end_in_nic(pd->context, [&](Nic& nic, Time) {
    if (!end(nic, domain)) return false;
    verbs::of(pd->context).context_objects.pds.remove(domain);
    return true;
  });
  if (!ended)
    return refused("ibv_dealloc_pd", EBUSY,
                   "queue pairs, memory regions or others that were made with it are still there");
  delete &domain;
  return 0;
}
