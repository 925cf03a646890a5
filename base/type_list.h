// TypeList: types as a value, for registries that are lists of types (irn_provider/cc/algorithms.h).
#pragma once

namespace rocelab {

template <class... T>
struct TypeList {};

}  // namespace rocelab
