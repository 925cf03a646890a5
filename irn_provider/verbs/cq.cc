// Completion queues: creation, resizing, polling, asking for an event. Extended ones: cq_ex.cc.
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

int drain(const Cq& cq, Nic& nic, int count, ibv_wc* wc) {
  int n = 0;
  while (n < count) {
    const std::optional<Cqe> cqe = nic.poll_cq(cq.cqn);
    if (!cqe) break;
    to_wc(*cqe, wc[n++]);
  }
  return n;
}

void note_poll(Cq& cq, const Nic& nic, int found) {
  cq.made_at_empty.reset();
  if (found == 0) cq.made_at_empty = nic.cq_made(cq.cqn);
}

bool size_allowed(const char* call, int entries) {
  if (entries >= 1 && static_cast<std::uint32_t>(entries) <= kMaxCqe) return true;
  refused(call, EINVAL, "cqe is %d; 1 to %u can be had", entries, kMaxCqe);
  return false;
}

}  // namespace

// An empty poll lets time pass, or a program that polls would wait for ever. The first empty poll after
// asking for an event does not: such a program is about to wait for that event, and the instant at which it
// goes to sleep is its own.
int poll_cq(ibv_cq* base, int count, ibv_wc* wc) {
  if (inherited(base->context)) return errno = ENODEV, -1;
  libc::end_spin();
  Cq& cq = of(base);
  int n = 0;
  const auto look = [&](Nic& nic, Time) {
    n = drain(cq, nic, count, wc);
    if (count > 0) note_poll(cq, nic, n);
    return n == 0 && count > 0 && !std::exchange(cq.just_armed, false);
  };
  poll(base->context, look);
  return n;
}

int req_notify_cq(ibv_cq* base, int solicited_only) {
  if (base->channel == nullptr) return 0;
  if (inherited(base->context)) return answer(ENODEV);
  {
    KeepsErrno keeps;
    of(base->context).process->hint_blocking();
  }
  return with_nic(base->context, [&](Nic& nic, Time) {
    Cq& cq = of(base);
    cq.just_armed = true;
    const std::size_t nic_number = of(base->context).device->nic;
    if (cq.armed != Armed::kNo) on_completions(nic_number, nic);  // what is due stays due
    const Armed wanted = solicited_only != 0 ? Armed::kSolicited : Armed::kAny;
    // IBTA 11.4.2.2: a request for any completion is not weakened by a later one for solicited ones. One that
    // goes further than the request before begins anew: what has come between the two and was polled is no
    // event.
    if (cq.armed >= wanted) return 0;
    if (cq.armed == Armed::kNo) watch_cq(cq);
    cq.made_at_arm = cq.made_at_empty.value_or(nic.cq_made(cq.cqn));
    cq.armed = wanted;
    on_completions(nic_number, nic);
    return 0;
  });
}

ibv_cq* create_cq(ibv_context* context, int entries, void* cq_context, ibv_comp_channel* channel,
                  int comp_vector) {
  if (inherited(context)) {
    errno = ENODEV;
    return nullptr;
  }
  if (!size_allowed("ibv_create_cq", entries)) return nullptr;
  if (comp_vector < 0 || comp_vector >= kCompVectors)
    return refused("ibv_create_cq", EINVAL, "comp_vector is %d; the device has %d", comp_vector,
                   kCompVectors),
           nullptr;
  auto cq = std::make_unique<Cq>();
  const std::optional<Cqn> cqn = with_nic(context, [&](Nic& nic, Time) {
    const auto made = nic.create_cq(static_cast<std::uint32_t>(entries));
    if (made) cq->cqn = *made, registry(context).cqs[made->value] = cq.get();
    if (made && channel != nullptr) ++channel->refcnt;
    if (made) of(context).context_objects.cqs.add(*cq);
    return made;
  });
  if (!cqn) {
    refused("ibv_create_cq", ENOMEM, "none of the device's %u completion queues is left",
            of(context).device->host.nic.max_cqs);
    return nullptr;
  }
  cq->base.context = context;
  cq->base.channel = channel;
  cq->base.cq_context = cq_context;
  cq->base.handle = cqn->value;
  cq->base.cqe = entries;
  pthread_mutex_init(&cq->base.mutex, nullptr);
  pthread_cond_init(&cq->base.cond, nullptr);
  return &cq.release()->base;
}

bool end(Nic& nic, Cq& cq) {
  if (!nic.destroy_cq(cq.cqn)) return false;
  forget_cq(cq);
  registry(cq.base.context).cqs.erase(cq.cqn.value);
  forget_events(cq.base.context, [&](const ibv_async_event& e) { return tells_of(e, cq.base); });
  return true;
}

}  // namespace rocelab::verbs

using namespace rocelab;
using namespace rocelab::verbs;

RL_EXPORT ibv_cq* ibv_create_cq(ibv_context* context, int entries, void* cq_context,
                                ibv_comp_channel* channel, int comp_vector) {
  if (!in_experiment()) return REAL(ibv_create_cq)(context, entries, cq_context, channel, comp_vector);
  return create_cq(context, entries, cq_context, channel, comp_vector);
}

// EINVAL also when it holds more completions than that, as the kernel answers.
RL_EXPORT int ibv_resize_cq(ibv_cq* cq, int entries) {
  if (!in_experiment()) return REAL(ibv_resize_cq)(cq, entries);
  if (!size_allowed("ibv_resize_cq", entries)) return EINVAL;
  return ask_nic(of(cq), [&](Nic& nic, Time) {
    if (!nic.resize_cq(of(cq).cqn, static_cast<std::uint32_t>(entries)))
      return refused("ibv_resize_cq", EINVAL, "it holds more completions than %d", entries);
    cq->cqe = entries;
    return 0;
  });
}

RL_EXPORT int ibv_destroy_cq(ibv_cq* base) {
  if (!in_experiment()) return REAL(ibv_destroy_cq)(base);
  Cq& cq = of(base);
  if (forged(cq)) return answer(ENOENT);
  const bool destroyed = end_in_nic(base->context, [&](Nic& nic, Time) {
    if (!end(nic, cq)) return false;
    of(base->context).context_objects.cqs.remove(cq);
    return true;
  });
  if (!destroyed) return refused("ibv_destroy_cq", EBUSY, "queue pairs still use it");
  wait_for_acks(base->mutex, base->cond, [&] {
    return base->comp_events_completed == cq.events_fetched &&
           base->async_events_completed == cq.async_fetched;
  });
  pthread_cond_destroy(&base->cond);
  pthread_mutex_destroy(&base->mutex);
  delete &cq;
  return 0;
}
