// CmMad: a whole management datagram of the connection manager, header and message, as it travels in a UD
// SEND between the QP1s of two ports. IBTA Vol 1, 12.6 and 13.4.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "base/wire/cm/cm_dreq.h"
#include "base/wire/cm/cm_ids.h"
#include "base/wire/cm/cm_mra.h"
#include "base/wire/cm/cm_rej.h"
#include "base/wire/cm/cm_rep.h"
#include "base/wire/cm/cm_req.h"
#include "base/wire/cm/cm_sidr_rep.h"
#include "base/wire/cm/cm_sidr_req.h"
#include "base/wire/cm/mad.h"

namespace rocelab::cm {

using Message = std::variant<Req, Mra, Rej, Rep, Rtu, Dreq, Drep, SidrReq, SidrRep>;

enum class MadError : std::uint8_t {
  kNone,
  kLength,     // not kMadBytes
  kNotCm,      // another base version, class or class version
  kMethod,     // not Send
  kAttribute,  // none of the messages above (LAP and APR, alternate paths, are not offered)
  kContent,    // a field holds what cannot be: MRA, REJ of no message, ARI longer than its room
};

inline constexpr std::size_t kMadBytes = MadHeader::kSize + kMessageBytes;

struct CmMad {
  static constexpr std::uint8_t kClass = 0x07, kClassVersion = 2, kMethodSend = 0x03;
  std::uint64_t transaction = 0;
  std::uint32_t modifier = 0;  // REQ, REP: options of the enhanced connection establishment
  Message message;
  friend bool operator==(const CmMad&, const CmMad&) = default;

  static std::optional<CmMad> parse(std::span<const std::byte> mad, MadError* why = nullptr);
  void write(std::span<std::byte, kMadBytes> out) const;
};
const char* name_of(const Message& message);  // "REQ"
std::string to_string(const CmMad& mad);      // "REQ 0x12345678 -> service 0x1061c06, QPN 217"

}  // namespace rocelab::cm
