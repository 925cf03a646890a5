#include "ovs_patches/openqueue/explain_code.h"

#include <set>

#include "ovs_patches/openqueue/decompile.h"

namespace rocelab::oq {
namespace {

class Listing {
 public:
  explicit Listing(const PolicyProgram& program) : program_(program) {}

  std::string text() {
    for (const PolicyQueue& queue : program_.queues) {
      add(queue.service.key, queue.name + ".procPrio");
      add(queue.drop.key, queue.name + ".dropFirst");
      add(queue.congestion, queue.name + ".congestion");
      add(queue.post_admission, queue.name + ".postAdmAct");
    }
    for (const PolicyBuffer& buffer : program_.buffers) {
      add(buffer.drop_from, buffer.name + ".dropFrom");
      add(buffer.congestion, buffer.name + ".congestion");
      add(buffer.post_admission, buffer.name + ".postAdmAct");
    }
    for (const PolicyPort& port : program_.ports) {
      add(port.schedule.strict_order, port.name + ".schedPrio, strict");
      add(port.schedule.order, port.name + ".schedPrio");
      add(port.post_scheduling, port.name + ".postSchedAct");
      add(port.next, "select " + port.name);
    }
    for (const PolicyTurn& turn : program_.turns) {
      add(turn.enter, "turn " + turn.name + ", enter");
      add(turn.serve, "turn " + turn.name + ", serve");
      add(turn.after, "turn " + turn.name + ", after");
      add(turn.empty, "turn " + turn.name + ", empty");
    }
    for (std::size_t i = 0; i < program_.select.size(); ++i)
      add(program_.select[i], "select for port " + std::to_string(i));
    return text_;
  }

 private:
  void add(PolicyCode code, const std::string& of) {
    if (!code || !known_.insert(code.first).second) return;
    text_ += of + ": " + predicate_of(program_, code) + "\n" + listing_of(program_, code, "  ");
  }
  void add(const PolicyKey& key, const std::string& of) {
    for (const PolicyKey::Component& component : key.components) {
      add(component.value, of);
      add(component.divisor, of + ", divisor");
    }
  }
  void add(const std::vector<PolicyAction>& actions, const std::string& of) {
    for (const PolicyAction& action : actions) add(action.value, of + ", modify");
  }
  void add(const PolicyCases& cases, const std::string& of) {
    for (const PolicyCase& one : cases) {
      add(one.predicate, of);
      add(one.actions, of);
    }
  }
  void add(const PolicySelection& selection, const std::string& of) {
    for (const PolicySelection::Case& one : selection.cases) {
      add(one.predicate, of);
      add(one.index, of + ", index");
    }
  }

  const PolicyProgram& program_;
  std::set<std::uint32_t> known_;  // by first instruction
  std::string text_;
};

}  // namespace

std::string listing_of(const PolicyProgram& program) { return Listing(program).text(); }

}  // namespace rocelab::oq
