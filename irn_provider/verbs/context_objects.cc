#include "irn_provider/verbs/context_objects.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "irn_provider/verbs/objects.h"

namespace rocelab::verbs {
namespace {

template <class T>
void end_all(Nic& nic, const Kept<T>& objects) {
  for (T* object : objects) end(nic, *object);
}

// The structures of objects whose context was closed. A program may still look at them: libibverbs' providers
// give them back only to the call that destroys them.
std::deque<ContextObjects>& left_behind() {
  static auto* all = new std::deque<ContextObjects>;  // never destroyed: programs close in exit handlers
  return *all;
}

}  // namespace

void end_belongings(Context& context) {
  ContextObjects& all = context.context_objects;
  for (Qp* qp : all.qps)
    if (is_connected(qp->base)) {
      linger(*context.process);
      break;
    }
  with_nic(&context.base.context, [&](Nic& nic, Time) {
    // Users before what they use.
    end_all(nic, all.qps);
    end_all(nic, all.mws);
    end_all(nic, all.srqs);
    end_all(nic, all.xrcds);
    end_all(nic, all.cqs);
    end_all(nic, all.channels);
    end_all(nic, all.ahs);
    end_all(nic, all.mrs);
    for (Pd* pd : all.pds)
      if (pd->protection != nullptr) end(nic, *pd);
    for (Pd* pd : all.pds)
      if (pd->protection == nullptr) end(nic, *pd);
    end_all(nic, all.tds);
    context.process->listen_to_groups(context.device->nic, nic.group_memberships());
    for (Qp* qp : all.qps) qp->inline_ring.bytes.reset();
    left_behind().push_back(std::move(all));
  });
}

}  // namespace rocelab::verbs
