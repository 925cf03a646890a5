// Scopes: what names mean in one instance of a block or loop.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ovs_patches/openqueue/ast.h"
#include "ovs_patches/openqueue/model.h"

namespace rocelab::oq {

struct Constant {
  Dim dim = Dim::kNumber;
  Rational number;
};

// Queues, buffers or ports under one name; one without indices has an element of no index.
struct Array {
  using Index = std::vector<std::int64_t>;
  ObjectKind kind{};
  Place place;
  std::map<Index, std::uint32_t> elements;
  std::size_t dimensions() const { return elements.empty() ? 0 : elements.begin()->first.size(); }
};

// "q[0][3]"
std::string indexed(const std::string& name, const Array::Index& index);

struct Scope;

struct Named {
  enum class Kind : std::uint8_t { kConst, kDefinition, kTurn, kState, kArray, kBlock };
  Kind kind{};
  Place place;
  const Item* item = nullptr;     // kConst, kDefinition, kTurn, kState
  Scope* scope = nullptr;         // that it was declared in
  std::optional<Constant> value;  // kConst, once evaluated
  bool evaluating = false;
  bool used = false;
  Array array;
  std::uint8_t slot = 0;          // kState
  std::vector<Scope*> instances;  // kBlock
};

struct Scope {
  Scope* parent = nullptr;
  bool library = false;                 // standard.oq: its names may be declared again
  bool loop = false;                    // objects declared in it belong to the block around it
  std::optional<std::uint16_t> egress;  // of a block on every port
  std::string prefix;                   // the same: "p[3].", before the names of its objects
  std::map<std::string, Named> names;

  Named* find(const std::string& name) {
    for (Scope* scope = this; scope != nullptr; scope = scope->parent)
      if (const auto at = scope->names.find(name); at != scope->names.end()) return &at->second;
    return nullptr;
  }
  std::optional<std::uint16_t> egress_port() const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->parent)
      if (scope->egress) return scope->egress;
    return std::nullopt;
  }
  std::vector<std::string> known() const {
    std::vector<std::string> all;
    for (const Scope* scope = this; scope != nullptr; scope = scope->parent)
      for (const auto& [name, named] : scope->names) all.push_back(name);
    return all;
  }
};

}  // namespace rocelab::oq
