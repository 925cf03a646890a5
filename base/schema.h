// Schema: the keys of a parameter struct, as data: of each its member, kind, bounds and one line of text. The
// reader of scenarios (emu/runner/schema_reader.h) and the tables of docs/reference/scenarios.md go by it. A
// key's default is the member's in a default-constructed struct. How to write one:
//
//     constexpr auto kFields = fields(
//         field<&DcqcnParams::g>("g", "weight of a CNP in alpha").within(1e-9, 1),
//         field<&DcqcnParams::rate_timer>("rate_timer", "time between increases").positive());
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/units.h"

namespace rocelab {

// Value of a key. Whole numbers, choices (index of the name), sets (a bit per name) and lists of traffic
// classes (a bit per class) are std::int64_t.
// monostate: an optional that holds nothing.
using FieldValue = std::variant<std::monostate, bool, std::int64_t, double, Duration, Rate, Bytes>;

enum class FieldKind : std::uint8_t {
  kFlag,
  kInteger,
  kReal,
  kDuration,
  kRate,
  kBytes,
  kChoice,
  kSet,
  kClasses
};

struct Field {
  std::string_view key, text;
  FieldKind kind = FieldKind::kFlag;
  FieldValue least, most;                   // inclusive; monostate: as far as the unit goes
  std::string_view word;                    // stands for word_value in a scenario; empty: there is none
  FieldValue word_value;                    // a value that no number of a scenario gives
  std::span<const std::string_view> names;  // kChoice: of the enumeration's values, from 0; kSet: of its bits
  FieldValue (*get)(const void* params) = nullptr;
  void (*set)(void* params, const FieldValue& value) = nullptr;
};

inline bool in_bounds(const Field& field, const FieldValue& value) {
  const bool has_least = field.least.index() != 0, has_most = field.most.index() != 0;
  return (!has_least || value >= field.least) && (!has_most || value <= field.most);
}

// A contradiction between keys: at which of them, and why ("is less than t_low").
struct SchemaProblem {
  std::string_view key;
  std::string why;
};

template <class T>
struct FieldType {  // of a member of type T
  using Value = std::conditional_t<std::is_integral_v<T> || std::is_enum_v<T>, std::int64_t, T>;
  static constexpr FieldKind kKind = std::is_enum_v<T> ? FieldKind::kChoice : FieldKind::kInteger;
};
template <>
struct FieldType<bool> {
  using Value = bool;
  static constexpr FieldKind kKind = FieldKind::kFlag;
};
template <>
struct FieldType<double> {
  using Value = double;
  static constexpr FieldKind kKind = FieldKind::kReal;
};
template <>
struct FieldType<Duration> {
  using Value = Duration;
  static constexpr FieldKind kKind = FieldKind::kDuration;
};
template <>
struct FieldType<Rate> {
  using Value = Rate;
  static constexpr FieldKind kKind = FieldKind::kRate;
};
template <>
struct FieldType<Bytes> {
  using Value = Bytes;
  static constexpr FieldKind kKind = FieldKind::kBytes;
};
template <class T>
struct FieldType<std::optional<T>> : FieldType<T> {};

// A Field of the struct P while it is written down: its bounds have the member's type.
template <class P, class T>
struct FieldOf {
  using Value = typename FieldType<T>::Value;
  Field field;

  constexpr FieldOf within(Value least, Value most) const {
    return with(FieldValue(least), FieldValue(most), field.word, field.word_value);
  }
  constexpr FieldOf at_least(Value least) const {
    return with(FieldValue(least), field.most, field.word, field.word_value);
  }
  constexpr FieldOf at_most(Value most) const {
    return with(field.least, FieldValue(most), field.word, field.word_value);
  }
  constexpr FieldOf positive() const {  // of quantities: more than 0
    if constexpr (std::is_same_v<Value, Duration>) return at_least(1_ps);
    if constexpr (std::is_same_v<Value, Bytes>) return at_least(1_B);
    if constexpr (std::is_same_v<Value, Rate>) return at_least(1_bps);
  }
  // `word` stands for this value, or for the empty optional, in place of a number.
  constexpr FieldOf or_word(std::string_view word, T value = T{}) const {
    return with(field.least, field.most, word, value_of(value));
  }
  // A copy: in constant expressions some compilers cannot assign another alternative to a variant.
  constexpr FieldOf with(FieldValue least, FieldValue most, std::string_view word,
                         FieldValue word_value) const {
    return {{field.key, field.text, field.kind, least, most, word, word_value, field.names, field.get,
             field.set}};
  }

  static constexpr FieldValue value_of(const T& member) {
    if constexpr (requires { member.has_value(); })
      return member ? FieldValue(static_cast<Value>(*member)) : FieldValue();
    else
      return FieldValue(static_cast<Value>(member));
  }
};

template <class M>
struct MemberOf;
template <class P, class T>
struct MemberOf<T P::*> {
  using Struct = P;
  using Type = T;
};

template <auto kMember>
constexpr auto field(std::string_view key, std::string_view text) {
  using P = typename MemberOf<decltype(kMember)>::Struct;
  using T = typename MemberOf<decltype(kMember)>::Type;
  FieldOf<P, T> made;
  made.field.key = key;
  made.field.text = text;
  made.field.kind = FieldType<T>::kKind;
  made.field.get = [](const void* params) {
    return FieldOf<P, T>::value_of(static_cast<const P*>(params)->*kMember);
  };
  made.field.set = [](void* params, const FieldValue& value) {
    T& member = static_cast<P*>(params)->*kMember;
    if (std::holds_alternative<std::monostate>(value))
      member = T{};
    else
      member = static_cast<T>(std::get<typename FieldType<T>::Value>(value));
  };
  return made;
}

// A key that names a value of an enumeration, or of a flag: names[0] is its 0 or false.
template <auto kMember>
constexpr auto choice(std::string_view key, std::span<const std::string_view> names, std::string_view text) {
  using P = typename MemberOf<decltype(kMember)>::Struct;
  using T = typename MemberOf<decltype(kMember)>::Type;
  static_assert(std::is_enum_v<T> || std::is_same_v<T, bool>);
  auto made = field<kMember>(key, text);
  made.field.kind = FieldKind::kChoice;
  made.field.names = names;
  made.field.get = [](const void* params) {
    return FieldValue(static_cast<std::int64_t>(static_cast<const P*>(params)->*kMember));
  };
  made.field.set = [](void* params, const FieldValue& value) {
    static_cast<P*>(params)->*kMember = static_cast<T>(std::get<std::int64_t>(value));
  };
  return made;
}

// A key that lists names: those of the bits that are set in an integer member, the lowest first.
template <auto kMember>
constexpr auto set_of(std::string_view key, std::span<const std::string_view> names, std::string_view text) {
  static_assert(std::is_unsigned_v<typename MemberOf<decltype(kMember)>::Type>);
  auto made = field<kMember>(key, text);
  made.field.kind = FieldKind::kSet;
  made.field.names = names;
  return made;
}

// A key that lists traffic classes, 0 to 7: a bit of each in an integer member.
template <auto kMember>
constexpr auto classes(std::string_view key, std::string_view text) {
  static_assert(std::is_unsigned_v<typename MemberOf<decltype(kMember)>::Type>);
  auto made = field<kMember>(key, text);
  made.field.kind = FieldKind::kClasses;
  return made;
}

template <class P, std::size_t N>
struct FieldList {
  std::array<Field, N> all;
};

template <class P, class... T>
constexpr FieldList<P, sizeof...(T)> fields(const FieldOf<P, T>&... each) {
  return {{each.field...}};
}

// Those of a list, then `more`.
template <class P, std::size_t N, class... T>
constexpr FieldList<P, N + sizeof...(T)> fields(const FieldList<P, N>& list, const FieldOf<P, T>&... more) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return FieldList<P, N + sizeof...(T)>{{list.all[I]..., more.field...}};
  }
  (std::make_index_sequence<N>());
}

// Fields that belong to P, whatever their number.
template <class P>
struct Schema {
  template <std::size_t N>
  constexpr Schema(const FieldList<P, N>& list) : fields(list.all) {}  // NOLINT: a list is a schema
  std::span<const Field> fields;
};

}  // namespace rocelab
