// TypeList: types as a value, for registries that are lists of types (irn_provider/cc/algorithms.h,
// base/wire/controls.h).
#pragma once

#include <cstddef>
#include <type_traits>

namespace rocelab {

template <class... T>
struct TypeList {};

// The place of `Which` in a list of different types; the length of the list where it is not among them.
template <class Which, class... T>
constexpr std::size_t place_in(TypeList<T...> /*list*/) {
  std::size_t place = 0;
  static_cast<void>(((std::is_same_v<Which, T> || (++place, false)) || ...));
  return place;
}
template <class... T>
constexpr std::size_t length_of(TypeList<T...> /*list*/) {
  return sizeof...(T);
}

}  // namespace rocelab
