// Which of the processes that share a host's port takes a datagram to QP1; each sees them all. Law only. A
// process's communication IDs begin with its number (CmConfig::first_id), so an answer says whose it is; a
// request belongs to whoever listens; what belongs to nobody is answered by the first.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include "base/wire/cm/cm_mad.h"

namespace rocelab::cm {

inline constexpr unsigned kIdBits = 27;  // of an ID behind the number of its process
inline constexpr std::uint32_t kEveryone = 0xffffffff;

constexpr CommId first_id_of(std::uint32_t process) { return process << kIdBits; }

// The service that a request asks for; null: not a request.
inline std::optional<std::uint64_t> service_of(const Message& message) {
  if (const auto* req = std::get_if<Req>(&message)) return req->service_id;
  if (const auto* req = std::get_if<SidrReq>(&message)) return req->service_id;
  return std::nullopt;
}

namespace detail {
struct Addressee {
  CommId operator()(const Req&) const { return 0; }
  CommId operator()(const SidrReq&) const { return 0; }
  CommId operator()(const SidrRep& m) const { return m.request_id; }
  template <class M>
  CommId operator()(const M& m) const {
    return m.remote_id;
  }
};
}  // namespace detail

// Number of the process, or kEveryone: each looks whether it concerns it (a REJ that names no ID). `open`:
// bit per process that takes such datagrams, not 0; `listener`: who listens to the service of a request.
inline std::uint32_t taker(const Message& message, std::uint32_t open,
                           std::optional<std::uint32_t> listener) {
  const auto first = static_cast<std::uint32_t>(std::countr_zero(open));
  const auto if_open = [&](std::uint32_t process) { return (open >> process & 1) != 0 ? process : first; };
  if (service_of(message)) return listener ? if_open(*listener) : first;
  const CommId id = std::visit(detail::Addressee{}, message);
  const auto* rej = std::get_if<Rej>(&message);
  if (rej != nullptr && rej->reason == RejReason::kTimeout && id == 0) return kEveryone;
  return if_open(id >> kIdBits);
}

}  // namespace rocelab::cm
