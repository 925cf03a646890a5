// The SenderWindow that a NIC in IRN mode uses, by its configuration.
#pragma once

#include <memory>

#include "irn_provider/transport/irn_sender.h"
#include "irn_provider/transport/tcp_sender.h"

namespace rocelab {

inline std::unique_ptr<SenderWindow> make_irn_sender(const NicConfig& config, UnwrappedPsn first) {
  if (config.irn.tcp) return std::make_unique<TcpSender>(config.irn, config.recovery_timers, first);
  return std::make_unique<IrnSender>(config.irn, config.recovery_timers, first);
}

}  // namespace rocelab
