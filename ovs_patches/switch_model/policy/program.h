// PolicyProgram: an OpenQueue program as a switch runs it: tables of its queues, buffers and ports, and
// straight-line code for their orders, conditions and selections. The compiler (ovs_patches/openqueue) makes
// it for one switch: blocks and arrays are expanded, names are numbers, dimensions are gone. It never
// changes; PolicyInstance has the state.
//
// Times are picoseconds, lengths bytes, rates bits per second, all as signed 64-bit integers.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/class_map.h"
#include "base/ids.h"
#include "base/tc_mask.h"
#include "base/units.h"

namespace rocelab {

inline constexpr std::uint32_t kNoPolicyObject = 0xffffffff;
inline constexpr std::size_t kPolicyRegisters = 64;

// What code may read. Names as in the language.
enum class PacketField : std::uint8_t {
  kArrival,  // at the present queue
  kSize,     // frame length
  kTx,       // its time on the wire of the link out
  kClass,
  kDscp,
  kEcn,    // the two bits of the IP header
  kIn,     // ingress port
  kOut,    // egress port
  kFlow,   // SwitchFlow::key(): equality only
  kSlack,  // of the frame, or by `set slack`
  kValue,
  kProcessing,
  kHeld,  // bytes of its (ingress port, class) in the switch; of the packet that arrives or leaves
  kXoff,  // at which that class asks for a pause
  kXon,
};
enum class QueueField : std::uint8_t {
  kSize,  // as declared, in its unit
  kCurrSize,
  kBytes,
  kPackets,
  kIndex,  // within its port, from 0
  kStrict,
  kQuantum,
  kDelay,     // time on the wire of the bytes that wait
  kArrivals,  // frames of the packet's ingress port, see PolicyQueue::count_above
  kState,     // Load::slot says which
};
enum class BufferField : std::uint8_t {
  kSize,
  kCurrSize,
  kBytes,
  kPackets,
  kCurrQueue,  // place in PolicyBuffer::queues of the one that lost last; 0 at first
  kState,
};
enum class PortField : std::uint8_t {
  kRate,
  kLineRate,
  kIndex,
  kCurrQueue,  // index of the queue whose turn it is; without a turn, of the one that sent last; 0 at first
  kState,
};

// State variables of each object. The first four are the chapter's.
enum PolicyStateSlot : std::uint8_t { kSchedState, kAdmState, kWeightAdm, kWeightSched, kFirstDeclaredState };

// Straight-line code on registers 0 to 63; the value of a piece of code is the destination of its last
// instruction. All operations are total: a division by zero gives 0 (the compiler refuses those that it
// cannot exclude), sums and products saturate at +-2^62, predicates are 0 or 1.
enum class PolicyOp : std::uint8_t {
  kConstant,  // constants[operand]
  kNow,
  kPacket,  // field `a` of the packet
  kHead,    // field `a` of the packet at the head of queue `operand`; 0 where it is empty
  kQueue,   // field `a`, slot `b`, of queue `operand`
  kBuffer,
  kPort,
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMod,
  kMin,
  kMax,  // of registers a, b; quotients are rounded towards zero
  kLess,
  kLessEqual,
  kEqual,
  kNotEqual,
  kAnd,
  kOr,
  kNot,     // of register a
  kWire,    // bytes on the wire of a frame of register `a` bytes: preamble, FCS and gap counted
  kChance,  // 1 with probability shares[operand]
};
inline constexpr std::uint32_t kContextObject =
    0xffffffff;  // operand: the object whose code this is, or that is compared

struct PolicyInstruction {
  PolicyOp op{};
  std::uint8_t to = 0, a = 0, b = 0;
  std::uint32_t operand = 0;
};
static_assert(sizeof(PolicyInstruction) == 8);

struct PolicyCode {
  std::uint32_t first = 0;
  std::uint32_t count = 0;  // 0: none
  explicit operator bool() const { return count != 0; }
};

struct PolicyShare {  // of 1, exact
  std::uint32_t part = 1, whole = 1;
};

// Which of two comes first: the smaller key, component by component; a component is a quotient of two codes
// (the second absent: an integer; else it is at least 1). Of packets, ties go to the admission number (the
// order says how), of queues to the lowest index.
struct PolicyKey {
  struct Component {
    PolicyCode value, divisor;
  };
  std::vector<Component> components;  // 0 to 3; none: all are equal
};

struct PolicyAction {
  enum class Kind : std::uint8_t { kDrop, kMark, kNotify, kPauseUpstream, kResumeUpstream, kModify };
  enum class Of : std::uint8_t { kPacketValue, kQueue, kBuffer, kPort };
  Kind kind{};
  Of of{};                                // kModify: whose
  std::uint8_t slot = 0;                  // kModify: state variable
  PolicyShare share{};                    // kDrop: its probability
  std::uint32_t object = kContextObject;  // kModify
  PolicyCode value{};                     // kModify
};

// Cases in their order: only the first that holds acts. A case without predicate always holds.
struct PolicyCase {
  PolicyCode predicate;
  std::vector<PolicyAction> actions;
};
using PolicyCases = std::vector<PolicyCase>;

// In which order the frames of a queue stand, for its service or for its drops; the first is served or
// dropped.
struct PolicyOrder {
  enum class Kind : std::uint8_t {
    kOldest,
    kNewest,
    kKey,
    kRoundRobin
  };  // the last: of service, over ingress ports
  Kind kind = Kind::kOldest;
  PolicyKey key;  // kKey. Equal keys: the oldest is served first, the newest is dropped first
};

struct PolicyQueue {
  std::string name;         // as reports show it, unique in the switch: port[2].q[3]
  std::uint32_t port = 0;   // of PolicyProgram::ports, which it is in
  std::uint32_t index = 0;  // within it
  std::uint32_t buffer = kNoPolicyObject;
  std::int64_t size = 0;  // bytes, or packets
  bool in_packets = false;
  bool lossless = false;  // takes one class, which is lossless: its size is no limit, nothing drops from it
  TcMask takes = 0;       // classes that selections can send here
  std::int64_t strict = 0, quantum = 0;
  // Bytes. Of each ingress port the frames are counted that the queue takes while it holds as much, the frame
  // itself included; the counts are 0 again when it holds no more than that.
  std::int64_t count_above = 0;
  PolicyOrder service, drop;
  PolicyCases congestion, post_admission;
};

struct PolicyBuffer {
  std::string name;
  std::int64_t size = 0;
  bool in_packets = false;
  std::vector<std::uint32_t> queues;  // ascending
  PolicyKey drop_from;                // the first queue in this order loses a packet
  PolicyCases congestion, post_admission;
};

// A turn: cyclic by index. pick among eligible queues E: the only one, without any action; else while the
// current queue is not in E or its `serve` does not hold: the next of E behind it becomes current, and
// `enter` acts on it. Then `after` acts. `empty` acts on a queue whenever it has become empty. Predicates and
// actions see the candidate queue, and the packet at its head.
struct PolicyTurn {
  std::string name;
  std::vector<PolicyAction> enter, after, empty;
  PolicyCode serve;
};

// Queues with strict > 0 by `strict_order`, the others by `turn`, or where there is none by `order`.
struct PolicySchedule {
  bool has_strict = false;
  PolicyKey strict_order;
  std::uint32_t turn = kNoPolicyObject;  // of PolicyProgram::turns
  PolicyKey order;
};

// Where a frame goes: queue `first + index`, index from 0 to count - 1 (the compiler has proved it; a run
// clamps it).
struct PolicySelection {
  struct Case {
    PolicyCode predicate;  // none: always
    std::uint32_t first = 0, count = 1;
    PolicyCode index;  // none: 0
  };
  std::vector<Case> cases;  // the last always holds
};

struct PolicyPort {
  std::string name;
  PortId egress;             // of the switch. Internal: of no meaning
  bool internal = false;     // its frames go to another queue of the switch, by `next`
  bool drops_ahead = false;  // internal: it sends to full queues, which drop; else it waits
  PolicyShare share;         // of the link's rate, in which its frames leave; 1: the link's own clock
  std::int64_t rate = 0;     // bits per second, from the share; internal: that of its transfers
  std::int64_t cycle = 0;    // time per packet.processing before a frame leaves
  std::vector<std::uint32_t> queues;  // in the order of their index; at most 64
  PolicySchedule schedule;
  PolicyCases post_scheduling;  // on the packet that leaves, its queue and this port
  PolicySelection next;         // internal
};

// `set value|processing|slack`: by DSCP.
struct PolicyTable {
  bool given = false;
  std::array<std::int64_t, kDscps> by_dscp{};
};

// Operations that a frame costs at most: instructions, evicted frames, steps in heaps of n frames (times log2
// n).
struct PolicyBounds {
  std::uint64_t arrival_instructions = 0, departure_instructions = 0, evictions = 0, arrival_heap_steps = 0,
                departure_heap_steps = 0;
};

struct PolicyProgram {
  std::string name;      // of the file
  std::uint64_t id = 0;  // hash of its text and constants
  std::vector<PolicyInstruction> code;
  std::vector<std::int64_t> constants;
  std::vector<PolicyShare> shares;
  std::vector<PolicyQueue> queues;
  std::vector<PolicyBuffer> buffers;
  std::vector<PolicyPort>
      ports;  // first those of the switch, one per egress port in its order, then internal ones
  std::vector<PolicyTurn> turns;
  std::vector<PolicySelection> select;              // by egress port: the queue of a frame that arrives
  std::uint32_t state_slots = kFirstDeclaredState;  // of each object
  std::vector<std::string> declared_states;         // names of those from kFirstDeclaredState on
  PolicyTable value, processing, slack;
  bool counts_arrivals = false;  // some code reads QueueField::kArrivals
  TcMask marks = 0;  // classes of queues whose programs mark: [switch.class.N] ecn is not for them
  PolicyBounds bounds;
};

}  // namespace rocelab
