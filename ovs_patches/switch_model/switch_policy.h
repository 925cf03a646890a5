// SwitchPolicy: the queueing policies of one switch, one after another. Frames that wait when a policy
// changes live and die by the policy that admitted them (drain), or join the new one (requeue). Of frames it
// decides; SwitchCore stores, drops and sends them.
//
// Source: D. Menikkumbura, OpenQueue, 2.2.3 and 2.5: orders are immutable while they are in force, and a new
// policy must not disturb what waits.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/rng.h"
#include "ovs_patches/switch_model/policy/instance.h"

namespace rocelab {

struct SwitchConfig;

// From an instant on, before all arrivals of that instant.
struct PolicyChange {
  Time at;
  std::shared_ptr<const PolicyProgram> program;  // compiled for this switch
  bool requeue = false;                          // frames that wait join it, instead of being drained first
  bool by_hand = false;                          // no scenario says so
};

// Empty where a switch of this configuration can have policies; else why not, as a clause.
std::string problem_of_policies(const SwitchConfig& config);

class SwitchPolicy {
 public:
  static constexpr std::size_t kMostDraining = 3;

  SwitchPolicy(std::shared_ptr<const PolicyProgram> first, const Rng& rng);

  void arrive(std::uint32_t node, const PolicyPacket& packet, Time now, PolicyOutcome& outcome);
  // Instances that drain are served first, the oldest of them ahead.
  std::optional<std::uint32_t> pick(PortId egress, TcMask paused, Time now);
  void leave(std::uint32_t node, std::int64_t held, Time now, PolicyOutcome& outcome);
  void remove(std::uint32_t node, Time now);
  // The number of frames that have joined another policy.
  std::uint64_t change(const PolicyChange& change, Time now);

  // Internal ports of all that are in use (PolicyInstance::move()).
  bool moves() const { return moves_; }
  Time next_move() const;
  bool move(Time now, PolicyInstance::Move& what);

  struct InForce {  // from when on
    Time at;
    std::shared_ptr<const PolicyProgram> program;
    bool by_hand = false;
  };
  const std::vector<InForce>& history() const { return history_; }

  const PolicyPacket& packet(std::uint32_t node) const { return of(node).packet(node); }
  const PolicyInstance& current() const { return runs_.back().instance; }
  std::size_t draining() const { return runs_.size() - 1; }
  const PolicyPort& port(PortId egress) const { return current().program().ports[egress.value]; }
  std::int64_t processing() const { return processing_; }  // of the frame that left last

 private:
  struct Run {
    Run(std::shared_ptr<const PolicyProgram> p, std::uint32_t number, const Rng& rng)
        : program(std::move(p)), instance(*program, rng), serial(number) {}
    std::shared_ptr<const PolicyProgram> program;
    PolicyInstance instance;
    std::uint32_t serial;
  };
  PolicyInstance& of(std::uint32_t node) {
    return const_cast<PolicyInstance&>(static_cast<const SwitchPolicy&>(*this).of(node));
  }
  const PolicyInstance& of(std::uint32_t node) const {
    return runs_.size() == 1 && runs_.front().serial == serial_of_[node] ? runs_.front().instance
                                                                         : among_several(node);
  }
  const PolicyInstance& among_several(std::uint32_t node) const;
  void note_moves();
  std::uint64_t requeue(std::size_t from, std::size_t to, Time now);
  void gone(std::uint32_t node, const PolicyPacket& packet);
  void uncount(const PolicyPacket& packet, std::uint32_t serial);
  void forget_drained();
  Run& add(std::shared_ptr<const PolicyProgram> program);

  Rng rng_;
  std::uint32_t serials_ = 0;
  bool moves_ = false;  // one of them has internal ports
  std::int64_t processing_ = 0;
  std::vector<InForce> history_;
  std::vector<Run> runs_;                 // the last is in force, the others drain
  std::vector<std::uint32_t> serial_of_;  // by node
};

}  // namespace rocelab
