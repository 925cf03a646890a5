// Requester: work requests that send nothing: binding a memory window and invalidating one's own. They take
// no PSN and are executed between the requests around them. Source: IBTA Vol 1, 10.6.7.2, 10.6.5.1 (a local
// invalidate waits for all before it, as with Linux rxe always), 10.8.3.3 (fence).
#include "irn_provider/transport/requester.h"

namespace rocelab {

PostResult Requester::check_local(const SendWqe& wqe) const {
  if (qp_.init.type == QpType::kUd) return PostResult::kBadOpcode;
  return wqe.num_sge == 0 && !wqe.inline_data ? PostResult::kOk : PostResult::kBadSge;
}

bool Requester::execute(const SendWqe& wqe) const {
  if (wqe.opcode == WrOpcode::kBindMw) return qp_.nic.windows.bind(binding_of(wqe), qp_.qpn, qp_.init.pd);
  return qp_.nic.windows.invalidate(RKey{wqe.imm}, qp_.qpn);
}

// All before it has left. Returns whether what is behind it may begin; `entry` may be gone then.
bool Requester::execute_local(SendEntry& entry, Time now) {
  if (qp_.attr.state != QpState::kRts) return false;
  const bool oldest = entry.number == queue_.front_number();
  const bool binds = entry.wqe.opcode == WrOpcode::kBindMw;
  if (!entry.checked) {
    if (binds ? entry.wqe.fence && reads_->outstanding() > 0 : !oldest) return false;
    entry.checked = true;
    entry.bad = !execute(entry.wqe);
  }
  if (entry.bad) {
    if (oldest) fail(entry, binds ? WcStatus::kMwBindErr : WcStatus::kLocQpOpErr, now);
    return false;
  }
  entry.started = entry.done = true;
  ++local_done_;
  complete_in_order(now);
  return !qp_.failed();
}

}  // namespace rocelab
