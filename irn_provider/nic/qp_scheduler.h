// QpScheduler: which QP sends next. Classes by strict priority, highest first, paused ones skipped; within a
// class answers ahead of data; within either the QPs in turn, one packet each. Lists hold only QPs that can
// send now, so that nothing scans idle QPs and "could anything leave" is one test.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/ids.h"

namespace rocelab {

class QpScheduler {
 public:
  enum class Kind : std::uint8_t { kAck = 0, kData = 1 };
  struct Turn {
    std::uint32_t slot;
    Kind kind;
  };

  bool has_ready(std::uint8_t open_classes) const { return ((ready_[0] | ready_[1]) & open_classes) != 0; }

  void set_ready(std::uint32_t slot, Tc tc, Kind kind, bool ready) {
    if (std::size_t{slot} * 2 + 1 >= links_.size()) {
      if (!ready) return;
      links_.resize(std::size_t{slot} * 2 + 2);
    }
    const std::uint32_t node = slot * 2 + static_cast<std::uint32_t>(kind);
    if (links_[node].linked == ready) return;
    ready ? append(node, tc) : unlink(node);
  }
  void remove(std::uint32_t slot) {
    set_ready(slot, {}, Kind::kAck, false);
    set_ready(slot, {}, Kind::kData, false);
  }
  // Precondition: has_ready(open_classes). The QP goes to the end of its list.
  Turn take_turn(std::uint8_t open_classes) {
    const auto candidates = static_cast<std::uint8_t>((ready_[0] | ready_[1]) & open_classes);
    RL_CHECK(candidates != 0);
    const int tc = std::bit_width(candidates) - 1;
    const std::size_t kind = (ready_[0] >> tc & 1) != 0 ? 0 : 1;
    std::uint32_t& head = head_[kind][static_cast<std::size_t>(tc)];
    const std::uint32_t node = head;
    head = links_[node].next;
    return Turn{node / 2, static_cast<Kind>(node % 2)};
  }

 private:
  struct Link {
    std::uint32_t next = 0, previous = 0;
    std::uint8_t tc = 0;
    bool linked = false;
  };
  void append(std::uint32_t node, Tc tc) {
    std::uint8_t& mask = ready_[node % 2];
    std::uint32_t& head = head_[node % 2][tc.value];
    Link& link = links_[node];
    link.tc = tc.value, link.linked = true;
    if ((mask >> tc.value & 1) == 0) {
      mask = static_cast<std::uint8_t>(mask | 1u << tc.value);
      head = link.next = link.previous = node;
      return;
    }
    const std::uint32_t tail = links_[head].previous;
    link.next = head, link.previous = tail;
    links_[tail].next = links_[head].previous = node;
  }
  void unlink(std::uint32_t node) {
    Link& link = links_[node];
    std::uint32_t& head = head_[node % 2][link.tc];
    link.linked = false;
    if (link.next == node) {
      ready_[node % 2] = static_cast<std::uint8_t>(ready_[node % 2] & ~(1u << link.tc));
      return;
    }
    links_[link.previous].next = link.next;
    links_[link.next].previous = link.previous;
    if (head == node) head = link.next;
  }

  std::vector<Link> links_;                                           // by slot * 2 + kind: rings of nodes
  std::array<std::array<std::uint32_t, kTrafficClasses>, 2> head_{};  // by kind and class: whose turn it is
  std::array<std::uint8_t, 2> ready_{};  // by kind: classes with a QP in the list
};

}  // namespace rocelab
