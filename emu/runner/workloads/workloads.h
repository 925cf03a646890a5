// Workloads: the values of `kind` that there are. This list is the only registration: keys, checks and
// documents follow from it (docs/tutorial/extending.md). The order is that of messages and documents.
#pragma once

#include "base/type_list.h"
#include "emu/runner/workloads/all_to_all.h"
#include "emu/runner/workloads/closed_loop.h"
#include "emu/runner/workloads/collective.h"
#include "emu/runner/workloads/incast.h"
#include "emu/runner/workloads/listed.h"
#include "emu/runner/workloads/permutation.h"
#include "emu/runner/workloads/poisson.h"
#include "emu/runner/workloads/rpc.h"
#include "emu/runner/workloads/stream.h"

namespace rocelab {

using Workloads = TypeList<  //
    Incast,                  //
    Poisson,                 //
    Permutation,             //
    AllToAll,                //
    Collective,              //
    Rpc,                     //
    ClosedLoop,              //
    FlowList,                //
    FlowFile,                //
    Streams                  //
    >;

}  // namespace rocelab
