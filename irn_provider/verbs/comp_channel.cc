// Completion channels: queues of events behind a descriptor that programs may poll().
//
// A CQ that was asked for an event gives one for the first completion made later, or, asked for solicited
// ones, for the first later one that is solicited or an error. Completions that already waited give none:
// that is why programs poll once more after asking. One that has come since the program found the CQ empty
// counts as later: adapters arm by what the program has polled, and UCX relies on that. Time passes in an
// empty poll of another CQ, so such completions are not rare here.
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
  cq.made_at_empty.reset();
  channel.ready.push_back(&cq);
  channel.events.raise();
}

bool event_due(const Cq& cq, const Nic& nic) {
  const std::uint64_t last = cq.armed == Armed::kAny ? nic.cq_made(cq.cqn) : nic.cq_last_solicited(cq.cqn);
  return last > cq.made_at_arm;
}

}  // namespace

void watch_cq(Cq& cq) { armed_cqs.push_back(&cq); }

void forget_cq(Cq& cq) {
  std::erase(armed_cqs, &cq);
  if (cq.base.channel == nullptr) return;
  Channel& channel = of(cq.base.channel);
  for (auto n = std::erase(channel.ready, &cq); n > 0; --n) channel.events.take();
  --channel.base.refcnt;
}

void forget_armed() { armed_cqs.clear(); }

void on_completions(std::size_t nic_number, Nic& nic) {
  take_events(nic_number, nic);
  std::erase_if(armed_cqs, [&](Cq* cq) {
    const bool due = of(cq->base.context).device->nic == nic_number && event_due(*cq, nic);
    if (due) raise_event(*cq);
    return due;
  });
}

bool end(Nic& /*nic*/, Channel& channel) { return channel.base.refcnt == 0; }

}  // namespace rocelab::verbs

using namespace rocelab;
using namespace rocelab::verbs;

RL_EXPORT ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  if (!in_experiment()) return REAL(ibv_create_comp_channel)(context);
  if (inherited(context)) {
    errno = ENODEV;
    return nullptr;
  }
  auto channel = std::make_unique<Channel>();
  if (channel->events.fd() < 0) {
    errno = EMFILE;
    return nullptr;
  }
  channel->base = {.context = context, .fd = channel->events.fd(), .refcnt = 0};
  with_nic(context, [&](Nic&, Time) { of(context).context_objects.channels.add(*channel); });
  return &channel.release()->base;
}

RL_EXPORT int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  if (!in_experiment()) return REAL(ibv_destroy_comp_channel)(channel);
  const bool destroyed = end_in_nic(channel->context, [&](Nic& nic, Time) {
    if (!end(nic, of(channel))) return false;
    of(channel->context).context_objects.channels.remove(of(channel));
    return true;
  });
  if (!destroyed) return refused("ibv_destroy_comp_channel", EBUSY, "completion queues still use it");
  delete &of(channel);
  return 0;
}

RL_EXPORT int ibv_get_cq_event(ibv_comp_channel* base, ibv_cq** cq, void** cq_context) {
  if (!in_experiment()) return REAL(ibv_get_cq_event)(base, cq, cq_context);
  if (inherited(base->context)) {
    errno = ENODEV;
    return -1;
  }
  Channel& channel = of(base);
  const auto fetch = [&](Nic&, Time) -> Cq* {
    if (!channel.events.take()) return nullptr;
    Cq* first = channel.ready.front();
    channel.ready.pop_front();
    ++first->events_fetched;
    return first;
  };
  while (true) {
    const int error = libc::restarting([&] {
      KeepsErrno keeps;
      return channel.events.wait(*of(base->context).process);
    });
    if (error != 0) {
      errno = error;
      return -1;
    }
    Cq* first = with_nic(base->context, fetch);
    if (first == nullptr) continue;  // another thread was faster
    *cq = &first->base;
    *cq_context = first->base.cq_context;
    return 0;
  }
}
