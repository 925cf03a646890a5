#include <array>

#include "ovs_patches/openqueue/ast.h"
#include "ovs_patches/openqueue/lexer.h"

namespace rocelab::oq {
namespace {

constexpr std::array kSymbols = {"+",  "-", "*",  "/",  "%",  "",    "",  "<",
                                 "<=", ">", ">=", "==", "!=", "and", "or"};
static_assert(kSymbols.size() == static_cast<std::size_t>(Op::kOr) - static_cast<std::size_t>(Op::kAdd) + 1);

std::string symbol(Op op) {
  return kSymbols[static_cast<std::size_t>(op) - static_cast<std::size_t>(Op::kAdd)];
}

std::string list(const auto& all, const char* between, const auto& text) {
  std::string joined;
  for (const auto& one : all) joined += (joined.empty() ? "" : between) + text(one);
  return joined;
}

// As the lexer reads it back: 19/20 is 0.95. Numbers of a text have decimal points of finite length.
std::string decimal(Rational value) {
  __int128 num = value.num();
  const __int128 den = value.den();
  std::string digits = std::to_string(value.num() / value.den());
  num %= den;
  if (num != 0) digits += ".";
  while (num != 0) {
    num *= 10;
    digits += static_cast<char>('0' + static_cast<int>(num / den));
    num %= den;
  }
  return digits;
}

std::string number(const Expr& expr) {
  const std::string digits = decimal(*div(expr.number, scale_of_unit(expr.unit)));
  return digits + (expr.dim == Dim::kPackets ? " " : "") + expr.unit;
}

std::string text_of(const Action& action) {
  switch (action.kind) {
    case Action::Kind::kDrop:
      return action.value ? "drop(" + print(*action.value) + ")" : "drop";
    case Action::Kind::kMark:
      return "mark";
    case Action::Kind::kNotify:
      return "notify";
    case Action::Kind::kPause:
      return "notify(upstream)";
    case Action::Kind::kResume:
      return "release(upstream)";
    case Action::Kind::kModify:
      return "modify(" + print(action.target) + " := " + print(*action.value) + ")";
  }
  return "";
}

std::string text_of(const std::vector<Action>& actions) {
  return list(actions, " . ", [](const Action& one) { return text_of(one); });
}

std::string text_of(const Case& one) {
  return one.predicate ? "(" + print(*one.predicate) + ", " + text_of(one.actions) + ")"
                       : text_of(one.actions);
}

std::string text_of(const Value& value) {
  switch (value.kind) {
    case Value::Kind::kExpr:
      return print(*value.expr);
    case Value::Kind::kInline:
      return "inline {" + print(*value.expr) + "}";
    case Value::Kind::kCases:
      return list(value.cases, " . ", [](const Case& one) { return text_of(one); });
    case Value::Kind::kStrict:
      return "strict " + (value.strict ? print(*value.strict) + " " : "") + "then " + print(*value.then);
  }
  return "";
}

const char* maker(ObjectKind kind) {
  return kind == ObjectKind::kQueue ? "Queue" : kind == ObjectKind::kBuffer ? "Buffer" : "Port";
}

std::string text_of(const Make& make) {
  std::string text = maker(make.kind);
  text += "(" + list(make.arguments, ", ", [](const Expr& one) { return print(one); }) + ")";
  if (!make.targets.empty())
    text += " -> " + list(make.targets, ", ", [](const Path& one) { return print(one); });
  if (make.drops_ahead) text += " drop";
  if (make.link == Make::Link::kIngress) text += " ingress " + print(*make.number);
  if (make.link == Make::Link::kEgress) text += " egress " + print(*make.number);
  return text;
}

std::string text_of(const std::vector<Item>& items, const std::string& indent);

std::string arms_of(const Item& item, const std::string& indent) {
  std::string text = "{\n";
  for (const Arm& arm : item.arms) {
    text += indent + "  ";
    if (item.kind == Item::Kind::kSelect)
      text += (arm.when ? print(*arm.when) : "else") + " -> " + print(arm.target);
    else
      text += (arm.numbers.empty() ? "else"
                                   : list(arm.numbers, ", ", [](const Expr& one) { return print(one); })) +
              ": " + print(*arm.value);
    text += ";\n";
  }
  return text + indent + "}";
}

std::string hook(const char* name, const std::vector<Action>& actions) {
  return actions.empty() ? "" : std::string(name) + ": " + text_of(actions) + "; ";
}

std::string text_of(const Item& item, const std::string& indent) {
  const auto block = [&] { return " {\n" + text_of(item.items, indent + "  ") + indent + "}"; };
  switch (item.kind) {
    case Item::Kind::kConst:
      return "const " + item.name + " = " + text_of(*item.value) + ";";
    case Item::Kind::kDefine:
      return print(item.path) + "(" + list(item.params, ", ", [](const std::string& one) { return one; }) +
             ") = " + text_of(*item.value) + ";";
    case Item::Kind::kAttribute:
      return print(item.path) + " = " + text_of(*item.value) + ";";
    case Item::Kind::kObject:
      return (item.declared ? std::string(maker(*item.declared)) + " " : "") + print(item.path) + " = " +
             text_of(*item.make) + ";";
    case Item::Kind::kTurn:
      return "turn " + item.name + "(" + item.params[0] + ") { " + hook("enter", item.enter) + "serve when " +
             print(*item.serve) + "; " + hook("after", item.after) + hook("empty", item.empty) + "}";
    case Item::Kind::kSelect:
      return "select " + (item.path.empty() ? "" : print(item.path) + " ") + arms_of(item, indent);
    case Item::Kind::kSet:
      return "set " + item.name + " by " + item.word + " " + arms_of(item, indent);
    case Item::Kind::kState:
      return "state " + item.name + ": " + item.word + " on " + name_of(*item.declared) + ";";
    case Item::Kind::kEveryPort:
      return "on every port" + (item.name.empty() ? "" : " as " + item.name) + block();
    case Item::Kind::kSwitch:
      return "on switch" + block();
    case Item::Kind::kLoop:
      return "for " + item.name + " in " + print(*item.from) + ".." + print(*item.to) + block();
  }
  return "";
}

std::string text_of(const std::vector<Item>& items, const std::string& indent) {
  std::string text;
  for (const Item& item : items) text += indent + text_of(item, indent) + "\n";
  return text;
}

}  // namespace

const char* name_of(ObjectKind kind) {
  return kind == ObjectKind::kQueue ? "queue" : kind == ObjectKind::kBuffer ? "buffer" : "port";
}

std::string print(const Path& path) {
  std::string text;
  for (const PathPart& part : path) {
    switch (part.kind) {
      case PathPart::Kind::kName:
        text += (text.empty() ? "" : ".") + part.name;
        break;
      case PathPart::Kind::kIndex:
        text += "[" + print(part.bounds[0]) + "]";
        break;
      case PathPart::Kind::kRange:
        text += "[" + print(part.bounds[0]) + " .. " + print(part.bounds[1]) + "]";
        break;
      case PathPart::Kind::kAll:
        text += "[*]";
        break;
      case PathPart::Kind::kCall:
        text += "()";
        break;
    }
  }
  return text;
}

std::string print(const Expr& expr) {
  const auto kid = [&](std::size_t i) { return print(expr.kids[i]); };
  switch (expr.op) {
    case Op::kNumber:
      return number(expr);
    case Op::kTrue:
      return "true";
    case Op::kFalse:
      return "false";
    case Op::kPath:
      return print(expr.path);
    case Op::kCall:
      return print(expr.path) + "(" + kid(0) + ")";
    case Op::kMinus:
      return "(-" + kid(0) + ")";
    case Op::kNot:
      return "(not " + kid(0) + ")";
    case Op::kWire:
      return "wire(" + kid(0) + ")";
    case Op::kChance:
      return "chance(" + kid(0) + ")";
    case Op::kMin:
    case Op::kMax:
      return std::string(expr.op == Op::kMin ? "min(" : "max(") + kid(0) + ", " + kid(1) + ")";
    default:
      return "(" + kid(0) + " " + symbol(expr.op) + " " + kid(1) + ")";
  }
}

std::string print(const Text& text) {
  std::string all = "openqueue 1;\n";
  for (const Use& use : text.uses) all += "use \"" + use.file + "\";\n";
  return all + text_of(text.items, "");
}

}  // namespace rocelab::oq
