// Completion queues: creation, polling, asking for an event.
#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "irn_provider/verbs/exports.h"
#include "irn_provider/verbs/limits.h"
#include "irn_provider/verbs/objects.h"
#include "irn_provider/verbs/real_verbs.h"
#include "irn_provider/verbs/translate.h"

namespace rocelab::verbs {
namespace {

std::optional<Cqe> take(Cq& cq, Nic& nic) {
  if (cq.stash.empty()) {
    std::optional<Cqe> cqe = nic.poll_cq(cq.cqn);
    if (cqe) ++cq.polled;
    return cqe;
  }
  const Cqe cqe = cq.stash.front();
  cq.stash.pop_front();
  return cqe;
}

int drain(Cq& cq, Nic& nic, int count, ibv_wc* wc) {
  int n = 0;
  while (n < count) {
    const std::optional<Cqe> cqe = take(cq, nic);
    if (!cqe) break;
    to_wc(*cqe, wc[n++]);
  }
  tell_overrun(cq, nic);
  return n;
}

// As libibverbs does: the events that a program fetched must be acknowledged before their object may go.
void wait_for_acks(Cq& cq) {
  libc::ForeignScope foreign(*of(cq.base.context).process);
  pthread_mutex_lock(&cq.base.mutex);
  while (cq.base.comp_events_completed != cq.events_fetched ||
         cq.base.async_events_completed != cq.async_fetched)
    pthread_cond_wait(&cq.base.cond, &cq.base.mutex);
  pthread_mutex_unlock(&cq.base.mutex);
}

}  // namespace

// An empty poll lets time pass, or a program that polls would wait for ever. The first empty poll after
// asking for an event does not: such a program is about to wait for that event, and the instant at which it
// goes to sleep is its own.
int poll_cq(ibv_cq* base, int count, ibv_wc* wc) {
  libc::end_spin();
  Cq& cq = of(base);
  bool park = false;
  const auto poll = [&](Nic& nic, Time) {
    const int n = drain(cq, nic, count, wc);
    park = n == 0 && count > 0 && !std::exchange(cq.just_armed, false);
    return n;
  };
  const int n = with_nic(base->context, poll);
  if (!park) return n;
  {
    real::RuntimeScope scope;
    of(base->context).process->park_poll();
  }
  return with_nic(base->context, poll);
}

int req_notify_cq(ibv_cq* base, int solicited_only) {
  if (base->channel == nullptr) return 0;
  return with_nic(base->context, [&](Nic& nic, Time) {
    Cq& cq = of(base);
    cq.just_armed = true;
    if (cq.armed == Armed::kNo) {
      cq.made_at_arm = made(cq, nic);
      watch_cq(cq);
    }
    // IBTA 11.4.2.2: a request for any completion is not weakened by a later one for solicited ones.
    if (cq.armed != Armed::kAny) cq.armed = solicited_only != 0 ? Armed::kSolicited : Armed::kAny;
    return 0;
  });
}

}  // namespace rocelab::verbs

using namespace rocelab;
using namespace rocelab::verbs;

RL_EXPORT ibv_cq* ibv_create_cq(ibv_context* context, int entries, void* cq_context,
                                ibv_comp_channel* channel, int comp_vector) {
  if (!in_experiment()) return REAL(ibv_create_cq)(context, entries, cq_context, channel, comp_vector);
  if (entries < 1 || static_cast<std::uint32_t>(entries) > kMaxCqe || comp_vector < 0 ||
      comp_vector >= kCompVectors) {
    errno = EINVAL;
    return nullptr;
  }
  const std::optional<Cqn> cqn =
      with_nic(context, [&](Nic& nic, Time) { return nic.create_cq(static_cast<std::uint32_t>(entries)); });
  if (!cqn) {
    errno = ENOMEM;
    return nullptr;
  }
  auto cq = std::make_unique<Cq>();
  cq->cqn = *cqn;
  cq->base.context = context;
  cq->base.channel = channel;
  cq->base.cq_context = cq_context;
  cq->base.handle = cqn->value;
  cq->base.cqe = entries;
  pthread_mutex_init(&cq->base.mutex, nullptr);
  pthread_cond_init(&cq->base.cond, nullptr);
  if (channel != nullptr) with_nic(context, [&](Nic&, Time) { return ++channel->refcnt; });
  return &cq.release()->base;
}

RL_EXPORT int ibv_destroy_cq(ibv_cq* base) {
  if (!in_experiment()) return REAL(ibv_destroy_cq)(base);
  Cq& cq = of(base);
  const bool destroyed = with_nic(base->context, [&](Nic& nic, Time) {
    if (!nic.destroy_cq(cq.cqn)) return false;
    forget_cq(cq);
    return true;
  });
  if (!destroyed) return EBUSY;
  wait_for_acks(cq);
  pthread_cond_destroy(&base->cond);
  pthread_mutex_destroy(&base->mutex);
  delete &cq;
  return 0;
}
