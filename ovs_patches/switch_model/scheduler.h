// Scheduler: which class of one egress port sends next, by the classes of a switch's configuration
// (base/class_scheduler.h).
#pragma once

#include <memory>

#include "base/class_scheduler.h"
#include "ovs_patches/switch_model/switch_config.h"

namespace rocelab {

class Scheduler : public ClassScheduler<std::unique_ptr<ClassShares>> {
 public:
  explicit Scheduler(const SwitchConfig& config);
};

}  // namespace rocelab
