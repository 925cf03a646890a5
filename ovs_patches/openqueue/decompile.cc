#include "ovs_patches/openqueue/decompile.h"

#include <array>
#include <optional>

#include "base/units.h"
#include "ovs_patches/openqueue/fields.h"

namespace rocelab::oq {
namespace {

struct Term {
  std::string text;
  Dim dim = Dim::kAny;
  std::optional<std::int64_t> number;  // a constant, which takes the unit of what it meets
  bool compound = false, relation = false;
};

std::string quantity(std::int64_t value, Dim dim) {
  const std::string sign = value < 0 ? "-" : "";
  const std::int64_t size = value < 0 ? -value : value;
  switch (dim) {
    case Dim::kBytes:
      return sign + to_string(Bytes::from_count(size));
    case Dim::kPackets:
      return sign + std::to_string(size) + " packets";
    case Dim::kTime:
      return sign + to_string(Duration::from_ps(size));
    case Dim::kRate:
      return sign + to_string(Rate::from_bps(size));
    default:
      return sign + std::to_string(size);
  }
}

std::string text_of(const Term& term, Dim dim) {
  if (term.number) return quantity(*term.number, term.dim == Dim::kAny ? dim : term.dim);
  return term.compound ? "(" + term.text + ")" : term.text;
}

const Field* field_of(PolicyOp op, std::uint8_t number) {
  const std::span<const Field> fields = op == PolicyOp::kQueue    ? queue_fields()
                                        : op == PolicyOp::kBuffer ? buffer_fields()
                                        : op == PolicyOp::kPort   ? port_fields()
                                                                  : packet_fields();
  for (const Field& field : fields)
    if (field.number == number) return &field;
  return nullptr;  // a state variable
}

std::string object_of(const PolicyProgram& program, const PolicyInstruction& at) {
  const bool context = at.operand == kContextObject;
  switch (at.op) {
    case PolicyOp::kPacket:
      return "packet";
    case PolicyOp::kHead:
      return (context ? "queue" : program.queues[at.operand].name) + ".hol";
    case PolicyOp::kQueue:
      return context ? "queue" : program.queues[at.operand].name;
    case PolicyOp::kBuffer:
      return context ? "buffer" : program.buffers[at.operand].name;
    default:
      return context ? "port" : program.ports[at.operand].name;
  }
}

const char* sign_of(PolicyOp op) {
  switch (op) {
    case PolicyOp::kAdd:
      return "+";
    case PolicyOp::kSub:
      return "-";
    case PolicyOp::kMul:
      return "*";
    case PolicyOp::kDiv:
      return "/";
    case PolicyOp::kMod:
      return "%";
    case PolicyOp::kLess:
      return "<";
    case PolicyOp::kLessEqual:
      return "<=";
    case PolicyOp::kEqual:
      return "==";
    case PolicyOp::kNotEqual:
      return "!=";
    case PolicyOp::kAnd:
      return "and";
    case PolicyOp::kOr:
      return "or";
    default:
      return nullptr;
  }
}

const char* reversed_sign(PolicyOp op) {
  return op == PolicyOp::kLess ? ">" : op == PolicyOp::kLessEqual ? ">=" : sign_of(op);
}

std::string share_text(PolicyShare share) {
  return std::to_string(share.part) + "/" + std::to_string(share.whole);
}

Term binary(PolicyOp op, const Term& a, const Term& b) {
  const bool factor = op == PolicyOp::kMul || op == PolicyOp::kDiv || op == PolicyOp::kMod;
  const Dim dim = factor || a.dim != Dim::kAny ? a.dim : b.dim;
  const bool relation = op >= PolicyOp::kLess && op <= PolicyOp::kNotEqual;
  Term made;
  made.compound = true;
  made.dim = relation || op == PolicyOp::kAnd || op == PolicyOp::kOr ? Dim::kBool
             : op == PolicyOp::kMul && a.dim == Dim::kAny            ? b.dim
                                                                     : dim;
  if (op == PolicyOp::kSub && a.number == 0) {
    made.text = "-" + text_of(b, b.dim);
    made.dim = b.dim;
    return made;
  }
  if (op == PolicyOp::kMin || op == PolicyOp::kMax) {
    made.text =
        std::string(op == PolicyOp::kMin ? "min(" : "max(") + text_of(a, dim) + ", " + text_of(b, dim) + ")";
    made.compound = false;
    return made;
  }
  // A constant stands on the right of a relation.
  const bool turned = relation && a.number && !b.number;
  const bool joins = op == PolicyOp::kAnd || op == PolicyOp::kOr;
  const auto side = [&](const Term& term, Dim as) {
    return joins && term.relation ? term.text : text_of(term, as);
  };
  const std::string left = side(turned ? b : a, factor ? a.dim : dim);
  const std::string right = side(turned ? a : b, factor ? Dim::kAny : dim);
  made.relation = relation;
  made.text = left + " " + (turned ? reversed_sign(op) : sign_of(op)) + " " + right;
  return made;
}

Term decompiled(const PolicyProgram& program, PolicyCode code) {
  std::array<Term, kPolicyRegisters> registers;
  Term last;
  for (std::uint32_t i = 0; i < code.count; ++i) {
    const PolicyInstruction& at = program.code[code.first + i];
    Term made;
    switch (at.op) {
      case PolicyOp::kConstant:
        made.number = program.constants[at.operand];
        break;
      case PolicyOp::kNow:
        made = {"now", Dim::kTime, {}, false, false};
        break;
      case PolicyOp::kChance:
        made = {"chance(" + share_text(program.shares[at.operand]) + ")", Dim::kBool, {}, false, false};
        break;
      case PolicyOp::kNot:
        made = {"not " + text_of(registers[at.a], Dim::kBool), Dim::kBool, {}, true, false};
        break;
      case PolicyOp::kWire:
        made = {"wire(" + text_of(registers[at.a], Dim::kBytes) + ")", Dim::kBytes, {}, false, false};
        break;
      case PolicyOp::kPacket:
      case PolicyOp::kHead:
      case PolicyOp::kQueue:
      case PolicyOp::kBuffer:
      case PolicyOp::kPort: {
        const Field* field = field_of(at.op, at.a);
        made.text =
            object_of(program, at) + "." + (field == nullptr ? state_name(program, at.b) : field->name);
        if (at.op == PolicyOp::kQueue && at.a == static_cast<std::uint8_t>(QueueField::kArrivals))
          made.text += "[packet.in]";
        if (field != nullptr) made.dim = field->dim;
        // The unit of currSize is that of the queue's size, where that is known.
        if (field != nullptr && field->dim == Dim::kAny && std::string(field->name) != "quantum") {
          bool packets = false, bytes = false;
          for (const PolicyQueue& queue : program.queues) (queue.in_packets ? packets : bytes) = true;
          if (packets != bytes) made.dim = packets ? Dim::kPackets : Dim::kBytes;
        }
        break;
      }
      default:
        made = binary(at.op, registers[at.a], registers[at.b]);
    }
    registers[at.to] = last = std::move(made);
  }
  return last;
}

}  // namespace

std::string state_name(const PolicyProgram& program, std::uint8_t slot) {
  for (const StateName& one : chapter_states())
    if (one.slot == slot) return one.name;
  return program.declared_states.at(std::size_t{slot} - kFirstDeclaredState);
}

std::string expression_of(const PolicyProgram& program, PolicyCode code) {
  const Term term = decompiled(program, code);
  return text_of(term, term.dim);
}

std::string predicate_of(const PolicyProgram& program, PolicyCode code) {
  const Term term = decompiled(program, code);
  return term.number ? text_of(term, term.dim) : term.text;
}

std::string listing_of(const PolicyProgram& program, PolicyCode code, const std::string& indent) {
  std::string text;
  for (std::uint32_t i = 0; i < code.count; ++i) {
    const PolicyInstruction& at = program.code[code.first + i];
    text += indent + "r" + std::to_string(at.to) + " = ";
    const std::string a = "r" + std::to_string(at.a), b = "r" + std::to_string(at.b);
    if (const char* sign = sign_of(at.op))
      text.append(a).append(" ").append(sign).append(" ").append(b);
    else if (at.op == PolicyOp::kMin || at.op == PolicyOp::kMax)
      text.append(at.op == PolicyOp::kMin ? "min " : "max ").append(a).append(", ").append(b);
    else if (at.op == PolicyOp::kNot || at.op == PolicyOp::kWire)
      text.append(at.op == PolicyOp::kNot ? "not " : "wire ").append(a);
    else
      text += predicate_of(program, {code.first + i, 1});
    text += "\n";
  }
  return text;
}

}  // namespace rocelab::oq
