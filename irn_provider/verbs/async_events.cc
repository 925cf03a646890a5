// The asynchronous events of a device: what the NIC tells, as events of the program's objects, behind a
// descriptor that programs may poll().
#include <cerrno>
#include <functional>

#include "irn_provider/verbs/exports.h"
#include "irn_provider/verbs/objects.h"
#include "irn_provider/verbs/real_verbs.h"

namespace rocelab::verbs {
namespace {

template <class T>
T* find(const std::unordered_map<std::uint32_t, T*>& objects, std::uint32_t number) {
  const auto found = objects.find(number);
  return found != objects.end() ? found->second : nullptr;
}

// The context that the event is for, with its element set; null: the object is gone.
ibv_context* address(const AsyncEvent& told, ibv_async_event& event) {
  using Kind = AsyncEvent::Kind;
  switch (told.kind) {
    case Kind::kCqError: {
      Cq* cq = find(registry().cqs, told.number);
      event.event_type = IBV_EVENT_CQ_ERR;
      event.element.cq = cq != nullptr ? &cq->base : nullptr;
      return cq != nullptr ? cq->base.context : nullptr;
    }
    case Kind::kSrqLimit: {
      Srq* srq = find(registry().srqs, told.number);
      event.event_type = IBV_EVENT_SRQ_LIMIT_REACHED;
      event.element.srq = srq != nullptr ? &srq->base : nullptr;
      return srq != nullptr ? srq->base.context : nullptr;
    }
    case Kind::kQpFatal:
    case Kind::kQpLastWqe: {
      Qp* qp = find(registry().qps, told.number);
      event.event_type = told.kind == Kind::kQpFatal ? IBV_EVENT_QP_FATAL : IBV_EVENT_QP_LAST_WQE_REACHED;
      event.element.qp = qp != nullptr ? &qp->base : nullptr;
      return qp != nullptr ? qp->base.context : nullptr;
    }
  }
  return nullptr;
}

// One more event of the object to be acknowledged before it may go.
void note_fetched(const ibv_async_event& event) {
  switch (event.event_type) {
    case IBV_EVENT_CQ_ERR:
      ++of(event.element.cq).async_fetched;
      break;
    case IBV_EVENT_SRQ_LIMIT_REACHED:
      ++of(event.element.srq).events_fetched;
      break;
    default:
      ++of(event.element.qp).events_fetched;
      break;
  }
}

}  // namespace

Registry& registry() {
  static Registry objects;
  return objects;
}

void take_events(Nic& nic) {
  while (const std::optional<AsyncEvent> told = nic.poll_event()) {
    ibv_async_event event{};
    ibv_context* context = address(*told, event);
    if (context == nullptr) continue;
    AsyncEvents& async = of(context).async;
    async.ready.push_back(event);
    async.events.raise();
  }
}

void forget_events(ibv_context* context, const std::function<bool(const ibv_async_event&)>& of_object) {
  AsyncEvents& async = of(context).async;
  for (auto n = std::erase_if(async.ready, of_object); n > 0; --n) async.events.take();
}

void wait_for_acks(ibv_context* context, pthread_mutex_t& mutex, pthread_cond_t& cond,
                   const std::function<bool()>& all) {
  libc::ForeignScope foreign(*of(context).process);
  pthread_mutex_lock(&mutex);
  while (!all()) pthread_cond_wait(&cond, &mutex);
  pthread_mutex_unlock(&mutex);
}

}  // namespace rocelab::verbs

using namespace rocelab;
using namespace rocelab::verbs;

RL_EXPORT int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  if (!in_experiment()) return REAL(ibv_get_async_event)(context, event);
  verbs::AsyncEvents& async = of(context).async;
  const auto fetch = [&](Nic&, Time) {
    if (!async.events.take()) return false;
    *event = async.ready.front();
    async.ready.pop_front();
    note_fetched(*event);
    return true;
  };
  while (async.events.wait(*of(context).process))
    if (with_nic(context, fetch)) return 0;
  errno = EAGAIN;
  return -1;
}
