// Completion channels and the asynchronous events of a device: queues of events behind a descriptor that
// programs may poll().
//
// A CQ that was asked for an event gives one for the first completion made later, or, asked for solicited
// ones, for the first later one that is solicited or an error. Completions that already waited give none:
// that is why programs poll once more after asking.
#include <algorithm>
#include <cerrno>
#include <memory>
#include <vector>

#include "irn_provider/verbs/exports.h"
#include "irn_provider/verbs/objects.h"
#include "irn_provider/verbs/real_verbs.h"

namespace rocelab::verbs {
namespace {

// CQs that are armed, in the order of arming. Under the process's lock.
std::vector<Cq*> armed_cqs;

void raise_event(Cq& cq) {
  Channel& channel = of(cq.base.channel);
  cq.armed = Armed::kNo;
  channel.ready.push_back(&cq);
  channel.events.raise();
}

// The NIC does not say whether a waiting CQE is solicited: take them out and keep them.
bool solicited_came(Cq& cq, Nic& nic) {
  bool came = false;
  while (const std::optional<Cqe> cqe = nic.poll_cq(cq.cqn)) {
    const bool is_new = cq.polled++ >= cq.made_at_arm;
    came |= is_new && (cqe->solicited || cqe->status != WcStatus::kSuccess);
    cq.stash.push_back(*cqe);
  }
  return came;
}

bool event_due(Cq& cq, Nic& nic) {
  return cq.armed == Armed::kAny ? made(cq, nic) > cq.made_at_arm : solicited_came(cq, nic);
}

}  // namespace

void watch_cq(Cq& cq) { armed_cqs.push_back(&cq); }

void forget_cq(Cq& cq) {
  std::erase(armed_cqs, &cq);
  if (cq.base.channel == nullptr) return;
  Channel& channel = of(cq.base.channel);
  for (auto n = std::erase(channel.ready, &cq); n > 0; --n) channel.events.take();
  --channel.base.refcnt;
  AsyncEvents& async = of(cq.base.context).async;
  for (auto n =
           std::erase_if(async.ready, [&](const ibv_async_event& e) { return e.element.cq == &cq.base; });
       n > 0; --n)
    async.events.take();
}

void on_completions(Nic& nic) {
  std::erase_if(armed_cqs, [&](Cq* cq) {
    const bool due = event_due(*cq, nic);
    tell_overrun(*cq, nic);
    if (due) raise_event(*cq);
    return due;
  });
}

// IBTA 11.6.3.1: an overrun CQ is an affiliated asynchronous error, told once.
void tell_overrun(Cq& cq, const Nic& nic) {
  const bool overrun = nic.cq_overrun(cq.cqn) || cq.stash.size() > static_cast<std::size_t>(cq.base.cqe);
  if (!overrun || cq.overrun_told) return;
  cq.overrun_told = true;
  AsyncEvents& async = of(cq.base.context).async;
  ibv_async_event event{};
  event.element.cq = &cq.base;
  event.event_type = IBV_EVENT_CQ_ERR;
  async.ready.push_back(event);
  async.events.raise();
}

}  // namespace rocelab::verbs

using namespace rocelab;
using namespace rocelab::verbs;

RL_EXPORT ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  if (!in_experiment()) return REAL(ibv_create_comp_channel)(context);
  auto channel = std::make_unique<Channel>();
  if (channel->events.fd() < 0) {
    errno = EMFILE;
    return nullptr;
  }
  channel->base = {.context = context, .fd = channel->events.fd(), .refcnt = 0};
  return &channel.release()->base;
}

RL_EXPORT int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  if (!in_experiment()) return REAL(ibv_destroy_comp_channel)(channel);
  if (with_nic(channel->context, [&](Nic&, Time) { return channel->refcnt; }) > 0) return EBUSY;
  delete &of(channel);
  return 0;
}

RL_EXPORT int ibv_get_cq_event(ibv_comp_channel* base, ibv_cq** cq, void** cq_context) {
  if (!in_experiment()) return REAL(ibv_get_cq_event)(base, cq, cq_context);
  Channel& channel = of(base);
  const auto fetch = [&](Nic&, Time) -> Cq* {
    if (!channel.events.take()) return nullptr;
    Cq* first = channel.ready.front();
    channel.ready.pop_front();
    ++first->events_fetched;
    return first;
  };
  while (channel.events.wait(*of(base->context).process)) {
    Cq* first = with_nic(base->context, fetch);
    if (first == nullptr) continue;  // another thread was faster
    *cq = &first->base;
    *cq_context = first->base.cq_context;
    return 0;
  }
  errno = EAGAIN;
  return -1;
}

RL_EXPORT int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  if (!in_experiment()) return REAL(ibv_get_async_event)(context, event);
  AsyncEvents& async = of(context).async;
  const auto fetch = [&](Nic&, Time) {
    if (!async.events.take()) return false;
    *event = async.ready.front();
    async.ready.pop_front();
    ++of(event->element.cq).async_fetched;  // CQ_ERR is the only one we raise
    return true;
  };
  while (async.events.wait(*of(context).process))
    if (with_nic(context, fetch)) return 0;
  errno = EAGAIN;
  return -1;
}
