// The opcodes of the BTH in one constexpr table: name, which headers follow, place in the message, payload,
// direction, acknowledgement. Code asks the table (`opcode_info`) and never switches on an opcode. Source:
// IBTA Vol 1, 9.2.1 and table 38 (classes RC, UC, UD; with FLUSH and ATOMIC WRITE of annex A19); annex A14
// (XRC: class RC with an XRCETH in each request); annex A17.9 (CNP); base/wire/irn.h (class IRN, in the
// manufacturer range of 9.2.1). Names are those of the kernel's ib_pack.h without IB_OPCODE_. Bits 7-5 of an
// opcode are its transport class, bits 4-0 its operation; the operations of RC mean the same in UC, XRC and
// IRN.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rocelab {

// clang-format off
enum class TransportClass : std::uint8_t { kRc = 0x00, kUc = 0x20, kUd = 0x60, kCnp = 0x80, kXrc = 0xa0, kIrn = 0xc0 };
inline constexpr std::uint8_t kTransportClassMask = 0xe0;
inline constexpr std::uint8_t kShimClass = 0xe0;  // not a BTH: base/wire/shim.h

enum class Operation : std::uint8_t {
  kSendFirst = 0x00, kSendMiddle = 0x01, kSendLast = 0x02, kSendLastImm = 0x03, kSendOnly = 0x04, kSendOnlyImm = 0x05,
  kWriteFirst = 0x06, kWriteMiddle = 0x07, kWriteLast = 0x08, kWriteLastImm = 0x09, kWriteOnly = 0x0a, kWriteOnlyImm = 0x0b,
  kReadRequest = 0x0c, kReadResponseFirst = 0x0d, kReadResponseMiddle = 0x0e, kReadResponseLast = 0x0f, kReadResponseOnly = 0x10,
  kAck = 0x11, kAtomicAck = 0x12, kCompareSwap = 0x13, kFetchAdd = 0x14, kSendLastInvalidate = 0x16, kSendOnlyInvalidate = 0x17,
  kFlush = 0x1c, kAtomicWrite = 0x1d,
  kNack = 0x18, kReadAck = 0x19, kReadNack = 0x1a, kAckBlocks = 0x1b, kReadAckBlocks = 0x1e,  // class IRN only
  kNotify = 0x01,                                                                             // class CNP only
};
// clang-format on

inline constexpr std::uint8_t kNoOpcode = 0xff;  // of a frame without BTH; no opcode is in the shim's class

constexpr std::uint8_t make_opcode(TransportClass transport, Operation operation) {
  return static_cast<std::uint8_t>(static_cast<unsigned>(transport) | static_cast<unsigned>(operation));
}
inline constexpr std::uint8_t kCnpOpcode = make_opcode(TransportClass::kCnp, Operation::kNotify);

// What lies behind the BTH, in this order on the wire; payload follows.
// clang-format off
enum class Header : std::uint8_t {
  kDeth, kXrcEth, kFeth, kReth, kAtomicEth, kAeth, kAtomicAckEth, kIrnSend, kIrnWqeSn, kIrnSack, kIrnBlocks, kImmDt, kIeth, kCnpReserved, kCount
};
inline constexpr std::array<std::uint8_t, static_cast<std::size_t>(Header::kCount)> kHeaderBytes{
  8,     4,       4,     16,    28,         4,     8,             8,        4,         4,        28,         4,      4,     16};
// clang-format on
inline constexpr std::size_t kBthBytes = 12;

enum class Position : std::uint8_t { kFirst, kMiddle, kLast, kOnly };

enum class Role : std::uint8_t {
  kRequest,       // requester to responder, numbered in the request PSN space
  kResponse,      // responder to requester
  kReadAck,       // IRN: requester to responder, about READ responses
  kNotification,  // CNP: to the QP that sends
};

struct OpcodeInfo {
  std::string_view name;  // empty: no such opcode
  TransportClass transport = TransportClass::kRc;
  Operation operation = Operation::kSendFirst;
  Position position = Position::kOnly;
  Role role = Role::kRequest;
  std::uint16_t headers = 0;      // bit n: Header n is there
  std::uint8_t header_bytes = 0;  // BTH and what follows it before the payload
  bool has_payload = false;       // may carry payload (its length may still be 0)
  bool expects_ack = false;       // the peer answers it: at once, or when AckReq asks (RC), or with a READ
                                  // response or read (N)ACK

  constexpr bool known() const { return !name.empty(); }
  constexpr bool has(Header h) const { return (headers >> static_cast<unsigned>(h) & 1u) != 0; }
  constexpr bool starts_message() const {
    return position == Position::kFirst || position == Position::kOnly;
  }
  constexpr bool ends_message() const { return position == Position::kLast || position == Position::kOnly; }
  constexpr bool is_request() const { return role == Role::kRequest; }
  constexpr bool is_response() const { return role == Role::kResponse; }
  constexpr bool has_imm() const { return has(Header::kImmDt); }
  constexpr bool is_send() const {
    return is_request() &&
           (operation <= Operation::kSendOnlyImm || operation == Operation::kSendLastInvalidate ||
            operation == Operation::kSendOnlyInvalidate);
  }
  constexpr bool is_write() const {
    return operation >= Operation::kWriteFirst && operation <= Operation::kWriteOnlyImm;
  }
  constexpr bool is_read_response() const {
    return operation >= Operation::kReadResponseFirst && operation <= Operation::kReadResponseOnly;
  }
  constexpr bool is_atomic() const {
    return operation == Operation::kCompareSwap || operation == Operation::kFetchAdd;
  }
};

namespace opcode_table {

constexpr std::uint16_t with(auto... header) {
  return static_cast<std::uint16_t>(((1u << static_cast<unsigned>(header)) | ...));
}
inline constexpr std::uint16_t kBthOnly = 0;

struct Row {
  std::string_view name;
  TransportClass transport;
  Operation operation;
  Position position;
  Role role;
  bool has_payload;
  bool expects_ack;
  std::uint16_t headers;
};

using enum TransportClass;
using enum Position;
using enum Role;
using Op = Operation;
using H = Header;

// clang-format off
//   name                                   class operation                position role           payload ack    headers
inline constexpr Row kRows[] = {
    {"RC_SEND_FIRST",                      kRc,  Op::kSendFirst,          kFirst,  kRequest,      true,  true,  kBthOnly},
    {"RC_SEND_MIDDLE",                     kRc,  Op::kSendMiddle,         kMiddle, kRequest,      true,  true,  kBthOnly},
    {"RC_SEND_LAST",                       kRc,  Op::kSendLast,           kLast,   kRequest,      true,  true,  kBthOnly},
    {"RC_SEND_LAST_WITH_IMMEDIATE",        kRc,  Op::kSendLastImm,        kLast,   kRequest,      true,  true,  with(H::kImmDt)},
    {"RC_SEND_ONLY",                       kRc,  Op::kSendOnly,           kOnly,   kRequest,      true,  true,  kBthOnly},
    {"RC_SEND_ONLY_WITH_IMMEDIATE",        kRc,  Op::kSendOnlyImm,        kOnly,   kRequest,      true,  true,  with(H::kImmDt)},
    {"RC_RDMA_WRITE_FIRST",                kRc,  Op::kWriteFirst,         kFirst,  kRequest,      true,  true,  with(H::kReth)},
    {"RC_RDMA_WRITE_MIDDLE",               kRc,  Op::kWriteMiddle,        kMiddle, kRequest,      true,  true,  kBthOnly},
    {"RC_RDMA_WRITE_LAST",                 kRc,  Op::kWriteLast,          kLast,   kRequest,      true,  true,  kBthOnly},
    {"RC_RDMA_WRITE_LAST_WITH_IMMEDIATE",  kRc,  Op::kWriteLastImm,       kLast,   kRequest,      true,  true,  with(H::kImmDt)},
    {"RC_RDMA_WRITE_ONLY",                 kRc,  Op::kWriteOnly,          kOnly,   kRequest,      true,  true,  with(H::kReth)},
    {"RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE",  kRc,  Op::kWriteOnlyImm,       kOnly,   kRequest,      true,  true,  with(H::kReth, H::kImmDt)},
    {"RC_RDMA_READ_REQUEST",               kRc,  Op::kReadRequest,        kOnly,   kRequest,      false, true,  with(H::kReth)},
    {"RC_RDMA_READ_RESPONSE_FIRST",        kRc,  Op::kReadResponseFirst,  kFirst,  kResponse,     true,  false, with(H::kAeth)},
    {"RC_RDMA_READ_RESPONSE_MIDDLE",       kRc,  Op::kReadResponseMiddle, kMiddle, kResponse,     true,  false, kBthOnly},
    {"RC_RDMA_READ_RESPONSE_LAST",         kRc,  Op::kReadResponseLast,   kLast,   kResponse,     true,  false, with(H::kAeth)},
    {"RC_RDMA_READ_RESPONSE_ONLY",         kRc,  Op::kReadResponseOnly,   kOnly,   kResponse,     true,  false, with(H::kAeth)},
    {"RC_ACKNOWLEDGE",                     kRc,  Op::kAck,                kOnly,   kResponse,     false, false, with(H::kAeth)},
    {"RC_ATOMIC_ACKNOWLEDGE",              kRc,  Op::kAtomicAck,          kOnly,   kResponse,     false, false, with(H::kAeth, H::kAtomicAckEth)},
    {"RC_COMPARE_SWAP",                    kRc,  Op::kCompareSwap,        kOnly,   kRequest,      false, true,  with(H::kAtomicEth)},
    {"RC_FETCH_ADD",                       kRc,  Op::kFetchAdd,           kOnly,   kRequest,      false, true,  with(H::kAtomicEth)},
    {"RC_SEND_LAST_WITH_INVALIDATE",       kRc,  Op::kSendLastInvalidate, kLast,   kRequest,      true,  true,  with(H::kIeth)},
    {"RC_SEND_ONLY_WITH_INVALIDATE",       kRc,  Op::kSendOnlyInvalidate, kOnly,   kRequest,      true,  true,  with(H::kIeth)},
    {"RC_FLUSH",                           kRc,  Op::kFlush,              kOnly,   kRequest,      false, true,  with(H::kFeth, H::kReth)},
    {"RC_ATOMIC_WRITE",                    kRc,  Op::kAtomicWrite,        kOnly,   kRequest,      true,  true,  with(H::kReth)},
    {"UC_SEND_FIRST",                      kUc,  Op::kSendFirst,          kFirst,  kRequest,      true,  false, kBthOnly},
    {"UC_SEND_MIDDLE",                     kUc,  Op::kSendMiddle,         kMiddle, kRequest,      true,  false, kBthOnly},
    {"UC_SEND_LAST",                       kUc,  Op::kSendLast,           kLast,   kRequest,      true,  false, kBthOnly},
    {"UC_SEND_LAST_WITH_IMMEDIATE",        kUc,  Op::kSendLastImm,        kLast,   kRequest,      true,  false, with(H::kImmDt)},
    {"UC_SEND_ONLY",                       kUc,  Op::kSendOnly,           kOnly,   kRequest,      true,  false, kBthOnly},
    {"UC_SEND_ONLY_WITH_IMMEDIATE",        kUc,  Op::kSendOnlyImm,        kOnly,   kRequest,      true,  false, with(H::kImmDt)},
    {"UC_RDMA_WRITE_FIRST",                kUc,  Op::kWriteFirst,         kFirst,  kRequest,      true,  false, with(H::kReth)},
    {"UC_RDMA_WRITE_MIDDLE",               kUc,  Op::kWriteMiddle,        kMiddle, kRequest,      true,  false, kBthOnly},
    {"UC_RDMA_WRITE_LAST",                 kUc,  Op::kWriteLast,          kLast,   kRequest,      true,  false, kBthOnly},
    {"UC_RDMA_WRITE_LAST_WITH_IMMEDIATE",  kUc,  Op::kWriteLastImm,       kLast,   kRequest,      true,  false, with(H::kImmDt)},
    {"UC_RDMA_WRITE_ONLY",                 kUc,  Op::kWriteOnly,          kOnly,   kRequest,      true,  false, with(H::kReth)},
    {"UC_RDMA_WRITE_ONLY_WITH_IMMEDIATE",  kUc,  Op::kWriteOnlyImm,       kOnly,   kRequest,      true,  false, with(H::kReth, H::kImmDt)},
    {"UD_SEND_ONLY",                       kUd,  Op::kSendOnly,           kOnly,   kRequest,      true,  false, with(H::kDeth)},
    {"UD_SEND_ONLY_WITH_IMMEDIATE",        kUd,  Op::kSendOnlyImm,        kOnly,   kRequest,      true,  false, with(H::kDeth, H::kImmDt)},
    {"CNP",                                kCnp, Op::kNotify,             kOnly,   kNotification, false, false, with(H::kCnpReserved)},
    {"XRC_SEND_FIRST",                     kXrc, Op::kSendFirst,          kFirst,  kRequest,      true,  true,  with(H::kXrcEth)},
    {"XRC_SEND_MIDDLE",                    kXrc, Op::kSendMiddle,         kMiddle, kRequest,      true,  true,  with(H::kXrcEth)},
    {"XRC_SEND_LAST",                      kXrc, Op::kSendLast,           kLast,   kRequest,      true,  true,  with(H::kXrcEth)},
    {"XRC_SEND_LAST_WITH_IMMEDIATE",       kXrc, Op::kSendLastImm,        kLast,   kRequest,      true,  true,  with(H::kXrcEth, H::kImmDt)},
    {"XRC_SEND_ONLY",                      kXrc, Op::kSendOnly,           kOnly,   kRequest,      true,  true,  with(H::kXrcEth)},
    {"XRC_SEND_ONLY_WITH_IMMEDIATE",       kXrc, Op::kSendOnlyImm,        kOnly,   kRequest,      true,  true,  with(H::kXrcEth, H::kImmDt)},
    {"XRC_RDMA_WRITE_FIRST",               kXrc, Op::kWriteFirst,         kFirst,  kRequest,      true,  true,  with(H::kXrcEth, H::kReth)},
    {"XRC_RDMA_WRITE_MIDDLE",              kXrc, Op::kWriteMiddle,        kMiddle, kRequest,      true,  true,  with(H::kXrcEth)},
    {"XRC_RDMA_WRITE_LAST",                kXrc, Op::kWriteLast,          kLast,   kRequest,      true,  true,  with(H::kXrcEth)},
    {"XRC_RDMA_WRITE_LAST_WITH_IMMEDIATE", kXrc, Op::kWriteLastImm,       kLast,   kRequest,      true,  true,  with(H::kXrcEth, H::kImmDt)},
    {"XRC_RDMA_WRITE_ONLY",                kXrc, Op::kWriteOnly,          kOnly,   kRequest,      true,  true,  with(H::kXrcEth, H::kReth)},
    {"XRC_RDMA_WRITE_ONLY_WITH_IMMEDIATE", kXrc, Op::kWriteOnlyImm,       kOnly,   kRequest,      true,  true,  with(H::kXrcEth, H::kReth, H::kImmDt)},
    {"XRC_RDMA_READ_REQUEST",              kXrc, Op::kReadRequest,        kOnly,   kRequest,      false, true,  with(H::kXrcEth, H::kReth)},
    {"XRC_RDMA_READ_RESPONSE_FIRST",       kXrc, Op::kReadResponseFirst,  kFirst,  kResponse,     true,  false, with(H::kAeth)},
    {"XRC_RDMA_READ_RESPONSE_MIDDLE",      kXrc, Op::kReadResponseMiddle, kMiddle, kResponse,     true,  false, kBthOnly},
    {"XRC_RDMA_READ_RESPONSE_LAST",        kXrc, Op::kReadResponseLast,   kLast,   kResponse,     true,  false, with(H::kAeth)},
    {"XRC_RDMA_READ_RESPONSE_ONLY",        kXrc, Op::kReadResponseOnly,   kOnly,   kResponse,     true,  false, with(H::kAeth)},
    {"XRC_ACKNOWLEDGE",                    kXrc, Op::kAck,                kOnly,   kResponse,     false, false, with(H::kAeth)},
    {"XRC_ATOMIC_ACKNOWLEDGE",             kXrc, Op::kAtomicAck,          kOnly,   kResponse,     false, false, with(H::kAeth, H::kAtomicAckEth)},
    {"XRC_COMPARE_SWAP",                   kXrc, Op::kCompareSwap,        kOnly,   kRequest,      false, true,  with(H::kXrcEth, H::kAtomicEth)},
    {"XRC_FETCH_ADD",                      kXrc, Op::kFetchAdd,           kOnly,   kRequest,      false, true,  with(H::kXrcEth, H::kAtomicEth)},
    {"XRC_SEND_LAST_WITH_INVALIDATE",      kXrc, Op::kSendLastInvalidate, kLast,   kRequest,      true,  true,  with(H::kXrcEth, H::kIeth)},
    {"XRC_SEND_ONLY_WITH_INVALIDATE",      kXrc, Op::kSendOnlyInvalidate, kOnly,   kRequest,      true,  true,  with(H::kXrcEth, H::kIeth)},
    {"IRN_SEND_FIRST",                     kIrn, Op::kSendFirst,          kFirst,  kRequest,      true,  true,  with(H::kIrnSend)},
    {"IRN_SEND_MIDDLE",                    kIrn, Op::kSendMiddle,         kMiddle, kRequest,      true,  true,  with(H::kIrnSend)},
    {"IRN_SEND_LAST",                      kIrn, Op::kSendLast,           kLast,   kRequest,      true,  true,  with(H::kIrnSend)},
    {"IRN_SEND_LAST_WITH_IMMEDIATE",       kIrn, Op::kSendLastImm,        kLast,   kRequest,      true,  true,  with(H::kIrnSend, H::kImmDt)},
    {"IRN_SEND_ONLY",                      kIrn, Op::kSendOnly,           kOnly,   kRequest,      true,  true,  with(H::kIrnSend)},
    {"IRN_SEND_ONLY_WITH_IMMEDIATE",       kIrn, Op::kSendOnlyImm,        kOnly,   kRequest,      true,  true,  with(H::kIrnSend, H::kImmDt)},
    {"IRN_RDMA_WRITE_FIRST",               kIrn, Op::kWriteFirst,         kFirst,  kRequest,      true,  true,  with(H::kReth)},
    {"IRN_RDMA_WRITE_MIDDLE",              kIrn, Op::kWriteMiddle,        kMiddle, kRequest,      true,  true,  with(H::kReth)},
    {"IRN_RDMA_WRITE_LAST",                kIrn, Op::kWriteLast,          kLast,   kRequest,      true,  true,  with(H::kReth)},
    {"IRN_RDMA_WRITE_LAST_WITH_IMMEDIATE", kIrn, Op::kWriteLastImm,       kLast,   kRequest,      true,  true,  with(H::kReth, H::kIrnWqeSn, H::kImmDt)},
    {"IRN_RDMA_WRITE_ONLY",                kIrn, Op::kWriteOnly,          kOnly,   kRequest,      true,  true,  with(H::kReth)},
    {"IRN_RDMA_WRITE_ONLY_WITH_IMMEDIATE", kIrn, Op::kWriteOnlyImm,       kOnly,   kRequest,      true,  true,  with(H::kReth, H::kIrnWqeSn, H::kImmDt)},
    {"IRN_RDMA_READ_REQUEST",              kIrn, Op::kReadRequest,        kOnly,   kRequest,      false, true,  with(H::kReth, H::kIrnWqeSn)},
    {"IRN_RDMA_READ_RESPONSE_FIRST",       kIrn, Op::kReadResponseFirst,  kFirst,  kResponse,     true,  true,  with(H::kAeth)},
    {"IRN_RDMA_READ_RESPONSE_MIDDLE",      kIrn, Op::kReadResponseMiddle, kMiddle, kResponse,     true,  true,  kBthOnly},
    {"IRN_RDMA_READ_RESPONSE_LAST",        kIrn, Op::kReadResponseLast,   kLast,   kResponse,     true,  true,  with(H::kAeth)},
    {"IRN_RDMA_READ_RESPONSE_ONLY",        kIrn, Op::kReadResponseOnly,   kOnly,   kResponse,     true,  true,  with(H::kAeth)},
    {"IRN_ACKNOWLEDGE",                    kIrn, Op::kAck,                kOnly,   kResponse,     false, false, with(H::kAeth)},
    {"IRN_ATOMIC_ACKNOWLEDGE",             kIrn, Op::kAtomicAck,          kOnly,   kResponse,     false, true,  with(H::kAeth, H::kAtomicAckEth)},
    {"IRN_COMPARE_SWAP",                   kIrn, Op::kCompareSwap,        kOnly,   kRequest,      false, true,  with(H::kAtomicEth, H::kIrnWqeSn)},
    {"IRN_FETCH_ADD",                      kIrn, Op::kFetchAdd,           kOnly,   kRequest,      false, true,  with(H::kAtomicEth, H::kIrnWqeSn)},
    {"IRN_SEND_LAST_WITH_INVALIDATE",      kIrn, Op::kSendLastInvalidate, kLast,   kRequest,      true,  true,  with(H::kIrnSend, H::kIeth)},
    {"IRN_SEND_ONLY_WITH_INVALIDATE",      kIrn, Op::kSendOnlyInvalidate, kOnly,   kRequest,      true,  true,  with(H::kIrnSend, H::kIeth)},
    {"IRN_NACK",                           kIrn, Op::kNack,               kOnly,   kResponse,     false, false, with(H::kAeth, H::kIrnSack)},
    {"IRN_READ_ACK",                       kIrn, Op::kReadAck,            kOnly,   kReadAck,      false, false, kBthOnly},
    {"IRN_READ_NACK",                      kIrn, Op::kReadNack,           kOnly,   kReadAck,      false, false, with(H::kIrnSack)},
    {"IRN_ACKNOWLEDGE_BLOCKS",             kIrn, Op::kAckBlocks,          kOnly,   kResponse,     false, false, with(H::kAeth, H::kIrnBlocks)},
    {"IRN_READ_ACK_BLOCKS",                kIrn, Op::kReadAckBlocks,      kOnly,   kReadAck,      false, false, with(H::kIrnBlocks)},
};
// clang-format on

constexpr std::array<OpcodeInfo, 256> build() {
  std::array<OpcodeInfo, 256> table{};
  for (const Row& row : kRows) {
    std::size_t bytes = kBthBytes;
    for (std::size_t h = 0; h < kHeaderBytes.size(); ++h)
      if ((row.headers >> h & 1u) != 0) bytes += kHeaderBytes[h];
    OpcodeInfo& info = table[make_opcode(row.transport, row.operation)];
    if (info.known()) throw "two rows for one opcode";  // at compile time only
    info = OpcodeInfo{row.name,
                      row.transport,
                      row.operation,
                      row.position,
                      row.role,
                      row.headers,
                      static_cast<std::uint8_t>(bytes),
                      row.has_payload,
                      row.expects_ack};
  }
  return table;
}

}  // namespace opcode_table

inline constexpr std::array<OpcodeInfo, 256> kOpcodes = opcode_table::build();

constexpr const OpcodeInfo& opcode_info(std::uint8_t opcode) { return kOpcodes[opcode]; }
constexpr const OpcodeInfo& opcode_info(TransportClass transport, Operation operation) {
  return kOpcodes[make_opcode(transport, operation)];
}

// Longest BTH with extension headers of any opcode.
constexpr std::size_t longest_headers() {
  std::size_t longest = 0;
  for (const OpcodeInfo& info : kOpcodes) longest = info.header_bytes > longest ? info.header_bytes : longest;
  return longest;
}
inline constexpr std::size_t kMaxRoceHeaderBytes = longest_headers();

namespace opcode_table {

template <class Predicate>
constexpr bool all(Predicate predicate) {
  for (const OpcodeInfo& info : kOpcodes)
    if (info.known() && !predicate(info)) return false;
  return true;
}
static_assert(std::size(kRows) == 25 + 12 + 2 + 1 + 23 + 28);
static_assert(all([](const OpcodeInfo& o) { return o.header_bytes % 4 == 0; }),
              "the payload starts on 4 bytes");
static_assert(all([](const OpcodeInfo& o) { return !o.has_imm() || (o.ends_message() && o.is_request()); }));
static_assert(all([](const OpcodeInfo& o) { return o.has_payload || o.position == kOnly; }));
static_assert(all([](const OpcodeInfo& o) {
  return o.transport == kRc || o.transport == kXrc || o.transport == kIrn || !o.expects_ack;
}));
// Where class RC has an operation, UC, XRC and IRN agree with it on everything but headers and
// acknowledgement.
static_assert(all([](const OpcodeInfo& o) {
  if ((o.transport != kUc && o.transport != kXrc && o.transport != kIrn) || o.operation >= Op::kNack)
    return true;
  const OpcodeInfo& rc = opcode_info(kRc, o.operation);
  return rc.known() && rc.position == o.position && rc.role == o.role && rc.has_payload == o.has_payload;
}));
static_assert(all([](const OpcodeInfo& o) {
  return o.has(H::kXrcEth) == (o.transport == kXrc && o.is_request());
}));
static_assert(all([](const OpcodeInfo& o) {
  return o.transport != kIrn || !o.is_write() || o.has(H::kReth);
}));
static_assert(all([](const OpcodeInfo& o) {
  return o.transport != kIrn || !o.is_send() || o.has(H::kIrnSend);
}));
static_assert(opcode_info(0x06).header_bytes == 28 && opcode_info(0x07).header_bytes == 12 &&
              opcode_info(0x11).header_bytes == 16);
static_assert(opcode_info(0x12).header_bytes == 24 && opcode_info(0x13).header_bytes == 40 &&
              opcode_info(0x64).header_bytes == 20);
static_assert(opcode_info(kCnpOpcode).header_bytes == 28 && opcode_info(0xd1).header_bytes == 16);
static_assert(opcode_info(0xc4).header_bytes == 20 && opcode_info(0xc7).header_bytes == 28 &&
              opcode_info(0xc9).header_bytes == 36);
static_assert(opcode_info(0xcc).header_bytes == 32 && opcode_info(0xd8).header_bytes == 20 &&
              opcode_info(0xd9).header_bytes == 12);
static_assert(opcode_info(0xd7).header_bytes == 24);
static_assert(opcode_info(0xdb).header_bytes == 44 && opcode_info(0xde).header_bytes == 40);
static_assert(opcode_info(0xd2).header_bytes == 24 && opcode_info(0xd3).header_bytes == 44);
static_assert(kMaxRoceHeaderBytes == 44);

}  // namespace opcode_table
}  // namespace rocelab
