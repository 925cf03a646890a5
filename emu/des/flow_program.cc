#include "emu/des/flow_program.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/check.h"
#include "emu/world/host_identity.h"

namespace rocelab::des {
namespace {

// Those of verbs_app/common/rdma.cc and of the device that it opens.
constexpr std::uint8_t kMinRnrTimer = 12, kRdAtomic = 16, kRnrRetry = 7;
constexpr std::uint32_t kAccess = kAccessLocalWrite | kAccessRemoteWrite | kAccessRemoteRead;
constexpr int kGidIndex = 1;
constexpr std::uint32_t kQkey = 0x11111111;
constexpr QpType kTypes[] = {QpType::kRc, QpType::kUc, QpType::kUd};  // by app::Service
// Those of verbs_app/flows/runner.cc.
constexpr int kPollBatch = 16;
constexpr std::uint64_t kAlign = 4'096, kFirstAddress = 1 << 20;

std::int64_t clock_ns(Time now) { return now.ps() / 1'000; }
Time at_ns(std::int64_t ns) { return Time::from_ps(ns * 1'000); }

void need(bool done, const char* what) {
  if (!done) throw std::runtime_error(std::string(what) + " refused by the NIC");
}

}  // namespace

FlowProgram::FlowProgram(const RunPlan& plan, std::uint32_t host, const std::vector<app::Flow>& flows,
                         std::span<const std::uint32_t> own, std::vector<FlowEndpoints>& endpoints, Nic& nic)
    : plan_(plan), host_(host), endpoints_(endpoints), nic_(nic) {
  std::uint64_t addr = kFirstAddress;
  for (const std::uint32_t i : own) {
    const Flow& planned = plan.flows[i];
    const bool is_source = planned.src == host;
    transfers_.push_back({{flows[i], is_source, static_cast<std::uint32_t>(transfers_.size()), {}},
                          i,
                          is_source ? planned.dst : planned.src,
                          addr,
                          {},
                          {},
                          {}});
    addr += (transfers_.back().script.buffer_bytes() + kAlign - 1) / kAlign * kAlign;
    const app::TransferScript& script = transfers_.back().script;
    if (script.flow().connection != 0)
      connections_.try_emplace(script.flow().connection, script.depth())
          .first->second.add(slot_of(transfers_.back()), script.flow().start_ns(), script.lanes());
  }
  if (transfers_.size() > app::TransferScript::kMaxSlots)
    throw std::runtime_error("too many flows for one host");
  std::size_t lanes = 0;
  for (const Transfer& t : transfers_) lanes += t.script.flow().destroys() ? 0 : lanes_of(t);
  const HostEntry& self = plan.world.hosts[host];
  if (lanes > self.nic.max_qps)
    throw std::runtime_error("the flows of host " + std::string(self.name) + " need " +
                             std::to_string(lanes) + " queue pairs, and its NIC has " +
                             std::to_string(self.nic.max_qps) +
                             ": all are connected before the run, as programs do it; shorten the workload's "
                             "duration, give it fewer flows or qps, or raise nic.max_qps");
}

app::SharedLanes* FlowProgram::shared_by(const Transfer& t) {
  const auto found = connections_.find(t.script.flow().connection);
  return found == connections_.end() ? nullptr : &found->second;
}

std::size_t FlowProgram::lanes_of(const Transfer& t) {
  const app::SharedLanes* shared = shared_by(t);
  if (shared == nullptr) return t.script.lanes();
  return shared->owner() == slot_of(t) ? shared->lanes() : 0;
}

// --- setting up, as Runner, Transfer and Rdma of the program do it

void FlowProgram::create() {
  int entries = 0;
  std::uint64_t end = kFirstAddress + 1;
  for (const Transfer& t : transfers_) {
    entries += app::TransferScript::cq_entries(lanes_of(t), {});
    end = t.addr + t.script.buffer_bytes();
  }
  pd_ = nic_.alloc_pd();
  const auto cq = nic_.create_cq(static_cast<std::uint32_t>(std::max(entries, 1)));
  need(cq.has_value(), "a completion queue");
  cq_ = *cq;
  const auto key = nic_.reg_mr(pd_, kFirstAddress, end - kFirstAddress, kFirstAddress, kAccess);
  need(key.has_value(), "memory");
  key_ = *key;
  for (Transfer& t : transfers_)
    if (!t.script.flow().connects_late()) create_lanes(t, Time::zero());
}

void FlowProgram::create_lanes(Transfer& t, Time now) {
  const app::SharedLanes* shared = shared_by(t);
  if (shared != nullptr && shared->owner() != slot_of(t)) {
    t.local = transfers_[shared->owner()].local;
    for (Endpoint& lane : t.local) lane.addr = t.addr;
  }
  for (std::size_t lane = 0; lane < lanes_of(t); ++lane) create_lane(t, lane, now);
  FlowEndpoints& both = endpoints_[t.flow_index];
  (t.script.is_source() ? both.source : both.sink) = t.local;
}

void FlowProgram::destroy_lanes(Transfer& t) {
  for (const Endpoint& lane : t.local) need(nic_.destroy_qp(lane.qpn), "ibv_destroy_qp");
}

void FlowProgram::create_lane(Transfer& t, std::size_t lane, Time now) {
  const app::LaneDepths depths = shared_by(t) != nullptr ? t.script.shared_depths() : t.script.depths(lane);
  QpInit init;
  init.pd = pd_;
  init.send_cq = init.recv_cq = cq_;
  init.caps.max_send_wr = static_cast<std::uint32_t>(std::max(depths.send, 1));
  init.caps.max_recv_wr = static_cast<std::uint32_t>(std::max(depths.recv, 1));
  init.caps.max_send_sge = init.caps.max_recv_sge = 1;
  init.type = kTypes[static_cast<std::size_t>(t.script.flow().service)];
  const auto qpn = nic_.create_qp(init);
  if (!qpn)
    throw std::runtime_error("host " + std::string(plan_.world.hosts[host_].name) +
                             " needs more queue pairs at once than its NIC has: raise nic.max_qps, or give "
                             "the workload fewer flows at a time");
  QpAttr attr = *nic_.query_qp(*qpn);
  attr.state = QpState::kInit;
  attr.access_flags = kAccess;
  attr.qkey = kQkey;
  need(nic_.modify_qp(*qpn, attr, now), "INIT");
  t.local.push_back({*qpn, t.script.first_psn(lane), t.addr, key_});
}

void FlowProgram::connect() {
  for (Transfer& t : transfers_) {
    if (!t.script.flow().connects_late()) connect_lanes(t, Time::zero());
    if (t.script.is_requester()) starts_.add(t.script.flow(), slot_of(t));
    unfinished_ += t.script.is_requester() || t.script.flow().op != app::Op::kRead;
    lifetimes_.add(t.script.flow(), slot_of(t));
  }
}

void FlowProgram::connect_lanes(Transfer& t, Time now) {
  const FlowEndpoints& both = endpoints_[t.flow_index];
  t.remote = t.script.is_source() ? both.sink : both.source;
  RL_CHECK(t.remote.size() == t.local.size());
  app::SharedLanes* shared = shared_by(t);
  if (shared != nullptr && shared->owner() == slot_of(t) && !t.script.is_requester())
    for (const std::uint32_t slot : shared->members()) shared->join(slot, transfers_[slot].script.lanes());
  for (std::size_t lane = 0; lane < lanes_of(t); ++lane) {
    if (!t.script.is_requester()) fill(t, lane, now);  // before the peer can send
    connect_lane(t, lane, now);
  }
}

void FlowProgram::connect_lane(Transfer& t, std::size_t lane, Time now) {
  const HostEntry& self = plan_.world.hosts[host_];
  const HostEntry& peer = plan_.world.hosts[t.peer];
  const Qpn qpn = t.local[lane].qpn;
  const Endpoint& remote = t.remote[lane];
  QpAttr attr = *nic_.query_qp(qpn);
  attr.state = QpState::kRtr;
  attr.path_mtu = plan_.settings.nic.config.active_mtu;
  attr.dest_qpn = remote.qpn;
  attr.rq_psn = remote.psn;
  attr.max_dest_rd_atomic = kRdAtomic;
  attr.min_rnr_timer = kMinRnrTimer;
  attr.path.src_gid = gid_of(self, kGidIndex);
  attr.path.dst_gid = gid_of(peer, kGidIndex);
  attr.path.dst_mac = peer.mac;
  attr.path.dst_node = NodeId{peer.node};
  attr.path.src_gid_index = kGidIndex;
  attr.path.traffic_class = t.script.flow().traffic_class().value_or(0);
  const bool datagrams = t.script.flow().service == app::Service::kUd;  // their address names no queue pairs
  attr.path.udp_src_port = udp_source_port(0, datagrams ? 0 : qpn.value, datagrams ? 0 : remote.qpn.value,
                                           attr.path.src_gid, attr.path.dst_gid);
  if (datagrams && t.script.is_requester()) {
    const auto ah = nic_.create_ah(pd_, attr.path);
    need(ah.has_value(), "an address handle");
    t.address = *ah;
    nic_.announce_flow(qpn, static_cast<std::uint32_t>(t.script.flow().requests()));
  }
  if (datagrams) {  // the queue pair is connected to nobody
    attr.path = {};
    attr.dest_qpn = {};
    attr.rq_psn = 0;
  }
  need(nic_.modify_qp(qpn, attr, now), "RTR");
  attr = *nic_.query_qp(qpn);
  attr.state = QpState::kRts;
  attr.timeout = plan_.settings.timers.verbs_timeout;
  attr.retry_cnt = plan_.settings.timers.verbs_retry_cnt;
  attr.rnr_retry = kRnrRetry;
  attr.sq_psn = t.local[lane].psn;
  attr.max_rd_atomic = kRdAtomic;
  need(nic_.modify_qp(qpn, attr, now), "RTS");
}

void FlowProgram::begin() {
  starts_.begin();
  for (std::uint32_t slot = 0; slot < transfers_.size(); ++slot) arm(slot);
  wake(Time::zero());
}

// --- posting

void FlowProgram::post_send(Transfer& t, std::size_t lane, const app::WorkRequest& request, Time now) {
  static constexpr WrOpcode kOpcodes[] = {WrOpcode::kSend, WrOpcode::kWrite, WrOpcode::kRead};
  const app::Flow& flow = t.script.flow();
  SendWqe wqe;
  wqe.wr_id = request.wr_id;
  wqe.opcode = kOpcodes[static_cast<std::size_t>(flow.op)];
  if (request.immediate) wqe.opcode = flow.op == app::Op::kSend ? WrOpcode::kSendImm : WrOpcode::kWriteImm;
  wqe.signaled = request.signaled;
  wqe.imm = request.immediate ? request.imm : 0;
  if (flow.op != app::Op::kSend) {
    wqe.remote_addr = t.remote[lane].addr + request.offset;
    wqe.rkey = t.remote[lane].rkey;
  }
  if (flow.service == app::Service::kUd) {
    wqe.ah = t.address;
    wqe.remote_qpn = t.remote[lane].qpn;
    wqe.remote_qkey = kQkey;
  }
  wqe.num_sge = 1;
  wqe.sge[0] = {t.addr + request.offset, request.length, key_};
  if (nic_.post_send(t.local[lane].qpn, wqe, now) != PostResult::kOk) fail(t, TransferRecord::kGeneralError);
}

void FlowProgram::post_recv(Transfer& t, std::size_t lane, const app::WorkRequest& request) {
  RecvWqe wqe;
  wqe.wr_id = request.wr_id;
  wqe.num_sge = request.length > 0 ? 1 : 0;
  wqe.sge[0] = {t.addr + request.offset, request.length, key_};
  if (nic_.post_recv(t.local[lane].qpn, wqe, Time::zero()) != PostResult::kOk)
    fail(t, TransferRecord::kGeneralError);
}

bool FlowProgram::post_next(Transfer& t, std::size_t lane, Time now) {
  const auto request = t.script.next(lane, clock_ns(now));
  if (!request) return false;
  if (t.script.is_requester()) {
    post_send(t, lane, *request, now);
  } else {
    post_recv(t, lane, *request);
  }
  return true;
}

void FlowProgram::fill(Transfer& t, std::size_t lane, Time now) {
  if (app::SharedLanes* shared = shared_by(t))
    return shared->fill(lane, [&](std::uint32_t slot) { return post_next(transfers_[slot], lane, now); });
  while (post_next(t, lane, now)) {
  }
}

// --- running: Runner::run_flows, from one wait to the next

void FlowProgram::wake(Time now) {
  now_ = now;
  if (waits_ == Waits::kEvent && nic_.cq_depth(cq_) > 0) poll(now);
  deadline_ = Time::never();
  for (;;) {
    if (unfinished_ == 0) {
      waits_ = Waits::kNothing;
      over_since_ = now;
      return;
    }
    start_due(now);
    if (unfinished_ == 0) continue;
    if (const std::int64_t due = next_ns(); due != app::kNever) {
      if (unfinished_ == starts_.timed_left()) {  // nothing is under way
        waits_ = Waits::kStart;
        deadline_ = at_ns(due);
        return;
      }
      if (poll(now) > 0) continue;
      waits_ = Waits::kEvent;  // with a timeout in whole nanoseconds from now
      deadline_ = plan_.exact_starts ? at_ns(due) : now + Duration::from_ps((due - clock_ns(now)) * 1'000);
      return;
    }
    if (poll(now) > 0) continue;
    waits_ = Waits::kPoll;
    return;
  }
}

void FlowProgram::start_due(Time now) {
  for (;;) {
    if (const auto due = lifetimes_.take(clock_ns(now))) {
      live_on(*due, now);
      continue;
    }
    const std::optional<std::uint32_t> starts = starts_.take(clock_ns(now)),
                                       slot = starts ? starts : alarms_.take(clock_ns(now));
    if (!slot) return;
    Transfer& t = transfers_[*slot];
    if (t.record.is_over()) continue;
    if (starts) t.record.posted = now;
    if (app::SharedLanes* shared = shared_by(t); starts && shared != nullptr)
      shared->join(*slot, t.script.lanes());
    if (t.script.time_is_up(clock_ns(now)))
      stop(t, now);
    else
      for (std::size_t lane = 0; lane < t.script.lanes(); ++lane) fill(t, lane, now);
    arm(*slot);
  }
}

void FlowProgram::live_on(const app::Lifetimes::Due& due, Time now) {
  Transfer& t = transfers_[due.slot];
  switch (due.step) {
    case app::Lifetimes::Step::kCreate:
      return create_lanes(t, now);
    case app::Lifetimes::Step::kConnect:
      return connect_lanes(t, now);
    case app::Lifetimes::Step::kDestroy:
      return destroy_lanes(t);
  }
}

void FlowProgram::arm(std::uint32_t slot) {
  const Transfer& t = transfers_[slot];
  if (t.script.flow().numbered())
    alarms_.set(slot, t.record.is_over() ? app::kNever : t.script.next_alarm_ns());
}

void FlowProgram::stop(Transfer& t, Time now) {
  t.record.over = now;
  t.record.timed_out = true;
  --unfinished_;
  if (!t.script.is_source()) return;
  if (app::SharedLanes* shared = shared_by(t); shared != nullptr && !shared->stop()) return;
  for (const Endpoint& lane : t.local) {
    QpAttr attr = *nic_.query_qp(lane.qpn);
    attr.state = QpState::kSqd;
    need(nic_.modify_qp(lane.qpn, attr, now), "SQD");
  }
}

std::size_t FlowProgram::poll(Time now) {
  std::size_t count = 0;
  while (count < kPollBatch) {
    const std::optional<Cqe> cqe = nic_.poll_cq(cq_);
    if (!cqe) break;
    ++count;
    handle(*cqe, now);
    arm(app::TransferScript::slot_of(cqe->wr_id));
  }
  return count;
}

// One takes others along, in chains that may be long.
void FlowProgram::fail(Transfer& first, int first_status) {
  failing_.emplace_back(slot_of(first), first_status);
  if (std::exchange(fails_others_, true)) return;
  for (; !failing_.empty(); failing_.pop_front()) {
    const auto [slot, status] = failing_.front();
    if (!transfers_[slot].record.is_over()) fail_one(transfers_[slot], status);
  }
  fails_others_ = false;
}

void FlowProgram::fail_one(Transfer& t, int status) {
  t.record.over = now_;
  any_failed_ = true;
  t.record.status = status;
  if (t.script.is_requester() || t.script.flow().op != app::Op::kRead) --unfinished_;
  for (const std::uint32_t slot : starts_.failed(t.script.flow().id))
    failing_.emplace_back(slot, TransferRecord::kGeneralError);
  if (app::SharedLanes* shared = shared_by(t); shared != nullptr && shared->fail())
    for (const std::uint32_t slot : shared->members()) failing_.emplace_back(slot, status);
}

void FlowProgram::handle(const Cqe& cqe, Time now) {
  Transfer& t = transfers_.at(app::TransferScript::slot_of(cqe.wr_id));
  const app::Flow& flow = t.script.flow();
  if (t.record.is_over()) return;  // what is flushed after a failure
  if (cqe.status != WcStatus::kSuccess) return fail(t, static_cast<int>(cqe.status));
  const std::size_t lane = app::TransferScript::lane_of(cqe.wr_id);
  const std::uint64_t before = t.script.outstanding(lane);
  const bool over = t.script.on_completion(cqe.wr_id);
  if (app::SharedLanes* shared = shared_by(t)) {
    shared->completed(lane, before - t.script.outstanding(lane));
    fill(t, lane, now);  // the next flow's, too
  }
  if (!t.script.is_requester()) {
    const auto imm = cqe.has_imm ? std::optional<std::uint32_t>(cqe.imm) : std::nullopt;
    if (!t.script.on_arrival(imm, cqe.byte_len, clock_ns(now))) return fail(t, TransferRecord::kGeneralError);
    if (flow.numbered())
      t.record.bytes = t.script.arrivals().bytes;
    else if (flow.op == app::Op::kSend)
      t.record.bytes += cqe.byte_len;
  }
  if (!over) return fill(t, lane, now);
  if ((flow.op != app::Op::kSend && !flow.numbered()) || t.script.is_requester()) t.record.bytes = flow.size;
  if (t.record.bytes != flow.size) return fail(t, TransferRecord::kGeneralError);
  if (t.script.is_requester()) t.record.cqe = at_ns(clock_ns(now));
  if (!t.script.is_source()) t.record.placed = now;
  t.record.over = now;
  --unfinished_;
  starts_.ended(flow.id, clock_ns(now));
  if (!flow.destroys()) return;
  if (t.script.is_source() || !flow.reliable())  // nothing is sent again
    destroy_lanes(t);
  else
    lifetimes_.destroy_at(slot_of(t), clock_ns(now) + flow.settle_ns);
}

}  // namespace rocelab::des
