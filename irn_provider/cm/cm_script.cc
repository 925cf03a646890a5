#include "irn_provider/cm/cm_script.h"

#include <algorithm>

#include "base/check.h"

namespace rocelab::cm {
namespace {

constexpr Gid kGid[2] = {{0xfe, 1}, {0xfe, 2}};
constexpr std::uint64_t kService = service_id(PortSpace::kTcp, 1);
constexpr std::size_t kKept = 64;

CmConfig config_of(int side) {
  CmConfig c;
  c.ca_guid = static_cast<std::uint64_t>(side) + 1;
  c.first_id = static_cast<CommId>(side + 1) << 27;
  return c;
}

}  // namespace

CmScript::CmScript(std::span<const std::uint8_t> bytes)
    : bytes_(bytes), cm_{ConnectionManager(config_of(0), Rng(1)), ConnectionManager(config_of(1), Rng(2))} {}

std::uint8_t CmScript::byte() {
  if (bytes_.empty()) return 0;
  const std::uint8_t b = bytes_.front();
  bytes_ = bytes_.subspan(1);
  return b;
}

std::uint32_t CmScript::word() {
  std::uint32_t w = 0;
  for (int i = 0; i < 4; ++i) w = w << 8 | byte();
  return w;
}

Handle CmScript::pick(int side) {
  const std::uint8_t which = byte();
  return handles_[side].empty() ? Handle{which} : handles_[side][which % handles_[side].size()];
}

void CmScript::call(int side) {
  ConnectionManager& cm = cm_[side];
  std::vector<std::uint8_t> data(byte() % 232, byte());
  ConnectParams p;
  p.local_gid = kGid[side];
  p.remote_gid = kGid[1 - side];
  p.remote.port = 1;
  p.qpn = Qpn{byte()};
  p.mtu = byte() % 8;
  p.private_data = data;
  AcceptParams a;
  a.qpn = Qpn{byte()};
  a.private_data = data;
  switch (byte() % 9) {
    case 0:
      return handles_[side].push_back(cm.listen(kService, byte() % 4));
    case 1:
      return handles_[side].push_back(cm.connect(p, now_));
    case 2:
      return handles_[side].push_back(cm.resolve(p, now_));
    case 3:
      return static_cast<void>(cm.accept(pick(side), a, now_));
    case 4:
      return static_cast<void>(cm.establish(pick(side), now_));
    case 5:
      return static_cast<void>(cm.reject(pick(side), static_cast<RejReason>(byte()), data, now_));
    case 6:
      return static_cast<void>(cm.disconnect(pick(side), now_));
    case 7:
      return cm.fetched(pick(side));
    default:
      const Handle h = pick(side);
      cm.destroy(h, now_);
      RL_CHECK(cm.find(h) == nullptr);
      std::erase(handles_[side], h);
  }
}

void CmScript::deliver() {
  const bool replay = (byte() & 1) != 0;
  auto& from = replay ? seen_ : in_flight_;
  if (from.empty()) return;
  const std::size_t which = byte() % from.size();
  auto [side, mad] = from[which];
  if (!replay) from.erase(from.begin() + static_cast<std::ptrdiff_t>(which));
  for (std::uint8_t damage = byte() % 4; damage > 1; --damage)
    mad.bytes[byte()] ^= static_cast<std::byte>(1u << byte() % 8);
  cm_[1 - side].on_mad(mad.bytes, mad.local_gid, mad.remote_gid, now_);
}

// A MAD of the script's own making; IDs are mostly ones that exist.
void CmScript::forge() {
  std::array<std::byte, kMadBytes> bytes{};
  for (std::uint8_t n = byte() % 64; n > 0; --n) bytes[byte()] = std::byte{byte()};
  MadHeader h;
  h.mgmt_class = CmMad::kClass;
  h.class_version = CmMad::kClassVersion;
  h.method = CmMad::kMethodSend;
  h.attribute = static_cast<std::uint16_t>(Req::kAttribute + byte() % 12);
  h.write(std::span(bytes).first<MadHeader::kSize>());
  const int side = byte() & 1;
  for (const std::size_t at : {MadHeader::kSize, MadHeader::kSize + 4})
    if (const Endpoint* e = cm_[byte() & 1].find(pick(side)))
      wire::store32(bytes, at, (byte() & 1) != 0 ? e->local_id : e->remote_id);
  const std::size_t length = (byte() & 15) == 0 ? byte() : kMadBytes;
  cm_[side].on_mad(std::span(bytes).first(length), kGid[byte() & 1], kGid[side], now_);
}

void CmScript::step() {
  const int side = byte() & 1;
  switch (byte() % 6) {
    case 0:
    case 1:
      return call(side);
    case 2:
    case 3:
      return deliver();
    case 4:
      return forge();
    default:
      now_ = now_ + time_of(byte() % 26);
      cm_[side].on_timeout(now_);
      RL_CHECK(cm_[side].next_timeout() > now_);
  }
}

void CmScript::drain() {
  for (int side = 0; side < 2; ++side) {
    while (const auto mad = cm_[side].poll_transmit()) {
      RL_CHECK(CmMad::parse(mad->bytes).has_value());
      if (in_flight_.size() < kKept) in_flight_.push_back({side, *mad});
      if (seen_.size() < kKept) seen_.push_back({side, *mad});
    }
    while (const auto event = cm_[side].poll_event()) {
      RL_CHECK(cm_[side].find(event->handle) != nullptr);
      if (event->kind == EventKind::kRequest) handles_[side].push_back(event->handle);
    }
  }
}

// All are destroyed and time goes on: nothing may be left that waits.
void CmScript::settle() {
  for (int side = 0; side < 2; ++side) {
    for (const Handle h : handles_[side]) cm_[side].destroy(h, now_);
    for (int i = 0; i < 1'000'000 && cm_[side].next_timeout() != Time::never(); ++i)
      cm_[side].on_timeout(cm_[side].next_timeout());
    RL_CHECK(cm_[side].next_timeout() == Time::never());
    RL_CHECK(cm_[side].endpoints() == 0);
  }
}

void CmScript::run() {
  while (!bytes_.empty()) {
    step();
    drain();
  }
  settle();
}

}  // namespace rocelab::cm
