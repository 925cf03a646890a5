// QpScheduler: which QP sends next. Classes by strict priority, highest first, paused ones skipped (where
// they share in another way, base/class_turns.h opens one at a time); within a class CNPs ahead of answers
// ahead of data; within each the QPs in turn, one packet each, of data as many as the constructor says. Lists
// hold only QPs that can send now, so that nothing scans idle QPs and "could anything leave" is one test.
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
  enum class Kind : std::uint8_t { kCnp = 0, kAck = 1, kData = 2 };
  struct Turn {
    std::uint32_t slot;
    Kind kind;
  };

  // `burst`: data packets of a turn, at least 1. Who cannot send on has ended its turn.
  explicit QpScheduler(std::uint32_t burst = 1) : burst_(burst) { left_.fill(burst); }

  bool has_ready(std::uint8_t open_classes) const {
    return ((ready_[0] | ready_[1] | ready_[2]) & open_classes) != 0;
  }

  std::uint8_t ready_classes() const { return static_cast<std::uint8_t>(ready_[0] | ready_[1] | ready_[2]); }
  bool has_ready_data(std::uint8_t open_classes) const { return (ready_[2] & open_classes) != 0; }

  void set_ready(std::uint32_t slot, Tc tc, Kind kind, bool ready) {
    const std::size_t node = std::size_t{slot} * kStride + static_cast<std::size_t>(kind);
    if (node < links_.size() && links_[node].linked == ready) return;  // mostly
    change(slot, tc, kind, ready);
  }
  // The QP is ready for this kind, and what it would send is of class `tc` now.
  void move(std::uint32_t slot, Tc tc, Kind kind) {
    const std::uint32_t node = slot * kStride + static_cast<std::uint32_t>(kind);
    if (links_[node].tc == tc.value) return;
    unlink(node);
    append(node, tc);
  }
  // Where the QP is listed; precondition: it is, for this kind.
  Tc class_of(std::uint32_t slot, Kind kind) const {
    return Tc{links_[slot * kStride + static_cast<std::uint32_t>(kind)].tc};
  }
  // The kinds that the QP is listed for; bit n: Kind n.
  std::uint8_t ready_kinds(std::uint32_t slot) const { return slot < kinds_.size() ? kinds_[slot] : 0; }
  static constexpr std::uint8_t bit_of(Kind kind) {
    return static_cast<std::uint8_t>(1u << static_cast<unsigned>(kind));
  }
  void remove(std::uint32_t slot) {
    set_ready(slot, {}, Kind::kCnp, false);
    set_ready(slot, {}, Kind::kAck, false);
    set_ready(slot, {}, Kind::kData, false);
  }
  // Precondition: has_ready(open_classes). A QP whose turn ends goes to the end of its list.
  Turn take_turn(std::uint8_t open_classes) {
    const auto candidates = static_cast<std::uint8_t>((ready_[0] | ready_[1] | ready_[2]) & open_classes);
    RL_CHECK(candidates != 0);
    const int tc = std::bit_width(candidates) - 1;
    constexpr auto kDataIndex = static_cast<std::size_t>(Kind::kData);
    const std::size_t kind = (ready_[0] >> tc & 1) != 0 ? 0 : (ready_[1] >> tc & 1) != 0 ? 1 : 2;
    std::uint32_t& head = head_[kind][static_cast<std::size_t>(tc)];
    const std::uint32_t node = head;
    if (kind == kDataIndex) {
      std::uint32_t& left = left_[static_cast<std::size_t>(tc)];
      if (--left > 0) return Turn{node / kStride, Kind::kData};
      left = burst_;
    }
    head = links_[node].next;
    return Turn{node / kStride, static_cast<Kind>(node % kStride)};
  }

 private:
  struct Link {
    std::uint32_t next = 0, previous = 0;
    std::uint8_t tc = 0;
    bool linked = false;
  };
  [[gnu::noinline]] void change(std::uint32_t slot, Tc tc, Kind kind, bool ready) {
    if (std::size_t{slot} * kStride >= links_.size()) {
      if (!ready) return;
      links_.resize((std::size_t{slot} + 1) * kStride);
      kinds_.resize(std::size_t{slot} + 1);
    }
    kinds_[slot] = static_cast<std::uint8_t>(kinds_[slot] ^ bit_of(kind));
    const std::uint32_t node = slot * kStride + static_cast<std::uint32_t>(kind);
    ready ? append(node, tc) : unlink(node);
  }
  void append(std::uint32_t node, Tc tc) {
    std::uint8_t& mask = ready_[node % kStride];
    std::uint32_t& head = head_[node % kStride][tc.value];
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
    std::uint32_t& head = head_[node % kStride][link.tc];
    link.linked = false;
    if (head == node && node % kStride == static_cast<std::uint32_t>(Kind::kData)) left_[link.tc] = burst_;
    if (link.next == node) {
      ready_[node % kStride] = static_cast<std::uint8_t>(ready_[node % kStride] & ~(1u << link.tc));
      return;
    }
    links_[link.previous].next = link.next;
    links_[link.next].previous = link.previous;
    if (head == node) head = link.next;
  }

  static constexpr std::uint32_t kStride = 4;  // nodes of a slot, of which three are used
  std::vector<Link> links_;                    // by slot * kStride + kind: rings of nodes
  std::vector<std::uint8_t> kinds_;            // by slot: ready_kinds()
  std::array<std::array<std::uint32_t, kTrafficClasses>, 3> head_{};  // by kind and class: whose turn it is
  std::array<std::uint8_t, 3> ready_{};  // by kind: classes with a QP in the list
  const std::uint32_t burst_;
  std::array<std::uint32_t, kTrafficClasses> left_;  // data packets of the turn, by class
};

}  // namespace rocelab
