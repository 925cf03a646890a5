#include "ovs_patches/openqueue/ranges.h"

#include <algorithm>

namespace rocelab::oq {
namespace {

using TreeOp = Tree::Op;

constexpr __int128 kSaturated = __int128{1} << 62;  // where the switch stops counting
constexpr __int128 kOverflow = (__int128{1} << 63) - 1;
constexpr __int128 kLongest = 1'000'000'000'000'000'000;  // picoseconds of an experiment
constexpr __int128 kMostBytes = 1'000'000'000'000;

Range clamp(Range range) {
  return {std::clamp(range.least, -kSaturated, kSaturated), std::clamp(range.most, -kSaturated, kSaturated)};
}

Range product(Range a, Range b) {
  const __int128 all[] = {a.least * b.least, a.least * b.most, a.most * b.least, a.most * b.most};
  return {*std::min_element(std::begin(all), std::end(all)),
          *std::max_element(std::begin(all), std::end(all))};
}

Range quotient(Range a, Range b) {  // b without zero on its inside; total, as the switch divides
  std::vector<__int128> all;
  for (const __int128 by : {b.least, b.most, __int128{-1}, __int128{1}}) {
    if (by == 0 || by < b.least || by > b.most) continue;
    all.push_back(a.least / by);
    all.push_back(a.most / by);
  }
  if (b.least <= 0 && b.most >= 0) all.push_back(0);
  if (a.least <= 0 && a.most >= 0) all.push_back(0);
  return {*std::min_element(all.begin(), all.end()), *std::max_element(all.begin(), all.end())};
}

Range remainder(Range a, Range b) {
  const __int128 most = std::max(b.most, -b.least) - 1;
  return {a.least < 0 ? std::max(a.least, -std::max<__int128>(most, 0)) : 0,
          a.most > 0 ? std::min(a.most, std::max<__int128>(most, 0)) : 0};
}

Range join(Range a, Range b) { return {std::min(a.least, b.least), std::max(a.most, b.most)}; }

bool is_leaf(const Tree& tree) {
  return tree.op == TreeOp::kPacket || tree.op == TreeOp::kHead || tree.op == TreeOp::kQueue ||
         tree.op == TreeOp::kBuffer || tree.op == TreeOp::kPort || tree.op == TreeOp::kNow;
}

const char* sign(TreeOp op) {
  switch (op) {
    case TreeOp::kAdd:
      return " + ";
    case TreeOp::kSub:
      return " - ";
    default:
      return " * ";
  }
}

// Reads a state variable, or the slack of a frame that may have none: they stop at the limit, and so does
// what is computed of them.
bool saturates(const Tree& tree) {
  const auto is = [&](Tree::Op op, auto field) {
    return tree.op == op && tree.field == static_cast<std::uint8_t>(field);
  };
  if (is(TreeOp::kQueue, QueueField::kState) || is(TreeOp::kBuffer, BufferField::kState) ||
      is(TreeOp::kPort, PortField::kState) || is(TreeOp::kPacket, PacketField::kSlack) ||
      is(TreeOp::kHead, PacketField::kSlack))
    return true;
  return std::any_of(tree.kids.begin(), tree.kids.end(), saturates);
}

Range table_range(const ModelTable& table, std::int64_t otherwise) {
  if (!table.given) return {otherwise, otherwise};
  const auto [least, most] = std::minmax_element(table.by_dscp.begin(), table.by_dscp.end());
  return {*least, *most};
}

}  // namespace

std::string decimal(__int128 value) {
  if (value < 0) return "-" + decimal(-value);
  std::string digits;
  do {
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(value % 10)));
    value /= 10;
  } while (value != 0);
  return digits;
}

Ranges::Ranges(const Model& model, const SwitchConfig& config, std::span<const PortConfig> ports)
    : model_(model), ports_(static_cast<std::int64_t>(ports.size())) {
  size_ = {1, config.longest_frame().count()};
  Rate slowest = ports.front().rate, fastest = slowest;
  for (const PortConfig& port : ports)
    slowest = std::min(slowest, port.rate), fastest = std::max(fastest, port.rate);
  tx_ = {0, wire_time(config.longest_frame(), slowest).ps()};
  rate_ = {0, std::max<__int128>(fastest.bps(), 100'000'000'000'000)};
  value_ = model.modifies_value ? Range{-kSaturated, kSaturated} : table_range(model.value, 0);
  processing_ = table_range(model.processing, 0);
  slack_ = {-kSaturated, kSaturated};
  const auto over = [&](auto member) {
    Range range{0, 0};
    bool first = true;
    for (const ModelQueue& queue : model.queues) {
      const Range one{queue.*member, queue.*member};
      range = first ? one : join(range, one);
      first = false;
    }
    return range;
  };
  quantum_ = over(&ModelQueue::quantum);
  strict_ = over(&ModelQueue::strict);
}

Range Ranges::packet(PacketField field, const KnownFrame& frame) const {
  const auto known = [](std::optional<std::int64_t> value, Range otherwise) {
    return value ? Range{*value, *value} : otherwise;
  };
  switch (field) {
    case PacketField::kArrival:
      return {0, kLongest};
    case PacketField::kSize:
      return size_;
    case PacketField::kTx:
      return tx_;
    case PacketField::kClass:
      return known(frame.tc, {0, kTrafficClasses - 1});
    case PacketField::kDscp:
      return known(frame.dscp, {0, kDscps - 1});
    case PacketField::kEcn:
      return {0, 3};
    case PacketField::kIn:
      return {0, ports_ - 1};
    case PacketField::kOut:
      return known(frame.out, {0, ports_ - 1});
    case PacketField::kFlow:
      return {-kSaturated, kSaturated};
    case PacketField::kSlack:
      return slack_;
    case PacketField::kValue:
      return value_;
    case PacketField::kProcessing:
      return processing_;
    case PacketField::kHeld:
    case PacketField::kXoff:
    case PacketField::kXon:
      return {0, kMostBytes};
  }
  return {};
}

Range Ranges::queue(const Tree& tree) const {
  const ModelQueue* known = tree.object < model_.queues.size() ? &model_.queues[tree.object] : nullptr;
  switch (QueueField{tree.field}) {
    case QueueField::kSize:
      return known != nullptr ? Range{known->size, known->size} : Range{1, kMostBytes};
    case QueueField::kCurrSize:
    case QueueField::kBytes:
    case QueueField::kPackets:
      return {0, kMostBytes};
    case QueueField::kIndex:
      return {0, 63};
    case QueueField::kStrict:
      return known != nullptr ? Range{known->strict, known->strict} : strict_;
    case QueueField::kQuantum:
      return known != nullptr ? Range{known->quantum, known->quantum} : quantum_;
    case QueueField::kDelay:
      return {0, kLongest};
    case QueueField::kArrivals:
      return {0, 0xffffffff};
    case QueueField::kState:
      return {-kSaturated, kSaturated};
  }
  return {};
}

Range Ranges::port_queues(std::uint32_t port) const {
  const std::size_t most = port < model_.ports.size() ? model_.ports[port].queues.size() : kMostPortQueues;
  return {0, std::max<std::int64_t>(1, static_cast<std::int64_t>(most)) - 1};
}

Range Ranges::leaf(const Tree& tree, const KnownFrame& frame) const {
  switch (tree.op) {
    case TreeOp::kNow:
      return {0, kLongest};
    case TreeOp::kPacket:
      return packet(PacketField{tree.field}, frame);
    case TreeOp::kHead:
      return join({0, 0}, packet(PacketField{tree.field}, {}));
    case TreeOp::kQueue:
      return queue(tree);
    case TreeOp::kBuffer:
      if (tree.field == static_cast<std::uint8_t>(BufferField::kCurrQueue)) return {0, kMostQueues - 1};
      return tree.field == static_cast<std::uint8_t>(BufferField::kState) ? Range{-kSaturated, kSaturated}
                                                                          : Range{0, kMostBytes};
    default:
      if (tree.field == static_cast<std::uint8_t>(PortField::kIndex)) return {0, ports_ - 1};
      if (tree.field == static_cast<std::uint8_t>(PortField::kCurrQueue)) return port_queues(tree.object);
      return tree.field == static_cast<std::uint8_t>(PortField::kState) ? Range{-kSaturated, kSaturated}
                                                                        : rate_;
  }
}

Range Ranges::with(const Tree& tree, const KnownFrame& frame, const Facts& facts) const {
  if (is_leaf(tree)) {
    Range range = leaf(tree, frame);
    for (const Fact& fact : facts)
      if (same(*fact.leaf, tree))
        range = {std::max(range.least, fact.range.least), std::min(range.most, fact.range.most)};
    if (range.least > range.most) range.most = range.least;  // never asked
    return range;
  }
  if (tree.op == TreeOp::kNumber) return {tree.number.num(), tree.number.num()};
  if (tree.dim == Dim::kBool) {
    const Truth can = truth(tree, frame);
    return {can.can_fail ? 0 : 1, can.can_hold ? 1 : 0};
  }
  const Range a = with(tree.kids[0], frame, facts);
  if (tree.op == TreeOp::kWire) {
    const __int128 extra = wire_bytes(0_B).count();
    return {a.least + extra, a.most + extra};
  }
  const Range b = with(tree.kids[1], frame, facts);
  switch (tree.op) {
    case TreeOp::kAdd:
      return clamp({a.least + b.least, a.most + b.most});
    case TreeOp::kSub:
      return clamp({a.least - b.most, a.most - b.least});
    case TreeOp::kMul:
      return clamp(product(a, b));
    case TreeOp::kDiv:
      return quotient(a, b);
    case TreeOp::kMod:
      return remainder(a, b);
    case TreeOp::kMin:
      return {std::min(a.least, b.least), std::min(a.most, b.most)};
    case TreeOp::kMax:
      return {std::max(a.least, b.least), std::max(a.most, b.most)};
    default:
      return {0, 1};
  }
}

Range Ranges::of(const Tree& tree, const KnownFrame& frame) const { return with(tree, frame, {}); }

Ranges::Truth Ranges::truth(const Tree& tree, const KnownFrame& frame) const {
  switch (tree.op) {
    case TreeOp::kTrue:
      return {true, false};
    case TreeOp::kFalse:
      return {false, true};
    case TreeOp::kNot: {
      const Truth of = truth(tree.kids[0], frame);
      return {of.can_fail, of.can_hold};
    }
    case TreeOp::kAnd:
    case TreeOp::kOr: {
      const Truth a = truth(tree.kids[0], frame), b = truth(tree.kids[1], frame);
      if (tree.op == TreeOp::kAnd) return {a.can_hold && b.can_hold, a.can_fail || b.can_fail};
      return {a.can_hold || b.can_hold, a.can_fail && b.can_fail};
    }
    case TreeOp::kLess:
    case TreeOp::kLessEqual:
    case TreeOp::kEqual:
    case TreeOp::kNotEqual: {
      const Range a = of(tree.kids[0], frame), b = of(tree.kids[1], frame);
      if (tree.op == TreeOp::kLess) return {a.least < b.most, a.most >= b.least};
      if (tree.op == TreeOp::kLessEqual) return {a.least <= b.most, a.most > b.least};
      const bool can_equal = a.least <= b.most && b.least <= a.most;
      const bool must_equal = a.least == a.most && b.least == b.most && a.least == b.least;
      if (tree.op == TreeOp::kEqual) return {can_equal, !must_equal};
      return {!must_equal, can_equal};
    }
    default:
      return {};
  }
}

// What `leaf REL number` says of the leaf.
void Ranges::learn(const Tree& tree, bool holds, Facts& facts) const {
  if (tree.op == TreeOp::kNot) return learn(tree.kids[0], !holds, facts);
  if ((tree.op == TreeOp::kAnd && holds) || (tree.op == TreeOp::kOr && !holds)) {
    for (const Tree& kid : tree.kids) learn(kid, holds, facts);
    return;
  }
  const bool relation = tree.op == TreeOp::kLess || tree.op == TreeOp::kLessEqual ||
                        tree.op == TreeOp::kEqual || tree.op == TreeOp::kNotEqual;
  if (!relation) return;
  const bool left = is_leaf(tree.kids[0]) && tree.kids[1].op == TreeOp::kNumber;
  const bool right = is_leaf(tree.kids[1]) && tree.kids[0].op == TreeOp::kNumber;
  if (!left && !right) return;
  const Tree& leaf = tree.kids[left ? 0 : 1];
  const __int128 number = tree.kids[left ? 1 : 0].number.num();
  constexpr __int128 kAny = __int128{1} << 64;
  const bool strict = tree.op == TreeOp::kLess;
  switch (tree.op) {
    case TreeOp::kLess:
    case TreeOp::kLessEqual:
      // leaf < n, or n < leaf; the negation is leaf >= n, or n >= leaf.
      if (left == holds)
        facts.push_back({&leaf, {-kAny, number - ((holds ? strict : !strict) ? 1 : 0)}});
      else
        facts.push_back({&leaf, {number + ((holds ? strict : !strict) ? 1 : 0), kAny}});
      return;
    default:
      if ((tree.op == TreeOp::kEqual) == holds)
        facts.push_back({&leaf, {number, number}});
      else if (number == 0)  // fields that count are not negative
        facts.push_back({&leaf, {leaf.op == TreeOp::kQueue || leaf.op == TreeOp::kBuffer ? 1 : -kAny, kAny}});
  }
}

void Ranges::check(const Tree& tree, std::span<const std::uint32_t> occupied) const {
  check(tree, occupied, {});
}

void Ranges::check(const Tree& tree, std::span<const std::uint32_t> occupied, Facts facts) const {
  if (tree.op == TreeOp::kHead) {
    bool known = std::find(occupied.begin(), occupied.end(), tree.object) != occupied.end();
    for (const Fact& fact : facts)
      known |= fact.leaf->op == TreeOp::kQueue && fact.leaf->object == tree.object && fact.range.least >= 1 &&
               fact.leaf->field != static_cast<std::uint8_t>(QueueField::kState);
    if (!known)
      complain(
          tree.place,
          "the queue may be empty here, and has no head then: ask for its packets > 0 first, joined by and");
  }
  if (tree.op == TreeOp::kAnd || tree.op == TreeOp::kOr) {
    check(tree.kids[0], occupied, facts);
    learn(tree.kids[0], tree.op == TreeOp::kAnd, facts);
    check(tree.kids[1], occupied, std::move(facts));
    return;
  }
  for (const Tree& kid : tree.kids) check(kid, occupied, facts);
  if (tree.kids.size() != 2 || tree.dim == Dim::kBool) return;
  const Range a = with(tree.kids[0], {}, facts);
  Range b = with(tree.kids[1], {}, facts);
  if (tree.op == TreeOp::kDiv || tree.op == TreeOp::kMod) {
    const bool counts = tree.kids[1].op == TreeOp::kQueue &&
                        std::find(occupied.begin(), occupied.end(), tree.kids[1].object) != occupied.end() &&
                        (QueueField{tree.kids[1].field} == QueueField::kBytes ||
                         QueueField{tree.kids[1].field} == QueueField::kPackets ||
                         QueueField{tree.kids[1].field} == QueueField::kCurrSize);
    if (counts) b.least = std::max<__int128>(b.least, 1);
    if (b.least <= 0 && b.most >= 0)
      complain(tree.place,
               "this can divide by zero: the divisor is from " + decimal(b.least) + " to " + decimal(b.most));
    return;
  }
  if (tree.op != TreeOp::kAdd && tree.op != TreeOp::kSub && tree.op != TreeOp::kMul) return;
  if (saturates(tree)) return;
  const auto apply = [&](__int128 x, __int128 y) {
    return tree.op == TreeOp::kAdd ? x + y : tree.op == TreeOp::kSub ? x - y : x * y;
  };
  for (const __int128 x : {a.least, a.most})
    for (const __int128 y : {b.least, b.most})
      if (const __int128 z = apply(x, y); z > kOverflow + 1 || z < -kOverflow - 1)
        complain(tree.place,
                 "this can overflow: " + decimal(x) + sign(tree.op) + decimal(y) + " has more than 64 bits");
}

}  // namespace rocelab::oq
