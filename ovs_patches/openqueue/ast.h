// The text of a program as grammar.yy reads it: no name has a meaning yet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ovs_patches/openqueue/diagnostics.h"
#include "ovs_patches/openqueue/dimension.h"
#include "ovs_patches/openqueue/rational.h"

namespace rocelab::oq {

enum class Op : std::uint8_t {
  kNumber,
  kTrue,
  kFalse,
  kPath,
  kCall,  // path(path): a condition that is given to an object
  kMinus,
  kNot,
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMod,
  kMin,
  kMax,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kEqual,
  kNotEqual,
  kAnd,
  kOr,
  kWire,
  kChance,
};

struct PathPart;
// q[*].hol.size: a name, then indices, further names, and "()", which mean nothing.
using Path = std::vector<PathPart>;

struct Expr {
  Op op = Op::kNumber;
  Place place;  // of its operator, or of its first character
  std::uint16_t depth = 0;
  Dim dim = Dim::kNumber;  // kNumber: of its unit
  Rational number;
  std::string unit;  // as written
  Path path;
  std::vector<Expr> kids;
};

struct PathPart {
  enum class Kind : std::uint8_t { kName, kIndex, kRange, kAll, kCall };
  Kind kind{};
  Place place;
  std::string name;
  std::vector<Expr> bounds;  // kIndex: one, kRange: two
};

struct Action {
  enum class Kind : std::uint8_t { kDrop, kMark, kNotify, kPause, kResume, kModify };
  Kind kind{};
  Place place;
  Path target;                // kModify
  std::optional<Expr> value;  // kModify; kDrop: its share
};

struct Case {
  Place place;
  std::optional<Expr> predicate;  // none: always
  std::vector<Action> actions;
};

struct Value {
  enum class Kind : std::uint8_t { kExpr, kCases, kInline, kStrict };
  Kind kind{};
  Place place;
  std::optional<Expr> expr;  // kExpr, kInline
  std::vector<Case> cases;
  std::optional<Expr> strict, then;  // kStrict: names; `strict` may be missing
};

enum class ObjectKind : std::uint8_t { kQueue, kBuffer, kPort };
const char* name_of(ObjectKind kind);  // "queue"

struct Make {
  ObjectKind kind{};
  Place place;
  std::vector<Expr> arguments;
  std::vector<Path> targets;  // after "->"
  bool drops_ahead = false;
  enum class Link : std::uint8_t { kNone, kIngress, kEgress } link{};
  std::optional<Expr> number;  // of the link
};

struct Arm {  // of select and set
  Place place;
  std::optional<Expr> when;   // select; none: else
  std::vector<Expr> numbers;  // set; none: else
  Path target;                // select
  std::optional<Expr> value;  // set
};

struct Item {
  enum class Kind : std::uint8_t {
    kConst,
    kDefine,  // an order, a condition, or with a path of more than a name a property that is one
    kTurn,
    kObject,
    kAttribute,
    kSelect,
    kSet,
    kState,
    kEveryPort,
    kSwitch,
    kLoop,
  };
  Kind kind{};
  Place place;
  Path path;                        // left side; kSelect: of what
  std::string name;                 // const, turn, set, state, block, loop variable
  std::string word;                 // set: by what; state: type
  std::vector<std::string> params;  // kDefine, kTurn
  std::optional<Value> value;       // kConst, kDefine, kAttribute
  std::optional<Make> make;
  std::optional<ObjectKind> declared;  // kObject, kState
  std::vector<Arm> arms;
  std::vector<Action> enter, after, empty;  // kTurn
  std::optional<Expr> serve;
  std::optional<Expr> from, to;  // kLoop
  std::vector<Item> items;       // blocks and loops
};

struct Use {
  Place place;
  std::string file;
};

struct Text {  // of one file
  std::vector<Use> uses;
  std::vector<Item> items;
};

// The text of an AST: parsed again, it gives the same one.
std::string print(const Text& text);
std::string print(const Expr& expr);
std::string print(const Path& path);

}  // namespace rocelab::oq
