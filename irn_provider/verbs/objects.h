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
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "irn_provider/live/live_process.h"
#include "irn_provider/verbs/context_objects.h"
#include "irn_provider/verbs/libc/event_fd.h"
#include "irn_provider/verbs/libc/experiment.h"
#include "irn_provider/verbs/libc/real.h"
#include "irn_provider/verbs/refused.h"

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
  HostEntry host;
  std::size_t nic = 0;  // which of the process's NICs it is
};

struct Channel {
  ibv_comp_channel base{};
  libc::EventFd events;   // one per entry of `ready`
  std::deque<Cq*> ready;  // CQs with an event that get_cq_event has not fetched
  Kept<Channel>::Place place;
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
  ContextObjects context_objects;
  // What hardware has for its commands. Nothing is read from it; it is there to be waited for or handed on.
  int command_fd = -1;
};

struct Td {
  ibv_td base{};
  std::uint32_t users = 0;  // parent domains; under the lock
  Kept<Td>::Place place;
};

struct Pd {
  ibv_pd base{};
  Pdn pdn;
  Kept<Pd>::Place place;
  std::uint32_t parents = 0;  // parent domains that stand for it; under the lock
  Pd* protection = nullptr;   // of a parent domain: what it stands for, and the
  Td* td = nullptr;           // thread domain, if it has one
};

struct Mr {
  ibv_mr base{};
  RKey key;
  unsigned access = 0;      // IBV_ACCESS_*, without hints
  std::uint64_t pages = 0;  // that it keeps pinned (pinned.h)
  Kept<Mr>::Place place;
};

struct Mw {
  ibv_mw base{};
  RKey key;  // when it was made: the one in `base` is the program's to change
  Kept<Mw>::Place place;
};

struct Ah {
  ibv_ah base{};
  Ahn ahn;
  Kept<Ah>::Place place;
};

enum class Armed : std::uint8_t { kNo, kSolicited, kAny };  // in the order of what they wait for

struct Cq {
  ibv_cq_ex ex{};  // its functions are set when it was created as an extended one
  ibv_cq& base = *ibv_cq_ex_to_cq(&ex);
  Cqn cqn;
  Kept<Cq>::Place place;
  Armed armed = Armed::kNo;
  // CQEs that the NIC had made when the program asked for an event: only later ones count.
  std::uint64_t made_at_arm = 0;
  // CQEs made when the program found it empty, until it finds one or is told of one: what comes between that
  // poll and its asking for an event, it does not know of.
  std::optional<std::uint64_t> made_at_empty;
  bool just_armed = false;  // no empty poll since the program asked for an event
  // By get_cq_event, get_async_event: destroy waits until all are acknowledged.
  std::uint32_t events_fetched = 0, async_fetched = 0;
  // Between start_poll and end_poll: the thread that polls has it, and reads the current completion.
  std::atomic_flag polling = ATOMIC_FLAG_INIT;
  ibv_wc current{};
  Time current_time;
};

struct Xrcd {
  ibv_xrcd base{};
  Xrcdn xrcdn;
  Kept<Xrcd>::Place place;
  std::uint32_t users = 0;  // SRQs and QPs made with this handle; under the lock
};

struct Srq {
  ibv_srq base{};
  Srqn srqn;
  Kept<Srq>::Place place;
  Xrcd* xrcd = nullptr;              // of an XRC SRQ
  std::uint32_t events_fetched = 0;  // as Cq's
};

// Copies of inline data. A work request's copy must live until its packets are acknowledged, signaled or not.
// Work requests end in the order in which they were posted and at most `max_send_wr` are under way, so one
// more slot than that is enough: the slot of a request that the NIC refuses is nobody else's.
struct InlineRing {
  std::unique_ptr<std::byte[]> bytes;  // allocated by the first inline request
  std::uint64_t accepted = 0;          // send requests that the NIC took
};

// Work requests between wr_start and wr_complete.
struct Builder {
  std::atomic_flag busy = ATOMIC_FLAG_INIT;  // a thread is building
  int error = 0;                             // the first one that a call met, and why
  const char* why = "";
  std::vector<SendWqe> wqes;
  std::vector<std::byte> inline_bytes;
};

// What query_qp gives back that the NIC does not keep.
struct QpPath {
  std::uint8_t port = 0;
  ibv_ah_attr ah{};
};

// A handle of a queue pair: the only one, but for XRC targets, which others may open (ibv_open_qp).
struct Qp {
  ibv_qp_ex ex{};  // its functions are set when it was created as an extended one
  ibv_qp& base = ex.qp_base;
  Qpn qpn;
  QpInit init;
  Kept<Qp>::Place place;
  Builder builder;
  std::uint32_t events_fetched = 0;  // as Cq's
  InlineRing inline_ring;
  std::shared_ptr<QpPath> path = std::make_shared<QpPath>();  // of all its handles
  Xrcd* xrcd = nullptr;                                       // of an XRC target
  bool closes_at_once = false;                                // rocelab_close_at_once()
};

inline Context& of(ibv_context* c) {
  // Context is not standard-layout, but its first member lies at its address.
  return *reinterpret_cast<Context*>(reinterpret_cast<char*>(c) - offsetof(verbs_context, context));
}
inline Device& of(ibv_device* d) { return *reinterpret_cast<Device*>(d); }
inline Td& of(ibv_td* t) { return *reinterpret_cast<Td*>(t); }
inline Pd& of(ibv_pd* p) { return *reinterpret_cast<Pd*>(p); }
inline Mr& of(ibv_mr* m) { return *reinterpret_cast<Mr*>(m); }
inline Mw& of(ibv_mw* m) { return *reinterpret_cast<Mw*>(m); }
inline Cq& of(ibv_cq* c) { return *reinterpret_cast<Cq*>(c); }
inline Qp& of(ibv_qp* q) { return *reinterpret_cast<Qp*>(q); }
inline Srq& of(ibv_srq* s) { return *reinterpret_cast<Srq*>(s); }
inline Xrcd& of(ibv_xrcd* x) { return *reinterpret_cast<Xrcd*>(x); }
inline Ah& of(ibv_ah* a) { return *reinterpret_cast<Ah*>(a); }
inline Channel& of(ibv_comp_channel* c) { return *reinterpret_cast<Channel*>(c); }

// The `handle` in an object is what the kernel knows it by. A program may change it, and then means an object
// that does not exist (ENOENT) where other devices ask the kernel: when objects are made with it, changed,
// asked about or destroyed, not where work is posted or completions are polled.
inline bool forged(const Pd& pd) { return pd.base.handle != pd.pdn.value; }
inline bool forged(const Mr& mr) { return mr.base.handle != mr.key.value; }
inline bool forged(const Mw& mw) { return mw.base.handle != mw.key.value; }
inline bool forged(const Ah& ah) { return ah.base.handle != ah.ahn.value; }
inline bool forged(const Cq& cq) { return cq.base.handle != cq.cqn.value; }
inline bool forged(const Srq& srq) { return srq.base.handle != srq.srqn.value; }
inline bool forged(const Qp& qp) { return qp.base.handle != qp.qpn.value; }

// What a call that returns an error number answers: errno holds the same, since behind other devices
// libibverbs leaves there what the kernel refuses, and programs look at either. Not under the lock:
// with_nic() puts errno back.
[[nodiscard]] inline int answer(int error) {
  if (error != 0) errno = error;
  return error;
}

// A forked child has a copy of its parent's context, whose NIC is the parent's: it can neither make anything
// with it nor use or change what it has copies of (ENODEV), but destroy these. A child's own context comes
// from ibv_open_device.
inline bool inherited(ibv_context* context) { return of(context).process->inherited(); }

// While one lives errno may change; after it, it is as before. Around what of ours makes system calls: a
// verbs call that succeeds leaves errno alone, since programs clean up with such calls before they look why
// another one has failed (librdmacm does). Calls that fail set it themselves, behind it.
class KeepsErrno {
 public:
  KeepsErrno() = default;
  ~KeepsErrno() { errno = before_; }
  KeepsErrno(const KeepsErrno&) = delete;
  KeepsErrno& operator=(const KeepsErrno&) = delete;

 private:
  const int before_ = errno;
};

// Runs f(Nic&, Time now) under the process's lock, in the thread's experiment time.
template <class F>
auto with_nic(ibv_context* context, F&& f) {
  KeepsErrno keeps;
  real::RuntimeScope scope;
  return of(context).process->call(f, of(context).device->nic);
}

// The same for calls that return an error number, and that a forked child may not make of what is its
// parent's.
template <class F>
int ask_nic(ibv_context* context, F&& f) {
  return answer(inherited(context) ? ENODEV : with_nic(context, f));
}
// ... about an object of the program's.
template <class T, class F>
int ask_nic(T& object, F&& f) {
  return forged(object) ? answer(ENOENT) : ask_nic(object.base.context, f);
}

// The same for what ends an object. False: something uses it (EBUSY). A forked child ends its copy alone.
template <class F>
bool end_in_nic(ibv_context* context, F&& f) {
  const bool ended = inherited(context) || with_nic(context, f);
  if (!ended) errno = EBUSY;
  return ended;
}

// The same for a poll: `look(Nic&, Time now)` says whether it has found nothing, and may wait
// (LiveProcess::poll()).
template <class Look>
void poll(ibv_context* context, const Look& look) {
  KeepsErrno keeps;
  real::RuntimeScope scope;
  of(context).process->poll(of(context).device->nic, std::cref(look));
}

// Hardware has sent an acknowledgement before a program can know of the message; here a program runs in the
// very instant of the completion, ahead of the NIC's departures. So whatever ends a connection (destroying
// its QP, moving it to RESET or ERR, leaving the process) first lets this much time pass, and the last ACK
// leaves.
inline constexpr Duration kPeerClosed = 100_us;
void linger(LiveProcess& process);      // not before time has begun: nothing was sent then, and time stands
bool is_connected(const ibv_qp& qp);    // RTR, RTS or SQD
void notify_peer_on_close(ibv_qp& qp);  // lingers when the QP is connected

// Finds out where the address is, for resolve(). May wait: not under the lock.
void reach(LiveProcess& process, const ibv_ah_attr& ah);

// Fills in where packets go. False: the address vector is not one of RoCE v2, or names no host of the run.
// `call`: for whom, should it be refused (refused.h).
bool resolve(const char* call, const Context& context, const ibv_ah_attr& ah, std::uint32_t local_qpn,
             std::uint32_t remote_qpn, PathAddress& path);

// Puts this process into the run, on first call. Null, with a line on stderr, when that is impossible.
LiveProcess* enter_experiment();
// The process ends: its connections do, and what is due leaves. Nothing in a process that opened no device.
void leave_experiment();

// Answers of calls that are not offered.
int unsupported(const char* what);  // EOPNOTSUPP
template <class T>
T* unsupported_object(const char* what) {
  errno = unsupported(what);
  return nullptr;
}

// The CQs of a process that may owe their program an event: comp_channel.cc.
void watch_cq(Cq& cq);                                  // under the lock
void forget_cq(Cq& cq);                                 // under the lock; takes its unfetched events along
void on_completions(std::size_t nic_number, Nic& nic);  // LiveProcess's hook
void forget_armed();                                    // under the lock: in a forked child, its parent's

// Asynchronous events: async_events.cc.
struct Registry {  // the process's objects of one NIC, most by the NIC's numbers; under the lock
  std::vector<Context*> contexts;
  std::unordered_map<std::uint32_t, Cq*> cqs;
  std::unordered_map<std::uint32_t, std::vector<Qp*>> qps;  // all handles, in the order of their making
  std::unordered_map<std::uint32_t, Srq*> srqs;
};
Registry& registry(std::size_t nic);
inline Registry& registry(ibv_context* context) { return registry(of(context).device->nic); }
// Under the lock: what the NIC tells becomes events of the program's objects.
void take_events(std::size_t nic_number, Nic& nic);
// Under the lock: an object goes, and its events that nobody has fetched.
void forget_events(ibv_context* context, const std::function<bool(const ibv_async_event&)>& of_object);
inline bool tells_of(const ibv_async_event& e, const ibv_cq& cq) {
  return e.event_type == IBV_EVENT_CQ_ERR && e.element.cq == &cq;
}
inline bool tells_of(const ibv_async_event& e, const ibv_srq& srq) {
  return e.event_type == IBV_EVENT_SRQ_LIMIT_REACHED && e.element.srq == &srq;
}
inline bool tells_of_port(const ibv_async_event& e) {
  return e.event_type == IBV_EVENT_PORT_ACTIVE || e.event_type == IBV_EVENT_PORT_ERR;
}
inline bool tells_of(const ibv_async_event& e, const ibv_qp& qp) {
  return !tells_of_port(e) && e.event_type != IBV_EVENT_CQ_ERR &&
         e.event_type != IBV_EVENT_SRQ_LIMIT_REACHED && e.element.qp == &qp;
}
// As libibverbs does: the events that a program fetched must be acknowledged before their object may go.
// `all` is called with `mutex` held.
void wait_for_acks(pthread_mutex_t& mutex, pthread_cond_t& cond, const std::function<bool()>& all);

// Where the copy of the next inline request of the QP goes (post.cc). Under the lock.
std::byte* inline_slot(Qp& qp);
// Posts one request; 0 or the errno. Under the lock.
int post(Nic& nic, Time now, Qp& qp, const SendWqe& wqe);

// The device's clock at an instant of experiment time, in units of 1 / kHcaClockKhz ms.
std::uint64_t hca_clock(Time t);

// Functions that programs reach through the context's pointers.
int poll_cq(ibv_cq* cq, int count, ibv_wc* wc);
int req_notify_cq(ibv_cq* cq, int solicited_only);
int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad);
int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad);
int post_srq_recv(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad);
ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attr);
ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attr);
ibv_qp* open_qp(ibv_context* context, ibv_qp_open_attr* attr);
ibv_srq* create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex* attr);
int get_srq_num(ibv_srq* srq, std::uint32_t* number);
ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* attr);
int dealloc_td(ibv_td* td);
ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* attr);
ibv_xrcd* open_xrcd(ibv_context* context, ibv_xrcd_init_attr* attr);
int close_xrcd(ibv_xrcd* xrcd);
int query_rt_values(ibv_context* context, ibv_values_ex* values);
// What the calls that make plain and extended objects share; null and errno when refused.
ibv_cq* create_cq(ibv_context* context, int entries, void* cq_context, ibv_comp_channel* channel,
                  int comp_vector);
// `pd`: null for an XRC target, which has `xrcd`.
ibv_qp* create_qp(ibv_context* context, ibv_pd* pd, Xrcd* xrcd, const ibv_qp_init_attr& attr);
void init_qp(Qp& qp, ibv_context* context, Qpn qpn, ibv_qp_type type,
             void* qp_context);  // a new handle's public part
int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attr, std::size_t size);
int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input, ibv_device_attr_ex* attr,
                    std::size_t size);
ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type);
int bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind);
int dealloc_mw(ibv_mw* mw);

}  // namespace rocelab::verbs
