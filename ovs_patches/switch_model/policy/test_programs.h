// Programs for tests, put together by hand: what the compiler makes of texts is tested beside it.
#pragma once

#include <initializer_list>
#include <string>

#include "ovs_patches/switch_model/policy/program.h"

namespace rocelab {

class ProgramMaker {
 public:
  explicit ProgramMaker(std::size_t ports, std::uint32_t queues_each, std::int64_t size) {
    for (std::uint32_t p = 0; p < ports; ++p) {
      PolicyPort& port = made.ports.emplace_back();
      port.name = "p" + std::to_string(p);
      port.egress = PortId{static_cast<std::uint16_t>(p)};
      port.rate = 40'000'000'000;
      PolicySelection::Case& all = made.select.emplace_back().cases.emplace_back();
      all.first = static_cast<std::uint32_t>(made.queues.size());
      all.count = queues_each;
      for (std::uint32_t q = 0; q < queues_each; ++q) {
        port.queues.push_back(static_cast<std::uint32_t>(made.queues.size()));
        PolicyQueue& queue = made.queues.emplace_back();
        queue.name = port.name + ".q" + std::to_string(q);
        queue.port = p;
        queue.index = q;
        queue.size = size;
        queue.takes = 0xff;
      }
    }
    made.bounds.evictions = 72;
  }
  PolicyCode code(std::initializer_list<PolicyInstruction> instructions) {
    const PolicyCode made_code{static_cast<std::uint32_t>(made.code.size()),
                               static_cast<std::uint32_t>(instructions.size())};
    made.code.insert(made.code.end(), instructions);
    return made_code;
  }
  PolicyCode packet(PacketField field) {
    return code({{PolicyOp::kPacket, 0, static_cast<std::uint8_t>(field), 0, 0}});
  }
  PolicyCode queue(QueueField field, std::uint8_t slot = 0) {
    return code({{PolicyOp::kQueue, 0, static_cast<std::uint8_t>(field), slot, kContextObject}});
  }
  PolicyCode constant(std::int64_t value) {
    made.constants.push_back(value);
    return code({{PolicyOp::kConstant, 0, 0, 0, static_cast<std::uint32_t>(made.constants.size() - 1)}});
  }
  // The field, or minus it: larger values first.
  PolicyKey by(PolicyCode value, bool largest_first = false) {
    if (largest_first) {
      const PolicyInstruction load = made.code[value.first];
      made.constants.push_back(0);
      value = code({{PolicyOp::kConstant, 1, 0, 0, static_cast<std::uint32_t>(made.constants.size() - 1)},
                    load,
                    {PolicyOp::kSub, 0, 1, 0, 0}});
    }
    return {{{value, {}}}};
  }
  // currSize > size, drop
  PolicyCases tail_drop() {
    const PolicyCode full =
        code({{PolicyOp::kQueue, 0, static_cast<std::uint8_t>(QueueField::kCurrSize), 0, kContextObject},
              {PolicyOp::kQueue, 1, static_cast<std::uint8_t>(QueueField::kSize), 0, kContextObject},
              {PolicyOp::kLess, 2, 1, 0, 0}});
    return {{full, {{.kind = PolicyAction::Kind::kDrop}}}};
  }

  PolicyProgram made;
};

}  // namespace rocelab
