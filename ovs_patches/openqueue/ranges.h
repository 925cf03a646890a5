// Ranges: between which values an integral tree lies, and whether a predicate can hold: for overflow,
// division by zero, reads of empty queues, and for where frames of a class can go.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ovs_patches/openqueue/model.h"
#include "ovs_patches/switch_model/switch_config.h"

namespace rocelab::oq {

struct Range {
  __int128 least = 0, most = 0;
};

// What is known of the frame that a selection is asked about.
struct KnownFrame {
  std::optional<std::int64_t> tc, dscp, out;
};

class Ranges {
 public:
  Ranges(const Model& model, const SwitchConfig& config, std::span<const PortConfig> ports);

  Range of(const Tree& tree, const KnownFrame& frame = {}) const;
  struct Truth {
    bool can_hold = true, can_fail = true;
  };
  Truth truth(const Tree& tree, const KnownFrame& frame = {}) const;

  // Complains where the tree can overflow, divide by zero, or read the head of a queue that may be empty.
  // Queues of `occupied` are not.
  void check(const Tree& tree, std::span<const std::uint32_t> occupied) const;

 private:
  struct Fact {
    const Tree* leaf;
    Range range;
  };
  using Facts = std::vector<Fact>;
  Range leaf(const Tree& tree, const KnownFrame& frame) const;
  Range packet(PacketField field, const KnownFrame& frame) const;
  Range queue(const Tree& tree) const;
  Range port_queues(std::uint32_t port) const;  // indices of its queues
  Range with(const Tree& tree, const KnownFrame& frame, const Facts& facts) const;
  void learn(const Tree& tree, bool holds, Facts& facts) const;
  void check(const Tree& tree, std::span<const std::uint32_t> occupied, Facts facts) const;

  const Model& model_;
  Range size_, tx_, value_, processing_, slack_, rate_, quantum_, strict_;
  std::int64_t ports_;
};

// "-5", of 128 bits.
std::string decimal(__int128 value);

}  // namespace rocelab::oq
