// The mechanisms of this build, in the order in which their hooks are called. A new one is its own files, an
// include and a line here.
#pragma once

#include "ovs_patches/switch_model/mechanism.h"
#include "ovs_patches/switch_model/mechanisms/bfc.h"
#include "ovs_patches/switch_model/mechanisms/capfc.h"
#include "ovs_patches/switch_model/mechanisms/codel.h"
#include "ovs_patches/switch_model/mechanisms/escape.h"
#include "ovs_patches/switch_model/mechanisms/load_balance.h"
#include "ovs_patches/switch_model/mechanisms/loop_breaker.h"
#include "ovs_patches/switch_model/mechanisms/p4qcn.h"
#include "ovs_patches/switch_model/mechanisms/pi_marking.h"
#include "ovs_patches/switch_model/mechanisms/pipeline.h"
#include "ovs_patches/switch_model/mechanisms/qcn.h"
#include "ovs_patches/switch_model/mechanisms/rcp.h"
#include "ovs_patches/switch_model/mechanisms/rocc.h"
#include "ovs_patches/switch_model/mechanisms/shared_memory.h"
#include "ovs_patches/switch_model/mechanisms/slack.h"
#include "ovs_patches/switch_model/mechanisms/telemetry.h"
#include "ovs_patches/switch_model/mechanisms/watchdog.h"

namespace rocelab {

using Mechanisms = MechanismTypes<  //
    RoccMechanism,                  //
    WatchdogMechanism,              //
    LoopBreakerMechanism,           //
    EscapeMechanism,                //
    CapfcMechanism,                 //
    P4qcnMechanism,                 //
    QcnMechanism,                   //
    RcpMechanism,                   //
    PiMarkingMechanism,             //
    TelemetryMechanism,             //
    SlackMechanism,                 //
    CodelMechanism,                 //
    BfcMechanism,                   //
    SharedMemoryMechanism,          // ahead of the pipeline, which takes frames
    PipelineMechanism,              //
    LoadBalanceMechanism            //
    >;

}  // namespace rocelab
