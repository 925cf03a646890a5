#include "base/wire/roce_packet.h"

#include <algorithm>

#include "base/check.h"
#include "base/wire/aeth.h"
#include "base/wire/atomic_eth.h"
#include "base/wire/bth.h"
#include "base/wire/deth.h"
#include "base/wire/feth.h"
#include "base/wire/immdt.h"
#include "base/wire/reth.h"
#include "base/wire/xrc_eth.h"

namespace rocelab {
namespace {

constexpr std::size_t bytes_of(Header h) { return kHeaderBytes[static_cast<std::size_t>(h)]; }
static_assert(Bth::kSize == kBthBytes && Deth::kSize == bytes_of(Header::kDeth) &&
              Reth::kSize == bytes_of(Header::kReth) && XrcEth::kSize == bytes_of(Header::kXrcEth));
static_assert(AtomicEth::kSize == bytes_of(Header::kAtomicEth) &&
              AtomicAckEth::kSize == bytes_of(Header::kAtomicAckEth));
static_assert(Aeth::kSize == bytes_of(Header::kAeth) && ImmDt::kSize == bytes_of(Header::kImmDt));
static_assert(Ieth::kSize == bytes_of(Header::kIeth) && IrnSendHeader::kSize == bytes_of(Header::kIrnSend));
static_assert(Feth::kSize == bytes_of(Header::kFeth) && IrnWqeSn::kSize == bytes_of(Header::kIrnWqeSn) &&
              IrnSack::kSize == bytes_of(Header::kIrnSack) &&
              IrnBlocks::kSize == bytes_of(Header::kIrnBlocks));

// Takes headers off the front; the caller has checked the sum of their sizes.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}
  template <class T>
  T take() {
    const T header = T::read(rest_.first<T::kSize>());
    rest_ = rest_.subspan(T::kSize);
    return header;
  }

 private:
  std::span<const std::byte> rest_;
};

class Writer {
 public:
  explicit Writer(std::span<std::byte> bytes) : rest_(bytes) {}
  template <class T>
  void put(const T& header) {
    header.write(rest_.first<T::kSize>());
    rest_ = rest_.subspan(T::kSize);
  }
  void put_zeros(std::size_t n) {
    std::ranges::fill(rest_.first(n), std::byte{0});
    rest_ = rest_.subspan(n);
  }

 private:
  std::span<std::byte> rest_;
};

void apply(RoceHeaders& r, const Bth& bth) {
  r.opcode = bth.opcode;
  r.solicited = bth.solicited;
  r.mig_req = bth.mig_req;
  r.ack_req = bth.ack_req;
  r.fecn = bth.fecn;
  r.becn = bth.becn;
  r.pad = bth.pad;
  r.transport_version = bth.transport_version;
  r.pkey = bth.pkey;
  r.dest = bth.dest;
  r.psn = bth.psn;
}

Bth bth_of(const RoceHeaders& r) {
  return Bth{.opcode = r.opcode,
             .solicited = r.solicited,
             .mig_req = r.mig_req,
             .fecn = r.fecn,
             .becn = r.becn,
             .ack_req = r.ack_req,
             .pad = r.pad,
             .transport_version = r.transport_version,
             .pkey = r.pkey,
             .dest = r.dest,
             .psn = r.psn};
}

void take_irn_headers(Reader& reader, const OpcodeInfo& info, RoceHeaders& r) {
  if (info.has(Header::kIrnSend)) {
    const IrnSendHeader send = reader.take<IrnSendHeader>();
    r.wqe_sn = send.recv_wqe_sn;
    r.offset = send.offset;
  }
  if (info.has(Header::kIrnWqeSn)) r.wqe_sn = reader.take<IrnWqeSn>().sn;
  if (info.has(Header::kIrnSack)) r.sack = reader.take<IrnSack>().psn;
  if (info.has(Header::kIrnBlocks)) put_irn_blocks(r, reader.take<IrnBlocks>());
}

std::uint64_t packed(const IrnBlocks::Block& block) {
  return std::uint64_t{block.first.value()} << 32 | block.end.value();
}
IrnBlocks::Block unpacked(std::uint64_t word) {
  return {Psn(static_cast<std::uint32_t>(word >> 32) & Psn::kMask),
          Psn(static_cast<std::uint32_t>(word) & Psn::kMask)};
}

}  // namespace

IrnBlocks irn_blocks_of(const RoceHeaders& r) {
  return {r.sack, {unpacked(r.va), unpacked(r.swap_or_add), unpacked(r.compare)}};
}

void put_irn_blocks(RoceHeaders& r, const IrnBlocks& blocks) {
  r.sack = blocks.trigger;
  r.va = packed(blocks.blocks[0]);
  r.swap_or_add = packed(blocks.blocks[1]);
  r.compare = packed(blocks.blocks[2]);
}

std::optional<RoceHeaders> parse_roce_headers(std::span<const std::byte> bytes) {
  if (bytes.size() < kBthBytes) return std::nullopt;
  const OpcodeInfo& info = opcode_info(std::to_integer<std::uint8_t>(bytes[Bth::kOpcode]));
  std::optional<RoceHeaders> parsed(std::in_place);
  if (!info.known() || !read_roce_headers(bytes, info, *parsed)) parsed.reset();
  return parsed;
}

bool read_roce_headers(std::span<const std::byte> bytes, const OpcodeInfo& info, RoceHeaders& r) {
  if (bytes.size() < info.header_bytes) return false;
  Reader reader(bytes);
  apply(r, reader.take<Bth>());
  if (info.has(Header::kDeth)) {
    const Deth deth = reader.take<Deth>();
    r.qkey = deth.qkey;
    r.src_qpn = deth.src_qpn;
  }
  if (info.has(Header::kXrcEth)) r.src_qpn = Qpn{reader.take<XrcEth>().srqn};
  if (info.has(Header::kFeth)) r.imm = reader.take<Feth>().word;
  if (info.has(Header::kReth)) {
    const Reth reth = reader.take<Reth>();
    r.va = reth.va;
    r.rkey = reth.rkey;
    r.dma_length = reth.dma_length;
  }
  if (info.has(Header::kAtomicEth)) {
    const AtomicEth atomic = reader.take<AtomicEth>();
    r.va = atomic.va;
    r.rkey = atomic.rkey;
    r.swap_or_add = atomic.swap_or_add;
    r.compare = atomic.compare;
  }
  if (info.has(Header::kAeth)) {
    const Aeth aeth = reader.take<Aeth>();
    r.syndrome = aeth.syndrome;
    r.msn = aeth.msn;
  }
  if (info.has(Header::kAtomicAckEth)) r.swap_or_add = reader.take<AtomicAckEth>().original;
  take_irn_headers(reader, info, r);
  if (info.has(Header::kImmDt)) r.imm = reader.take<ImmDt>().value;
  if (info.has(Header::kIeth)) r.imm = reader.take<Ieth>().rkey.value;
  return true;
}

std::size_t write_roce_headers(const RoceHeaders& r, std::span<std::byte> out) {
  const OpcodeInfo& info = opcode_info(r.opcode);
  RL_CHECK(info.known() && out.size() >= info.header_bytes);
  Writer writer(out);
  writer.put(bth_of(r));
  if (info.has(Header::kDeth)) writer.put(Deth{r.qkey, r.src_qpn});
  if (info.has(Header::kXrcEth)) writer.put(XrcEth{r.src_qpn.value});
  if (info.has(Header::kFeth)) writer.put(Feth{r.imm});
  if (info.has(Header::kReth)) writer.put(Reth{r.va, r.rkey, r.dma_length});
  if (info.has(Header::kAtomicEth)) writer.put(AtomicEth{r.va, r.rkey, r.swap_or_add, r.compare});
  if (info.has(Header::kAeth)) writer.put(Aeth{r.syndrome, r.msn});
  if (info.has(Header::kAtomicAckEth)) writer.put(AtomicAckEth{r.swap_or_add});
  if (info.has(Header::kIrnSend)) writer.put(IrnSendHeader{r.wqe_sn, r.offset});
  if (info.has(Header::kIrnWqeSn)) writer.put(IrnWqeSn{r.wqe_sn});
  if (info.has(Header::kIrnSack)) writer.put(IrnSack{r.sack});
  if (info.has(Header::kIrnBlocks)) writer.put(irn_blocks_of(r));
  if (info.has(Header::kImmDt)) writer.put(ImmDt{r.imm});
  if (info.has(Header::kIeth)) writer.put(Ieth{RKey{r.imm}});
  if (info.has(Header::kCnpReserved)) writer.put_zeros(bytes_of(Header::kCnpReserved));
  return info.header_bytes;
}

}  // namespace rocelab
