// Trees without fractions: exact rationals become integers by scaling. 0.95 * size >= x compares
// 19 * size with 20 * x.
#pragma once

#include "ovs_patches/openqueue/model.h"

namespace rocelab::oq {

// The tree times a positive whole number `scale`; predicates have scale 1. A quotient by a constant is exact,
// any other is rounded towards zero. Throws Complaint where numbers grow too large.
struct Scaled {
  Tree tree;
  std::int64_t scale = 1;
};
Scaled scaled(const Tree& tree);

// The tree's value, a fraction rounded towards zero.
Tree integral(const Tree& tree);

}  // namespace rocelab::oq
