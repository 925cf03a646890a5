#include "ovs_patches/openqueue/reader.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <set>

namespace rocelab {
namespace oq {
namespace {

using Token = Parser::token;
struct Reserved {
  const char* word;
  Parser::token_kind_type token;
};
// In the order of grammar.yy. editors/ knows the same words; a test compares them.
constexpr Reserved kReserved[] = {
    Reserved{"openqueue", Token::OPENQUEUE},
    Reserved{"use", Token::USE},
    Reserved{"const", Token::CONST},
    Reserved{"turn", Token::TURN},
    Reserved{"enter", Token::ENTER},
    Reserved{"serve", Token::SERVE},
    Reserved{"when", Token::WHEN},
    Reserved{"after", Token::AFTER},
    Reserved{"empty", Token::EMPTY},
    Reserved{"select", Token::SELECT},
    Reserved{"else", Token::ELSE},
    Reserved{"set", Token::SET},
    Reserved{"by", Token::BY},
    Reserved{"state", Token::STATE},
    Reserved{"on", Token::ON},
    Reserved{"every", Token::EVERY},
    Reserved{"switch", Token::SWITCH},
    Reserved{"as", Token::AS},
    Reserved{"for", Token::FOR},
    Reserved{"in", Token::IN},
    Reserved{"strict", Token::STRICT},
    Reserved{"then", Token::THEN},
    Reserved{"inline", Token::INLINE},
    Reserved{"drop", Token::DROP},
    Reserved{"mark", Token::MARK},
    Reserved{"notify", Token::NOTIFY},
    Reserved{"release", Token::RELEASE},
    Reserved{"modify", Token::MODIFY},
    Reserved{"upstream", Token::UPSTREAM},
    Reserved{"and", Token::AND},
    Reserved{"or", Token::OR},
    Reserved{"not", Token::NOT},
    Reserved{"true", Token::TRUE},
    Reserved{"false", Token::FALSE},
    Reserved{"chance", Token::CHANCE},
    Reserved{"min", Token::MIN},
    Reserved{"max", Token::MAX},
    Reserved{"wire", Token::WIRE},
    Reserved{"Queue", Token::MAKE_QUEUE},
    Reserved{"Buffer", Token::MAKE_BUFFER},
    Reserved{"Port", Token::MAKE_PORT},
    Reserved{"ingress", Token::INGRESS},
    Reserved{"egress", Token::EGRESS},
    Reserved{"queue", Token::QUEUE},
    Reserved{"buffer", Token::BUFFER},
    Reserved{"port", Token::PORT},
};
constexpr Reserved kSigns[] = {
    Reserved{"(", Token::LPAREN},      Reserved{")", Token::RPAREN},     Reserved{"[", Token::LBRACKET},
    Reserved{"]", Token::RBRACKET},    Reserved{"{", Token::LBRACE},     Reserved{"}", Token::RBRACE},
    Reserved{";", Token::SEMICOLON},   Reserved{":", Token::COLON},      Reserved{",", Token::COMMA},
    Reserved{".", Token::DOT},         Reserved{"..", Token::RANGE},     Reserved{"->", Token::ARROW},
    Reserved{"=", Token::ASSIGN},      Reserved{":=", Token::BECOMES},   Reserved{"<", Token::LESS},
    Reserved{"<=", Token::LESS_EQUAL}, Reserved{">", Token::GREATER},    Reserved{">=", Token::GREATER_EQUAL},
    Reserved{"==", Token::EQUAL},      Reserved{"!=", Token::NOT_EQUAL}, Reserved{"+", Token::PLUS},
    Reserved{"-", Token::MINUS},       Reserved{"*", Token::TIMES},      Reserved{"/", Token::DIVIDE},
    Reserved{"%", Token::MODULO},
};

const Reserved* find(const auto& table, const std::string& word) {
  for (const Reserved& one : table)
    if (word == one.word) return &one;
  return nullptr;
}

// Behind a dot a word is a field's name; only an action may follow one, too.
bool is_action(Parser::token_kind_type token) {
  return token == Token::DROP || token == Token::MARK || token == Token::NOTIFY || token == Token::RELEASE ||
         token == Token::MODIFY;
}

std::string words_of(Parser::symbol_kind_type kind) {
  const std::string name = Parser::symbol_name(kind);
  const bool phrase = name.find(' ') != std::string::npos;
  return phrase ? name : "'" + name + "'";
}

// Throws past the parser's own recovery where a tree would be too deep to walk.
Expr bounded(Expr made) {
  for (const Expr& kid : made.kids)
    made.depth = std::max(made.depth, static_cast<std::uint16_t>(kid.depth + 1));
  if (made.depth > kDeepestExpression)
    throw Parser::syntax_error(Span{made.place}, "this expression is nested more than " +
                                                     std::to_string(kDeepestExpression) +
                                                     " deep: name parts of it by const, or shorten it");
  return made;
}

}  // namespace

Parser::symbol_type Reader::next() {
  {
    try {
      Word word = lexer_.next();
      const Span span{word.place};
      last_ = word.kind == Word::Kind::kEnd ? "the end of the text" : "'" + word.text + "'";
      switch (word.kind) {
        case Word::Kind::kEnd:
          return Parser::make_END(span);
        case Word::Kind::kString:
          last_ = "a string";
          return Parser::make_STRING(std::move(word.text), span);
        case Word::Kind::kNumber: {
          last_ = "a number";
          Expr number = leaf(Op::kNumber, span);
          number.dim = word.dim;
          number.number = word.number;
          number.unit = std::move(word.text);
          return Parser::make_NUMBER(std::move(number), span);
        }
        case Word::Kind::kSign:
          return {find(kSigns, word.text)->token, span};
        case Word::Kind::kName:
          break;
      }
      const Reserved* reserved = find(kReserved, word.text);
      if (reserved == nullptr || (word.after_dot && !is_action(reserved->token)))
        return Parser::make_NAME(std::move(word.text), span);
      return {reserved->token, span};
    } catch (const Complaint& complaint) {
      diagnostics_.error(complaint);
      return Parser::make_YYerror(Span{complaint.place});  // the parser recovers, and says nothing
    }
  }
}

void Reader::complain_about(const Parser::context& context) {
  using Kind = Parser::symbol_kind;
  std::array<Parser::symbol_kind_type, Parser::YYNTOKENS> expected{};
  const int count = context.expected_tokens(expected.data(), Parser::YYNTOKENS);
  std::set<Parser::symbol_kind_type> left(expected.begin(), expected.begin() + count);
  std::vector<std::string> names;
  // Where one of these may stand, all may: they are named by what they begin.
  const auto group = [&](Parser::symbol_kind_type sign, const char* name,
                         std::initializer_list<Parser::symbol_kind_type> all) {
    if (!left.contains(sign)) return;
    for (const Parser::symbol_kind_type one : all) left.erase(one);
    names.emplace_back(name);
  };
  group(Kind::S_CONST, "a declaration",
        {Kind::S_CONST, Kind::S_TURN, Kind::S_SELECT, Kind::S_SET, Kind::S_STATE, Kind::S_ON, Kind::S_FOR,
         Kind::S_MAKE_QUEUE, Kind::S_MAKE_BUFFER, Kind::S_MAKE_PORT, Kind::S_NAME, Kind::S_QUEUE,
         Kind::S_BUFFER, Kind::S_PORT, Kind::S_OPENQUEUE, Kind::S_USE});
  group(
      Kind::S_NUMBER, "an expression",
      {Kind::S_NUMBER, Kind::S_TRUE, Kind::S_FALSE, Kind::S_NAME, Kind::S_QUEUE, Kind::S_BUFFER, Kind::S_PORT,
       Kind::S_LPAREN, Kind::S_MINUS, Kind::S_NOT, Kind::S_WIRE, Kind::S_CHANCE, Kind::S_MIN, Kind::S_MAX});
  group(Kind::S_QUEUE, "a name", {Kind::S_NAME, Kind::S_QUEUE, Kind::S_BUFFER, Kind::S_PORT});
  group(Kind::S_MODIFY, "an action",
        {Kind::S_DROP, Kind::S_MARK, Kind::S_NOTIFY, Kind::S_RELEASE, Kind::S_MODIFY});
  group(Kind::S_PLUS, "an operator",
        {Kind::S_PLUS, Kind::S_MINUS, Kind::S_TIMES, Kind::S_DIVIDE, Kind::S_MODULO, Kind::S_LESS,
         Kind::S_LESS_EQUAL, Kind::S_GREATER, Kind::S_GREATER_EQUAL, Kind::S_EQUAL, Kind::S_NOT_EQUAL,
         Kind::S_AND, Kind::S_OR, Kind::S_DOT, Kind::S_LBRACKET, Kind::S_LPAREN});
  for (const Parser::symbol_kind_type one : left) names.push_back(words_of(one));
  std::string what = "unexpected " + last_;
  for (std::size_t i = 0; i < names.size(); ++i)
    what += (i == 0 ? ", expected " : i + 1 < names.size() ? ", " : " or ") + names[i];
  error(context.location().begin, what);
}

void Reader::check_version(const Expr& number) {
  if (!(number.number == Rational{1}) || !number.unit.empty())
    error(number.place, "this compiler reads version 1 of the language: write openqueue 1;");
}

Boxed<Item> item_at(Item::Kind kind, const Span& span) {
  Item item;
  item.kind = kind;
  item.place = span.begin;
  return boxed(std::move(item));
}

Boxed<Value> value_of(Expr expr, const Span& span) {
  Value value;
  value.kind = Value::Kind::kExpr;
  value.place = span.begin;
  value.expr = std::move(expr);
  return boxed(std::move(value));
}

Boxed<Value> cases_of(const Span& span) {
  Value value;
  value.kind = Value::Kind::kCases;
  value.place = span.begin;
  return boxed(std::move(value));
}

Expr leaf(Op op, const Span& span) {
  Expr made;
  made.op = op;
  made.place = span.begin;
  return made;
}

Expr path_expr(Path path, const Span& span) {
  Expr made = leaf(Op::kPath, span);
  for (const PathPart& part : path)
    for (const Expr& bound : part.bounds)
      made.depth = std::max(made.depth, static_cast<std::uint16_t>(bound.depth + 1));
  made.path = std::move(path);
  return bounded(std::move(made));
}

Expr unary(Op op, const Span& span, Expr of) {
  Expr made = leaf(op, span);
  made.kids.push_back(std::move(of));
  return bounded(std::move(made));
}

Expr binary(Op op, const Span& span, Expr left, Expr right) {
  Expr made = leaf(op, span);
  made.kids.reserve(2);
  made.kids.push_back(std::move(left));
  made.kids.push_back(std::move(right));
  return bounded(std::move(made));
}

PathPart named(std::string name, const Span& span) {
  return {PathPart::Kind::kName, span.begin, std::move(name), {}};
}

PathPart call_at(const Span& span) { return {PathPart::Kind::kCall, span.begin, "", {}}; }

Arm arm_to(const Span& span, std::optional<Expr> when, Path target) {
  return {span.begin, std::move(when), {}, std::move(target), std::nullopt};
}

Arm arm_of(const Span& span, std::vector<Expr> numbers, Expr value) {
  return {span.begin, std::nullopt, std::move(numbers), {}, std::move(value)};
}

void Parser::error(const Span& span, const std::string& what) { reader.error(span.begin, what); }
void Parser::report_syntax_error(const context& at) const { reader.complain_about(at); }

Text parse(std::uint32_t file, const std::string& source, Diagnostics& diagnostics) {
  Place place{file, 1, 1};
  if (std::string problem = problem_of_text(source, place); !problem.empty()) {
    diagnostics.error({place, std::move(problem), {}});
    return {};
  }
  Reader reader(file, source, diagnostics);
  Parser parser(reader);
  parser.parse();
  return std::move(reader.text);
}

}  // namespace oq

std::vector<std::string> used_files(const std::string& text) {
  std::vector<std::string> names;
  oq::Lexer lexer(0, text);
  for (bool used = false;;) {
    try {
      const oq::Word word = lexer.next();
      if (word.kind == oq::Word::Kind::kEnd) return names;
      if (used && word.kind == oq::Word::Kind::kString && word.text != "standard.oq" &&
          std::find(names.begin(), names.end(), word.text) == names.end())
        names.push_back(word.text);
      used = word.kind == oq::Word::Kind::kName && word.text == "use" && !word.after_dot;
    } catch (const oq::Complaint&) {  // the compiler says it
      used = false;
    }
  }
}

}  // namespace rocelab
