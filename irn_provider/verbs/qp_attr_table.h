// Which moves between QP states a QP of each type may make, and which attributes each requires and admits.
// Source: IBTA Vol 1, 11.2.5.2, tables 91 and 92, in the reading of Linux (qp_state_table of
// drivers/infiniband/core/verbs.c), which programs are tested with.
#pragma once

#include <infiniband/verbs.h>

#include <span>
#include <string>

namespace rocelab::verbs {

struct QpTransition {
  ibv_qp_state from, to;
  int required;  // ibv_qp_attr_mask, without IBV_QP_STATE
  int optional;
};

std::span<const QpTransition> transitions(ibv_qp_type type);  // RC, UC, UD, XRC_SEND, XRC_RECV

// The move `from` -> `to`; null: there is none.
const QpTransition* find_transition(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to);

// What is left of a program's mask: each end of an XRC connection ignores what only the other one has, though
// the tables do not allow it there. Linux does so for programs that set up both alike (modify_qp_mask);
// perftest does.
int heeded_mask(ibv_qp_type type, int mask);

// May `mask` be given for the move? As the kernel decides: the move exists, all required attributes are
// there, and none but required and optional ones.
bool mask_allowed(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to, int mask);

// Why not, in words; empty: it may.
std::string why_not_allowed(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to, int mask);
const char* name_of(ibv_qp_state state);

}  // namespace rocelab::verbs
