// Expander: the items of a program into a Model, for one switch. Blocks and loops are walked once per phase:
// queues first, then what holds queues, then what is said of them.
#pragma once

#include <deque>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "ovs_patches/openqueue/resolve.h"

namespace rocelab::oq {

// A name alone, with or without "()".
bool is_named(const Expr& expr);

// A complaint of standard.oq is about who uses it, at `place`.
Complaint outside_library(Complaint complaint, Place place);

class Expander {
 public:
  Expander(const SwitchConfig& config, std::span<const PortConfig> ports, Diagnostics& diagnostics)
      : config_(config), ports_(ports), diagnostics_(diagnostics), resolver_(model_, config, ports) {}

  // `library` and `texts` outlive the Model. Errors go to the diagnostics; the Model is whole if there are
  // none.
  Model expand(const Text& library, const std::vector<const Text*>& texts,
               const std::vector<std::pair<std::string, Expr>>& constants);

 private:
  enum class Phase : std::uint8_t { kQueues, kHolders, kNumbers, kProperties };

  void declare(const std::vector<Item>& items, Scope* scope);
  void declare(const Item& item, Scope* scope, const std::string& name, Named named);
  bool spend(std::size_t steps, Place place);
  void walk(const std::vector<Item>& items, Scope* scope, Phase phase);
  void walk(const Item& item, Scope* scope, Phase phase);
  void every_port(const Item& item, Scope* scope, Phase phase);
  void loop(const Item& item, Scope* scope, Phase phase);
  Scope* inner(const Item& item, Scope* scope, std::int64_t iteration);
  void object(const Item& item, Scope* scope, Phase phase);
  void each_element(const Item& item, Scope* scope, ObjectKind kind, const auto& make);
  std::int64_t size_of(const Make& make, Scope* scope, bool& in_packets);
  std::uint32_t make_queue(const Make& make, Scope* scope, std::string name);
  std::uint32_t make_buffer(const Make& make, Scope* scope, std::string name);
  std::uint32_t make_port(const Make& make, Scope* scope, std::string name);
  std::uint32_t queue_of(const Path& path, Scope* scope);

  void property(const Item& item, Scope* scope, Phase phase);
  void queue_property(std::uint32_t queue, const std::string& name, const Item& item, Scope* scope);
  void buffer_property(std::uint32_t buffer, const std::string& name, const Item& item, Scope* scope);
  void port_property(std::uint32_t port, const std::string& name, const Item& item, Scope* scope);
  void schedule(ModelPort& port, const Item& item, Scope* scope);
  void served_by(ModelPort& port, const Expr& name, Scope* scope);
  OrderRef order(const Item& item, Scope* scope, bool packets);
  OrderRef order_of(const Named& named, const std::string& name, bool packets);
  OrderRef make_order(const std::string& name, Scope* scope, const Expr& less,
                      const std::vector<std::string>& params, bool packets);
  struct Condition {
    std::vector<ModelCase> cases;
    std::optional<Tree> predicate;  // without an action
  };
  Condition condition(Ref of, const Item& item, Scope* scope, bool may_drop);
  Env env_of(Ref of, Scope* scope) const;
  std::uint32_t turn(const Named& named);
  void select(const Item& item, Scope* scope);
  ModelSelection selection(const Item& item, Scope* scope, std::optional<std::uint16_t> out, Ref port);
  void set(const Item& item, Scope* scope);
  void finish();
  Named* definition(const Expr& name, Scope* scope);
  void warn_unused(const Scope& scope);
  void warn_unread();

  const SwitchConfig& config_;
  std::span<const PortConfig> ports_;
  Diagnostics& diagnostics_;
  Model model_;
  Resolver resolver_;
  std::deque<Scope> scopes_;
  std::map<std::tuple<const Item*, Scope*, std::int64_t>, Scope*> inner_;
  std::map<std::tuple<const Item*, Scope*, bool>, OrderRef> orders_;
  std::map<std::pair<const Item*, Scope*>, std::uint32_t> turns_;
  // A congestion that is a predicate, and its action, which are said apart.
  struct Apart {
    std::optional<Tree> predicate;
    std::vector<ModelAction> actions;
    Place place;
  };
  std::map<std::pair<ObjectKind, std::uint32_t>, Apart> apart_;
  std::vector<std::optional<Place>> port_places_;    // by egress port: where it was declared
  std::vector<std::optional<Place>> select_places_;  // by egress port
  std::vector<bool> select_by_block_;
  std::map<std::string, Place> set_places_;
  std::size_t steps_ = 0;  // items of a phase, and objects that they are about
  bool exhausted_ = false;
};

}  // namespace rocelab::oq
