// Bytes as a script for two connection managers: calls of the consumer, losses, replays, forged and damaged
// datagrams, time. For the fuzzer and its deterministic twin. The script breaks nothing: whatever comes, the
// managers neither crash nor send what is no MAD, every timer fires, and an endpoint that all have left goes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "irn_provider/cm/connection_manager.h"

namespace rocelab::cm {

class CmScript {
 public:
  explicit CmScript(std::span<const std::uint8_t> bytes);
  void run();  // aborts on a broken claim

 private:
  std::uint8_t byte();
  std::uint32_t word();
  void step();
  void call(int side);
  void deliver();
  void forge();
  void drain();
  void settle();
  Handle pick(int side);

  std::span<const std::uint8_t> bytes_;
  ConnectionManager cm_[2];
  Time now_;
  std::vector<std::pair<int, OutgoingMad>> in_flight_, seen_;  // by sender
  std::vector<Handle> handles_[2];
};

}  // namespace rocelab::cm
