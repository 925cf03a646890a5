#include "base/wire/cm/cm_mad.h"

#include <algorithm>
#include <cstdio>

namespace rocelab::cm {
namespace {

template <class M>
bool parse_as(std::uint16_t attribute, MessageView b, std::optional<Message>& out) {
  if (attribute != M::kAttribute) return false;
  out = M::parse(b);
  return true;
}

template <class... Ms>
std::optional<Message> parse_message(std::uint16_t attribute, MessageView b, std::variant<Ms...>*) {
  std::optional<Message> out;
  static_cast<void>((parse_as<Ms>(attribute, b, out) || ...));
  return out;
}

bool sound(const Message& message) {
  if (const auto* mra = std::get_if<Mra>(&message)) return mra->message <= Answered::kOther;
  if (const auto* rej = std::get_if<Rej>(&message))
    return rej->message <= Answered::kOther && rej->ari_length <= Rej::kAriBytes;
  if (const auto* rep = std::get_if<SidrRep>(&message)) return rep->info_length <= SidrRep::kInfoBytes;
  return true;
}

struct Text {
  char out[160];
  template <class... Args>
  std::string format(const char* f, Args... args) {
    std::snprintf(out, sizeof out, f, args...);
    return out;
  }
  std::string operator()(const Req& m) {
    return format("REQ 0x%08x -> service 0x%llx, QPN %u, PSN %u", m.local_id,
                  static_cast<unsigned long long>(m.service_id), m.qpn.value, m.starting_psn);
  }
  std::string operator()(const Rep& m) {
    return format("REP 0x%08x -> 0x%08x, QPN %u, PSN %u", m.local_id, m.remote_id, m.qpn.value,
                  m.starting_psn);
  }
  std::string operator()(const Rej& m) {
    return format("REJ 0x%08x -> 0x%08x, reason %u", m.local_id, m.remote_id,
                  static_cast<unsigned>(m.reason));
  }
  std::string operator()(const SidrReq& m) {
    return format("SIDR_REQ 0x%08x -> service 0x%llx", m.request_id,
                  static_cast<unsigned long long>(m.service_id));
  }
  std::string operator()(const SidrRep& m) {
    return format("SIDR_REP -> 0x%08x, status %u, QPN %u", m.request_id, static_cast<unsigned>(m.status),
                  m.qpn.value);
  }
  template <class M>
  std::string operator()(const M& m) {
    return format("%s 0x%08x -> 0x%08x", name_of(Message(m)), m.local_id, m.remote_id);
  }
};

}  // namespace

std::optional<CmMad> CmMad::parse(std::span<const std::byte> mad, MadError* why) {
  const auto refuse = [why](MadError error) -> std::optional<CmMad> {
    if (why != nullptr) *why = error;
    return std::nullopt;
  };
  if (mad.size() != kMadBytes) return refuse(MadError::kLength);
  const MadHeader h = *MadHeader::parse(mad);
  if (h.base_version != MadHeader::kBaseVersion || h.mgmt_class != kClass || h.class_version != kClassVersion)
    return refuse(MadError::kNotCm);
  if (h.method != kMethodSend) return refuse(MadError::kMethod);
  auto message = parse_message(h.attribute, mad.subspan<MadHeader::kSize, kMessageBytes>(),
                               static_cast<Message*>(nullptr));
  if (!message) return refuse(MadError::kAttribute);
  if (!sound(*message)) return refuse(MadError::kContent);
  return CmMad{h.transaction, h.modifier, std::move(*message)};
}

void CmMad::write(std::span<std::byte, kMadBytes> out) const {
  MadHeader h;
  h.mgmt_class = kClass;
  h.class_version = kClassVersion;
  h.method = kMethodSend;
  h.transaction = transaction;
  h.modifier = modifier;
  h.attribute = std::visit([](const auto& m) { return m.kAttribute; }, message);
  h.write(out.first<MadHeader::kSize>());
  const MessageBytes body = out.subspan<MadHeader::kSize, kMessageBytes>();
  std::fill(body.begin(), body.end(), std::byte{0});
  std::visit([&](const auto& m) { m.write(body); }, message);
}

const char* name_of(const Message& message) {
  constexpr const char* kNames[] = {"REQ",  "MRA",  "REJ",      "REP",     "RTU",
                                    "DREQ", "DREP", "SIDR_REQ", "SIDR_REP"};
  static_assert(std::size(kNames) == std::variant_size_v<Message>);
  return kNames[message.index()];
}

std::string to_string(const CmMad& mad) { return std::visit(Text{}, mad.message); }

}  // namespace rocelab::cm
