// Resolver: expressions of the text into trees: names, dimensions, exact constants.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ovs_patches/openqueue/fields.h"
#include "ovs_patches/openqueue/model.h"
#include "ovs_patches/openqueue/scope.h"
#include "ovs_patches/switch_model/switch_config.h"

namespace rocelab::oq {

// What an expression may see.
enum class Site : std::uint8_t {
  kConstant,
  kPacketOrder,
  kQueueOrder,
  kQueueCase,   // congestion and postAdmAct of a queue
  kBufferCase,  // of a buffer
  kPortCase,    // postSchedAct: the packet has left its queue
  kTurn,
  kSelect,
};

struct Ref {
  enum class Kind : std::uint8_t { kNone, kPacket, kHead, kQueue, kBuffer, kPort };
  Kind kind = Kind::kNone;
  std::uint32_t object = kContextObject;
};

struct Env {
  Scope* scope = nullptr;
  Site site = Site::kConstant;
  std::vector<std::pair<std::string, Ref>> params;
  Ref self;                          // whose bare field names are
  Ref queue, buffer, port;           // what these words mean
  std::optional<std::uint16_t> out;  // packet.out, where it is known
};

class Resolver {
 public:
  Resolver(Model& model, const SwitchConfig& config, std::span<const PortConfig> ports)
      : model_(model), config_(config), ports_(ports) {}

  Tree resolve(const Expr& expr, const Env& env);
  Tree predicate(const Expr& expr, const Env& env);  // true or false
  Constant constant(const Expr& expr, Scope* scope);
  std::int64_t whole(const Expr& expr, Scope* scope, Dim dim, const char* what);
  Rational share(const Expr& expr, Scope* scope);  // from 0 to 1
  ModelAction action(const Action& action, const Env& env, bool may_drop);
  std::vector<ModelCase> cases(const std::vector<Case>& cases, const Env& env, bool may_drop);

  // Elements that a path names, whose indices are constants.
  std::vector<Ref> objects(const Path& path, Scope* scope);
  // The same before its last part, which is a property's name.
  std::vector<Ref> owners(const Path& path, Scope* scope);

  // A selection's target: elements first to first + count - 1, by an index if it is not constant.
  struct Target {
    std::uint32_t first = 0, count = 1;
    std::optional<Tree> index;
    std::vector<IndexBound> bounds;
  };
  Target target(const Path& path, const Env& env);

  std::uint8_t declare_state(const Item& item);

 private:
  Tree path(const Expr& expr, const Env& env);
  Tree field(Ref of, const PathPart& name, const Env& env);
  Tree packet_field(Ref of, const PathPart& name, const Env& env);
  Tree state(Ref of, const PathPart& name, const Env& env);
  Ref step(Ref of, const PathPart& name) const;
  Tree constant_tree(Named& named, const std::string& name);
  std::optional<Ref> start(const Path& path, const Env& env) const;
  Dim unit_of(Ref of, const PathPart& name) const;
  bool has_field(Ref of, const std::string& name) const;
  Tree arithmetic(const Expr& expr, const Env& env);
  Tree relation(const Expr& expr, const Env& env);
  Tree logic(const Expr& expr, const Env& env);
  void unify(Tree& a, Tree& b, const Expr& expr, const char* verb);
  void adopt(Tree& tree, Dim dim);
  std::vector<Ref> walk(const Path& path, std::size_t parts, Scope* scope);
  std::vector<std::uint32_t> elements(const Array& array, const Path& path, std::size_t from,
                                      std::size_t count, Scope* scope);

  Model& model_;
  std::size_t work_ = 0;  // elements that paths were compared with
  const SwitchConfig& config_;
  std::span<const PortConfig> ports_;
  struct StateDim {
    Dim dim = Dim::kAny;
    Place place;
  };
  std::map<std::pair<ObjectKind, std::uint8_t>, StateDim> states_;
  std::map<std::pair<ObjectKind, std::string>, std::uint8_t> declared_;
};

// "queues", where kind is that.
std::string plural(ObjectKind kind);

}  // namespace rocelab::oq
