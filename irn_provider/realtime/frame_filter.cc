#include "irn_provider/realtime/frame_filter.h"

#include "base/check.h"
#include "base/wire/bytes.h"
#include "base/wire/multicast.h"
#include "base/wire/pfc.h"

namespace rocelab::direct {
namespace {

constexpr std::uint16_t kLoadHalf = BPF_LD | BPF_H | BPF_ABS, kLoadByte = BPF_LD | BPF_B | BPF_ABS,
                        kLoadWord = BPF_LD | BPF_W | BPF_ABS;
constexpr std::uint16_t kIfEqual = BPF_JMP | BPF_JEQ | BPF_K, kIfSet = BPF_JMP | BPF_JSET | BPF_K,
                        kIfAtLeast = BPF_JMP | BPF_JGE | BPF_K;
constexpr std::uint32_t kTakeAll = 0x40000, kDestQp = 4, kQpnMask = 0xffffff;
constexpr std::uint32_t kIpv4 = 14, kIpv6 = 14, kUdpOfIpv4 = kIpv4 + 20, kUdpOfIpv6 = kIpv6 + 40, kUdp = 8;
constexpr std::uint32_t kIpv4Destination = kIpv4 + 16, kIpv6Destination = kIpv6 + 24;
constexpr std::uint32_t kIsUdp = 17, kRocePort = 4791, kPortAt = 2, kGsi = 1;

// Jumps are written as labels and resolved at the end: a program of tests that either go on or give up.
class Program {
 public:
  void load(std::uint16_t code, std::uint32_t at) { add({code, 0, 0, at}); }
  void keep(std::uint32_t mask) { add({BPF_ALU | BPF_AND | BPF_K, 0, 0, mask}); }
  void require(std::uint16_t test, std::uint32_t k) { add({test, 0, kReject, k}); }
  void refuse(std::uint16_t test, std::uint32_t k) { add({test, kReject, 0, k}); }
  void accept_if(std::uint16_t test, std::uint32_t k) { add({test, kAccept, 0, k}); }
  std::size_t skip_unless_equal(std::uint32_t k) {  // to where land() is called
    add({kIfEqual, 0, 0, k});
    return code_.size() - 1;
  }
  void land(std::size_t jump) { code_[jump].jf = offset(jump, code_.size()); }
  void reject() { add({BPF_RET | BPF_K, 0, 0, 0}); }
  std::vector<sock_filter> finish() {
    const std::size_t accept_at = code_.size(), reject_at = accept_at + 1;
    for (std::size_t i = 0; i < accept_at; ++i)
      for (std::uint8_t* to : {&code_[i].jt, &code_[i].jf}) {
        if (*to == kAccept) *to = offset(i, accept_at);
        if (*to == kReject) *to = offset(i, reject_at);
      }
    add({BPF_RET | BPF_K, 0, 0, kTakeAll});
    reject();
    return std::move(code_);
  }

 private:
  static constexpr std::uint8_t kAccept = 254, kReject = 255;  // no program here is so long
  static std::uint8_t offset(std::size_t from, std::size_t to) {
    RL_CHECK(to - from - 1 < kAccept);
    return static_cast<std::uint8_t>(to - from - 1);
  }
  void add(sock_filter instruction) { code_.push_back(instruction); }
  std::vector<sock_filter> code_;
};

void load_qpn(Program& p, std::uint32_t udp) {
  p.load(kLoadHalf, udp + kPortAt);
  p.require(kIfEqual, kRocePort);
  p.load(kLoadWord, udp + kUdp + kDestQp);
  p.keep(kQpnMask);
}

void accept_own_qpns(Program& p, std::uint32_t udp, const FilterPlan& plan) {
  load_qpn(p, udp);
  p.accept_if(kIfEqual, kGsi);
  p.require(kIfAtLeast, plan.first_qpn);
  p.refuse(kIfAtLeast, plan.first_qpn + plan.qpns);
  p.accept_if(kIfAtLeast, 0);
}

// Decides about a frame to a group: one whose destination address, the first word of which is loaded, begins
// with `prefix`.
void accept_groups(Program& p, std::uint32_t mask, std::uint32_t prefix, std::uint32_t udp) {
  p.keep(mask);
  const std::size_t no_group = p.skip_unless_equal(prefix);
  load_qpn(p, udp);
  p.accept_if(kIfEqual, kMulticastQpn.value);
  p.reject();
  p.land(no_group);
}

}  // namespace

std::vector<sock_filter> frame_filter(const FilterPlan& plan) {
  Program p;
  p.load(kLoadHalf, 12);
  p.accept_if(kIfEqual, PfcFrame::kEtherType);
  const std::size_t not_ipv4 = p.skip_unless_equal(0x0800);
  p.load(kLoadByte, kIpv4 + 9);
  p.require(kIfEqual, kIsUdp);
  p.load(kLoadHalf, kIpv4 + 6);
  p.refuse(kIfSet, 0x3fff);  // a fragment
  p.load(kLoadByte, kIpv4);
  p.require(kIfEqual, 0x45);
  p.load(kLoadWord, kIpv4Destination);
  if (plan.groups) {
    accept_groups(p, 0xf0000000, 0xe0000000, kUdpOfIpv4);  // 224.0.0.0/4
    p.load(kLoadWord, kIpv4Destination);
  }
  p.require(kIfEqual, plan.ipv4);
  accept_own_qpns(p, kUdpOfIpv4, plan);
  p.land(not_ipv4);
  p.require(kIfEqual, 0x86dd);
  p.load(kLoadByte, kIpv6 + 6);
  p.require(kIfEqual, kIsUdp);
  if (plan.groups) {
    p.load(kLoadWord, kIpv6Destination);
    accept_groups(p, 0xff000000, 0xff000000, kUdpOfIpv6);  // ff00::/8
  }
  for (std::uint32_t word = 0; word < 4; ++word) {
    p.load(kLoadWord, kIpv6Destination + 4 * word);
    p.require(kIfEqual, wire::load32(std::as_bytes(std::span(plan.gid0)), 4 * word));
  }
  accept_own_qpns(p, kUdpOfIpv6, plan);
  return p.finish();
}

std::vector<sock_filter> nothing_filter() { return {{BPF_RET | BPF_K, 0, 0, 0}}; }

}  // namespace rocelab::direct
