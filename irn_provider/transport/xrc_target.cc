#include "irn_provider/transport/xrc_target.h"

#include "base/wire/aeth.h"

namespace rocelab {

SharedReceiveQueue* named_srq(const QpContext& qp, const RoceHeaders& request) {
  const auto* found = qp.nic.srqs.find(request.src_qpn.value);
  return found != nullptr && (*found)->xrcd == qp.init.xrcd ? found->get() : nullptr;
}

void tell_refusal(const QpContext& qp, std::uint8_t syndrome) {
  if (qp.init.type != QpType::kXrcTgt) return;
  const auto kind =
      syndrome == kNakRemoteAccess ? AsyncEvent::Kind::kQpAccessError : AsyncEvent::Kind::kQpRequestError;
  qp.nic.events.raise({kind, qp.qpn.value});
}

}  // namespace rocelab
