// The asynchronous events of a device: what the NIC tells, as events of the program's objects, behind a
// descriptor that programs may poll().
#include <array>
#include <cerrno>
#include <functional>

#include "irn_provider/verbs/exports.h"
#include "irn_provider/verbs/limits.h"
#include "irn_provider/verbs/objects.h"
#include "irn_provider/verbs/real_verbs.h"

namespace rocelab::verbs {
namespace {

template <class T>
T* find(const std::unordered_map<std::uint32_t, T*>& objects, std::uint32_t number) {
  const auto found = objects.find(number);
  return found != objects.end() ? found->second : nullptr;
}

void raise(ibv_context* context, const ibv_async_event& event) {
  AsyncEvents& async = of(context).async;
  async.ready.push_back(event);
  async.events.raise();
}

ibv_event_type type_of(AsyncEvent::Kind kind) {
  using Kind = AsyncEvent::Kind;
  switch (kind) {
    case Kind::kCqError:
      return IBV_EVENT_CQ_ERR;
    case Kind::kSrqLimit:
      return IBV_EVENT_SRQ_LIMIT_REACHED;
    case Kind::kQpLastWqe:
      return IBV_EVENT_QP_LAST_WQE_REACHED;
    case Kind::kQpRequestError:
      return IBV_EVENT_QP_REQ_ERR;
    case Kind::kQpAccessError:
      return IBV_EVENT_QP_ACCESS_ERR;
    case Kind::kCommEstablished:
      return IBV_EVENT_COMM_EST;
    case Kind::kSqDrained:
      return IBV_EVENT_SQ_DRAINED;
    case Kind::kPortActive:
      return IBV_EVENT_PORT_ACTIVE;
    case Kind::kPortError:
      return IBV_EVENT_PORT_ERR;
    case Kind::kQpFatal:
      break;
  }
  return IBV_EVENT_QP_FATAL;
}

// To the program's object; nothing when it is gone. All handles of a queue pair are told (Linux does so for
// shared XRC targets).
void address(const AsyncEvent& told, Registry& objects) {
  ibv_async_event event{};
  event.event_type = type_of(told.kind);
  if (tells_of_port(event)) {
    event.element.port_num = kPorts;
    for (Context* context : objects.contexts) raise(&context->base.context, event);
    return;
  }
  if (told.kind == AsyncEvent::Kind::kCqError) {
    Cq* cq = find(objects.cqs, told.number);
    if (cq == nullptr) return;
    event.element.cq = &cq->base;
    return raise(cq->base.context, event);
  }
  if (told.kind == AsyncEvent::Kind::kSrqLimit) {
    Srq* srq = find(objects.srqs, told.number);
    if (srq == nullptr) return;
    event.element.srq = &srq->base;
    return raise(srq->base.context, event);
  }
  const auto qps = objects.qps.find(told.number);
  if (qps == objects.qps.end()) return;
  for (Qp* qp : qps->second) {
    event.element.qp = &qp->base;
    raise(qp->base.context, event);
  }
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
    case IBV_EVENT_PORT_ACTIVE:
    case IBV_EVENT_PORT_ERR:
      break;  // no object that could be destroyed before
    default:
      ++of(event.element.qp).events_fetched;
      break;
  }
}

}  // namespace

Registry& registry(std::size_t nic) {
  static std::array<Registry, kMaxNicsPerHost> objects;
  return objects[nic];
}

void take_events(std::size_t nic_number, Nic& nic) {
  while (const std::optional<AsyncEvent> told = nic.poll_event()) address(*told, registry(nic_number));
}

void forget_events(ibv_context* context, const std::function<bool(const ibv_async_event&)>& of_object) {
  AsyncEvents& async = of(context).async;
  for (auto n = std::erase_if(async.ready, of_object); n > 0; --n) async.events.take();
}

void wait_for_acks(pthread_mutex_t& mutex, pthread_cond_t& cond, const std::function<bool()>& all) {
  pthread_mutex_lock(&mutex);
  while (!all()) pthread_cond_wait(&cond, &mutex);
  pthread_mutex_unlock(&mutex);
}

}  // namespace rocelab::verbs

using namespace rocelab;
using namespace rocelab::verbs;

RL_EXPORT int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  if (!in_experiment()) return REAL(ibv_get_async_event)(context, event);
  if (inherited(context)) {
    errno = ENODEV;
    return -1;
  }
  verbs::AsyncEvents& async = of(context).async;
  const auto fetch = [&](Nic&, Time) {
    if (!async.events.take()) return false;
    *event = async.ready.front();
    async.ready.pop_front();
    note_fetched(*event);
    return true;
  };
  while (true) {
    const int error = libc::restarting([&] {
      KeepsErrno keeps;
      return async.events.wait(*of(context).process);
    });
    if (error == 0 && with_nic(context, fetch)) return 0;
    if (error == 0) continue;  // another thread was faster
    errno = error;
    return -1;
  }
}
