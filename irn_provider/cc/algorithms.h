// Algorithms: the congestion controls that there are. This list is the only registration: a label, a table of
// the scenario, checks and documents follow from it (docs/tutorial/extending.md). The order is that of labels
// and documents.
#pragma once

#include "base/type_list.h"
#include "irn_provider/cc/aimd.h"
#include "irn_provider/cc/aimd_ecn.h"
#include "irn_provider/cc/bfc.h"
#include "irn_provider/cc/dcqcn_pi.h"
#include "irn_provider/cc/dcqcn_rp.h"
#include "irn_provider/cc/dctcp.h"
#include "irn_provider/cc/hpcc.h"
#include "irn_provider/cc/p4qcn_rp.h"
#include "irn_provider/cc/qcn_rp.h"
#include "irn_provider/cc/rcp.h"
#include "irn_provider/cc/rocc_rp.h"
#include "irn_provider/cc/timely.h"

namespace rocelab {

using Algorithms = TypeList<  //
    DcqcnRp,                  //
    Timely,                   //
    Aimd,                     //
    Dctcp,                    //
    RoccRp,                   //
    Hpcc,                     //
    P4qcnRp,                  //
    QcnRp,                    //
    AimdEcn,                  //
    P4qcn3Rp,                 //
    Rcp,                      //
    DcqcnPi,                  //
    Bfc                       //
    >;

}  // namespace rocelab
