// The verbs objects that programs hold pointers to: libibverbs' public struct first, what we know about it
// behind. Whatever the NIC may change by way of the completion hook is guarded by the LiveProcess's lock; the
// rest is set once or belongs to the caller's thread, as the verbs' rules for destroying objects say.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "irn_provider/live/live_process.h"
#include "irn_provider/verbs/libc/event_fd.h"
#include "irn_provider/verbs/libc/experiment.h"
#include "irn_provider/verbs/libc/real.h"

// verbs.h wraps these in macros that pick a variant by the flags; here they are what they are called.
#undef ibv_reg_mr
#undef ibv_reg_mr_iova
#undef ibv_query_port

namespace rocelab::verbs {

struct Cq;

struct Device {
  ibv_device base{};
  char beyond[256] =
      {};  // other libraries' direct-verbs entry points look behind ibv_device for their own marks
  lockstep::HostEntry host;
};

struct Channel {
  ibv_comp_channel base{};
  libc::EventFd events;   // one per entry of `ready`
  std::deque<Cq*> ready;  // CQs with an event that get_cq_event has not fetched
};

struct AsyncEvents {
  libc::EventFd events;
  std::deque<ibv_async_event> ready;
};

struct Context {
  verbs_context base{};  // its last member is the ibv_context that programs hold
  Device* device = nullptr;
  LiveProcess* process = nullptr;
  AsyncEvents async;
  std::atomic<std::uint32_t> pds{0};
};

struct Pd {
  ibv_pd base{};
  Pdn pdn;
};

struct Mr {
  ibv_mr base{};
};

struct Ah {
  ibv_ah base{};
  Ahn ahn;
};

enum class Armed : std::uint8_t { kNo, kSolicited, kAny };

struct Cq {
  ibv_cq base{};
  Cqn cqn;
  Armed armed = Armed::kNo;
  std::uint64_t polled = 0;  // CQEs taken from the NIC
  std::uint64_t made_at_arm =
      0;  // CQEs that the NIC had made when the program asked for an event: only later ones count
  std::deque<Cqe> stash;  // taken from the NIC to see whether they are solicited; polled before the NIC's
  bool overrun_told = false;
  bool just_armed = false;  // no empty poll since the program asked for an event
  std::uint32_t events_fetched = 0,
                async_fetched =
                    0;  // by get_cq_event, get_async_event: destroy waits until all are acknowledged
};

// Copies of inline data. A work request's copy must live until its packets are acknowledged, signaled or not.
// Work requests end in the order in which they were posted and at most `max_send_wr` are under way, so one
// more slot than that is enough: the slot of a request that the NIC refuses is nobody else's.
struct InlineRing {
  std::unique_ptr<std::byte[]> bytes;  // allocated by the first inline request
  std::uint64_t accepted = 0;          // send requests that the NIC took
};

struct Qp {
  ibv_qp base{};
  QpInit init;
  InlineRing inline_ring;
  // What query_qp gives back that the NIC does not keep.
  std::uint8_t port = 0;
  ibv_ah_attr ah{};
};

inline Context& of(ibv_context* c) {
  // Context is not standard-layout, but its first member lies at its address.
  return *reinterpret_cast<Context*>(reinterpret_cast<char*>(c) - offsetof(verbs_context, context));
}
inline Device& of(ibv_device* d) { return *reinterpret_cast<Device*>(d); }
inline Pd& of(ibv_pd* p) { return *reinterpret_cast<Pd*>(p); }
inline Mr& of(ibv_mr* m) { return *reinterpret_cast<Mr*>(m); }
inline Cq& of(ibv_cq* c) { return *reinterpret_cast<Cq*>(c); }
inline Qp& of(ibv_qp* q) { return *reinterpret_cast<Qp*>(q); }
inline Ah& of(ibv_ah* a) { return *reinterpret_cast<Ah*>(a); }
inline Channel& of(ibv_comp_channel* c) { return *reinterpret_cast<Channel*>(c); }

// Runs f(Nic&, Time now) under the process's lock, in the thread's experiment time.
template <class F>
auto with_nic(ibv_context* context, F&& f) {
  real::RuntimeScope scope;
  return of(context).process->call(f);
}

// Hardware has sent an acknowledgement before a program can know of the message; here a program runs in the
// very instant of the completion, ahead of the NIC's departures. So whatever ends a connection (destroying
// its QP, moving it to RESET or ERR, leaving the process) first lets this much time pass, and the last ACK
// leaves.
inline constexpr Duration kGoodbye = 100_us;
void linger(LiveProcess& process);  // not before time has begun: nothing was sent then, and time stands
void say_goodbye(ibv_qp& qp);       // lingers when the QP is connected

// A line on stderr when $ROCELAB_DEBUG is set: says why a call is about to fail.
void debug(const char* format, ...) __attribute__((format(printf, 1, 2)));

// Fills in where packets go. False: the address vector is not one of RoCE v2, or names no host of the run.
bool resolve(const Context& context, const ibv_ah_attr& ah, std::uint32_t local_qpn, std::uint32_t remote_qpn,
             PathAddress& path);

// Answers of calls that are not offered.
int unsupported(const char* what);  // EOPNOTSUPP
template <class T>
T* unsupported_object(const char* what) {
  errno = unsupported(what);
  return nullptr;
}

// CQEs that the NIC has made in `cq` so far. Under the lock.
inline std::uint64_t made(const Cq& cq, const Nic& nic) { return cq.polled + nic.cq_depth(cq.cqn); }

// The CQs of a process that may owe their program an event: comp_channel.cc.
void watch_cq(Cq& cq);                      // under the lock
void forget_cq(Cq& cq);                     // under the lock; takes its unfetched events along
void on_completions(Nic& nic);              // LiveProcess's hook
void tell_overrun(Cq& cq, const Nic& nic);  // under the lock: raises the asynchronous event, once

// Functions that programs reach through the context's pointers.
int poll_cq(ibv_cq* cq, int count, ibv_wc* wc);
int req_notify_cq(ibv_cq* cq, int solicited_only);
int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad);
int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad);
int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attr, std::size_t size);
int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input, ibv_device_attr_ex* attr,
                    std::size_t size);
void set_unsupported_ops(ibv_context_ops& ops);

}  // namespace rocelab::verbs
