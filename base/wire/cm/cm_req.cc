#include "base/wire/cm/cm_req.h"

namespace rocelab::cm {

Req Req::parse(MessageView b) {
  Req r;
  r.local_id = wire::load32(b, 0);
  r.vendor_id = wire::load24(b, 5);
  r.service_id = wire::load64(b, 8);
  r.ca_guid = wire::load64(b, 16);
  r.qkey = wire::load32(b, 28);
  r.qpn = Qpn{wire::load24(b, 32)};
  r.responder_resources = wire::load8(b, 35);
  r.local_eecn = wire::load24(b, 36);
  r.initiator_depth = wire::load8(b, 39);
  r.remote_eecn = wire::load24(b, 40);
  r.remote_cm_timeout = load_bits(b, 43, 0, 5);
  r.service = static_cast<Service>(load_bits(b, 43, 5, 2));
  r.flow_control = load_bits(b, 43, 7, 1) != 0;
  r.starting_psn = wire::load24(b, 44);
  r.local_cm_timeout = load_bits(b, 47, 0, 5);
  r.retry_count = load_bits(b, 47, 5, 3);
  r.pkey = wire::load16(b, 48);
  r.mtu = load_bits(b, 50, 0, 4);
  r.rdc_exists = load_bits(b, 50, 4, 1) != 0;
  r.rnr_retry_count = load_bits(b, 50, 5, 3);
  r.max_cm_retries = load_bits(b, 51, 0, 4);
  r.srq = load_bits(b, 51, 4, 1) != 0;
  r.extended_transport = load_bits(b, 51, 5, 3);
  r.primary = Path::parse(b.subspan(kPrimaryAt, Path::kSize));
  r.alternate = Path::parse(b.subspan(kAlternateAt, Path::kSize));
  r.private_data = wire::load_array<kPrivateBytes>(b, kPrivateAt);
  return r;
}

void Req::write(MessageBytes out) const {
  wire::store32(out, 0, local_id);
  wire::store8(out, 4, 0);
  wire::store24(out, 5, vendor_id);
  wire::store64(out, 8, service_id);
  wire::store64(out, 16, ca_guid);
  wire::store32(out, 24, 0);
  wire::store32(out, 28, qkey);
  wire::store24(out, 32, qpn.value);
  wire::store8(out, 35, responder_resources);
  wire::store24(out, 36, local_eecn);
  wire::store8(out, 39, initiator_depth);
  wire::store24(out, 40, remote_eecn);
  wire::store8(
      out, 43,
      static_cast<std::uint8_t>(bits(remote_cm_timeout, 0, 5) |
                                bits(static_cast<std::uint8_t>(service), 5, 2) | bits(flow_control, 7, 1)));
  wire::store24(out, 44, starting_psn);
  wire::store8(out, 47, static_cast<std::uint8_t>(bits(local_cm_timeout, 0, 5) | bits(retry_count, 5, 3)));
  wire::store16(out, 48, pkey);
  wire::store8(
      out, 50,
      static_cast<std::uint8_t>(bits(mtu, 0, 4) | bits(rdc_exists, 4, 1) | bits(rnr_retry_count, 5, 3)));
  wire::store8(out, 51,
               static_cast<std::uint8_t>(bits(max_cm_retries, 0, 4) | bits(srq, 4, 1) |
                                         bits(extended_transport, 5, 3)));
  primary.write(out.subspan(kPrimaryAt, Path::kSize));
  alternate.write(out.subspan(kAlternateAt, Path::kSize));
  wire::store_array(out, kPrivateAt, private_data);
}

}  // namespace rocelab::cm
