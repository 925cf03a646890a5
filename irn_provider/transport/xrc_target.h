// What is special about the receiving end of an XRC connection: it has no receive queue, CQ or protection
// domain of its own; each request names the SRQ of its XRC domain that all of them are taken from. Source:
// IBTA Vol 1, annex A14. Otherwise a target is a GbnResponder, in IRN mode too (DEVIATIONS.md).
#pragma once

#include "irn_provider/transport/qp_context.h"

namespace rocelab {

// The SRQ that a request of class XRC names; null: there is none of that number in the QP's XRC domain.
SharedReceiveQueue* named_srq(const QpContext& qp, const RoceHeaders& request);

}  // namespace rocelab
