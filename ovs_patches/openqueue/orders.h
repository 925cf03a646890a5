// Comparators as keys. A comparator is an order where it is lexicographic in f(p1) < f(p2) with the same f on
// both sides: it is a strict weak order by construction then, and f is a rank that is computed once.
#pragma once

#include "ovs_patches/openqueue/model.h"

namespace rocelab::oq {

inline constexpr std::size_t kMostComponents = 3;

// Fills order.components and kind from order.less. Throws Complaint.
void separate(ModelOrder& order);

}  // namespace rocelab::oq
