#include "irn_provider/transport/xrc_target.h"

namespace rocelab {

SharedReceiveQueue* named_srq(const QpContext& qp, const RoceHeaders& request) {
  const auto* found = qp.nic.srqs.find(request.src_qpn.value);
  return found != nullptr && (*found)->xrcd == qp.init.xrcd ? found->get() : nullptr;
}

}  // namespace rocelab
