// Extended completion queues: ibv_create_cq_ex and the calls that read a completion piece by piece. A CQ is
// the same object either way; one that was created here may also be polled by ibv_poll_cq.
//
// Between start_poll and end_poll the CQ is the calling thread's. A thread that finds it taken lets time pass
// as for an empty poll: the one that has it may be parked.
#include <atomic>
#include <cerrno>
#include <cstdlib>

#include "irn_provider/verbs/libc/program_clocks.h"
#include "irn_provider/verbs/libc/real.h"
#include "irn_provider/verbs/objects.h"
#include "irn_provider/verbs/translate.h"

namespace rocelab::verbs {
namespace {

constexpr std::uint64_t kWcFlags = std::uint64_t{IBV_WC_STANDARD_FLAGS} |
                                   IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
                                   IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;

Cq& of(ibv_cq_ex* cq) { return verbs::of(ibv_cq_ex_to_cq(cq)); }

// The next completion becomes the current one. ENOENT: there is none.
int take_next(Nic& nic, Cq& cq) {
  const std::optional<Cqe> cqe = nic.poll_cq(cq.cqn);
  if (!cqe) return ENOENT;
  to_wc(*cqe, cq.current);
  cq.current_time = cqe->time;
  cq.ex.wr_id = cq.current.wr_id;
  cq.ex.status = cq.current.status;
  return 0;
}

int next_poll(ibv_cq_ex* base) {
  if (inherited(base->context)) return answer(ENODEV);
  return with_nic(base->context, [&](Nic& nic, Time) { return take_next(nic, of(base)); });
}

void end_poll(ibv_cq_ex* base) { of(base).polling.clear(std::memory_order_release); }

int start_poll(ibv_cq_ex* base, ibv_poll_cq_attr* attr) {
  if (attr->comp_mask != 0) return answer(EINVAL);
  if (inherited(base->context)) return answer(ENODEV);
  libc::end_spin();
  Cq& cq = of(base);
  int error = ENOENT;
  bool busy = false;  // another thread polls it
  const auto look = [&](Nic& nic, Time) {
    busy = cq.polling.test_and_set(std::memory_order_acquire);
    if (busy) return true;
    error = take_next(nic, cq);
    if (error == 0) return false;
    end_poll(base);
    return !std::exchange(cq.just_armed, false);
  };
  do poll(base->context, look);
  while (busy);
  return error;
}

std::int64_t device_ns() { return LiveProcess::attached()->now().ps() / 1'000; }

// In real time: what CLOCK_REALTIME is ahead of the device's clock. Both are slewed alike, and it changes
// only when somebody sets the time. Measured anew for each completion it would contain what passes between
// two looks at clocks, and a later completion might get the earlier time.
std::int64_t realtime_lead_ns() {
  constexpr std::int64_t kUnknown = INT64_MIN, kTight = 10'000, kSet = 1'000'000;
  constexpr int kTries = 1'000;  // where clocks are slow no two looks are tight
  static std::atomic<std::int64_t> kept = kUnknown;
  for (int i = 0;; ++i) {
    const std::int64_t before = device_ns();
    timespec day{};
    real::clock_gettime(CLOCK_REALTIME, &day);
    const std::int64_t lead = day.tv_sec * 1'000'000'000 + day.tv_nsec - before;
    const bool tight = device_ns() - before <= kTight || i == kTries;
    std::int64_t known = kept.load(std::memory_order_relaxed);
    if (known != kUnknown && (!tight || std::abs(lead - known) < kSet)) return known;
    if (tight && kept.compare_exchange_strong(known, lead, std::memory_order_relaxed)) return lead;
  }
}

std::uint64_t wallclock_ns(Time t) {
  if (LiveProcess::timekeeper() == nullptr)  // the clock is real, and so is its time of day
    return static_cast<std::uint64_t>(realtime_lead_ns() + t.ps() / 1'000);
  const timespec ts = libc::shown(*LiveProcess::timekeeper(), CLOCK_REALTIME, t);
  return static_cast<std::uint64_t>(ts.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(ts.tv_nsec);
}

void set_functions(ibv_cq_ex& cq) {
  cq.start_poll = start_poll;
  cq.next_poll = next_poll;
  cq.end_poll = end_poll;
  cq.read_opcode = [](ibv_cq_ex* c) { return of(c).current.opcode; };
  cq.read_vendor_err = [](ibv_cq_ex* c) { return of(c).current.vendor_err; };
  cq.read_byte_len = [](ibv_cq_ex* c) { return of(c).current.byte_len; };
  cq.read_imm_data = [](ibv_cq_ex* c) { return of(c).current.imm_data; };
  cq.read_qp_num = [](ibv_cq_ex* c) { return of(c).current.qp_num; };
  cq.read_src_qp = [](ibv_cq_ex* c) { return of(c).current.src_qp; };
  cq.read_wc_flags = [](ibv_cq_ex* c) { return of(c).current.wc_flags; };
  cq.read_slid = [](ibv_cq_ex* c) { return std::uint32_t{of(c).current.slid}; };
  cq.read_sl = [](ibv_cq_ex* c) { return of(c).current.sl; };
  cq.read_dlid_path_bits = [](ibv_cq_ex* c) { return of(c).current.dlid_path_bits; };
  cq.read_completion_ts = [](ibv_cq_ex* c) { return hca_clock(of(c).current_time); };
  cq.read_completion_wallclock_ns = [](ibv_cq_ex* c) { return wallclock_ns(of(c).current_time); };
  // Never asked for (kWcFlags), but a program that calls them all the same gets an answer.
  cq.read_cvlan = [](ibv_cq_ex*) { return std::uint16_t{0}; };
  cq.read_flow_tag = [](ibv_cq_ex*) { return std::uint32_t{0}; };
  cq.read_tm_info = [](ibv_cq_ex*, ibv_wc_tm_info* info) { *info = {}; };
}

constexpr unsigned kMask = unsigned{IBV_CQ_INIT_ATTR_MASK_FLAGS} | unsigned{IBV_CQ_INIT_ATTR_MASK_PD};

int check(const ibv_cq_init_attr_ex& attr) {
  if ((attr.wc_flags & ~kWcFlags) != 0) return unsupported("create_cq_ex: these wc_flags");
  if ((attr.comp_mask & ~kMask) != 0) return unsupported("create_cq_ex: this comp_mask");
  const bool has_parent = (attr.comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) != 0;
  if (has_parent && (attr.parent_domain == nullptr || verbs::of(attr.parent_domain).protection == nullptr))
    return EINVAL;
  const bool flags = (attr.comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0;
  if (flags && (attr.flags & ~unsigned{IBV_CREATE_CQ_ATTR_SINGLE_THREADED}) != 0)
    return unsupported("create_cq_ex: a CQ that ignores overruns");
  return attr.cqe > INT32_MAX || attr.comp_vector > INT32_MAX ? EINVAL : 0;
}

}  // namespace

std::uint64_t hca_clock(Time t) { return static_cast<std::uint64_t>(t.ps() / 1'000); }

ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attr) {
  if (const int error = check(*attr); error != 0) {
    errno = error;
    return nullptr;
  }
  ibv_cq* cq = create_cq(context, static_cast<int>(attr->cqe), attr->cq_context, attr->channel,
                         static_cast<int>(attr->comp_vector));
  if (cq == nullptr) return nullptr;
  set_functions(verbs::of(cq).ex);
  return &verbs::of(cq).ex;
}

// The device's clock counts experiment time, in units of 1 ns (kHcaClockKhz).
int query_rt_values(ibv_context* context, ibv_values_ex* values) {
  if ((values->comp_mask & ~unsigned{IBV_VALUES_MASK_RAW_CLOCK}) != 0) return answer(EINVAL);
  if (values->comp_mask == 0) return 0;
  if (inherited(context)) return answer(ENODEV);
  const std::uint64_t clock = with_nic(context, [](Nic&, Time now) { return hca_clock(now); });
  values->raw_clock = {.tv_sec = 0, .tv_nsec = static_cast<long>(clock)};
  return 0;
}

}  // namespace rocelab::verbs
