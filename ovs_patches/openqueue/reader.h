// Reader: what grammar.yy needs around it: words for the parser, and the making of nodes.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ovs_patches/openqueue/ast.h"
#include "ovs_patches/openqueue/lexer.h"
#include "ovs_patches/openqueue/parser.h"

namespace rocelab::oq {

class Reader {
 public:
  Reader(std::uint32_t file, std::string_view source, Diagnostics& diagnostics)
      : lexer_(file, source), diagnostics_(diagnostics) {}
  Parser::symbol_type next();
  void complain_about(const Parser::context& context);
  void error(Place place, std::string what) { diagnostics_.error({place, std::move(what), {}}); }
  void check_version(const Expr& number);

  Text text;

 private:
  Lexer lexer_;
  Diagnostics& diagnostics_;
  std::string last_;  // the last word, as messages quote it
};

// What is large is on the heap while the parser's stack holds it.
template <class T>
Boxed<T> boxed(T made) {
  return std::make_unique<T>(std::move(made));
}
template <class T>
T unboxed(Boxed<T> box) {
  return std::move(*box);
}
Boxed<Item> item_at(Item::Kind kind, const Span& span);
Boxed<Value> value_of(Expr expr, const Span& span);
Boxed<Value> cases_of(const Span& span);
Expr leaf(Op op, const Span& span);
Expr path_expr(Path path, const Span& span);
Expr unary(Op op, const Span& span, Expr of);
Expr binary(Op op, const Span& span, Expr left, Expr right);
PathPart named(std::string name, const Span& span);
PathPart call_at(const Span& span);
Arm arm_to(const Span& span, std::optional<Expr> when, Path target);
Arm arm_of(const Span& span, std::vector<Expr> numbers, Expr value);

// Parses one file; errors go to `diagnostics`.
Text parse(std::uint32_t file, const std::string& source, Diagnostics& diagnostics);

}  // namespace rocelab::oq
