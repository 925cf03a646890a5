#include "ovs_patches/openqueue/lexer.h"

#include <optional>
#include <span>
#include <vector>

#include "base/quantity.h"

namespace rocelab::oq {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

struct Known {
  std::string_view name;
  Dim dim;
  std::int64_t scale;
};

std::vector<Known> known_units() {
  std::vector<Known> all{{"packets", Dim::kPackets, 1}, {"packet", Dim::kPackets, 1}};
  const auto add = [&](std::span<const Unit> units, Dim dim) {
    for (const Unit& unit : units)
      if (is_letter(unit.name.front())) all.push_back({unit.name, dim, unit.factor});
  };
  add(size_units(), Dim::kBytes);
  add(duration_units(), Dim::kTime);
  add(rate_units(), Dim::kRate);
  return all;
}

std::optional<Known> find_unit(std::string_view name) {
  for (const Known& unit : known_units())
    if (name == unit.name) return unit;
  return std::nullopt;
}

// Bytes of the well-formed UTF-8 character that `text` begins with (Unicode, table 3-7); 0: none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  const std::size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  const unsigned least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (byte(1) < least || byte(1) > most) return 0;
  for (std::size_t i = 2; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  return length;
}

}  // namespace

Rational scale_of_unit(const std::string& unit) {
  if (unit == "%") return *Rational::of(1, 100);
  const std::optional<Known> known = find_unit(unit);
  return Rational{known ? known->scale : 1};
}

std::string problem_of_text(std::string_view text, Place& place) {
  place.line = place.column = 1;
  if (text.size() > kMostText)
    return "the text has " + std::to_string(text.size()) + " bytes, at most " + std::to_string(kMostText) +
           " are read";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text.substr(at));
    if (length == 0) return "this is no UTF-8 text";
    if (text[at] == '\n') {
      ++place.line;
      place.column = 1;
    } else {
      ++place.column;
    }
    at += length;
  }
  return {};
}

void Lexer::step() {
  if (at_ >= text_.size()) return;
  if (text_[at_] == '\n') {
    ++place_.line;
    place_.column = 1;
  } else if (!continues(text_[at_])) {
    ++place_.column;
  }
  ++at_;
}

void Lexer::skip_space() {
  for (;;) {
    if (is_space(peek()) && at_ < text_.size()) {
      step();
    } else if (peek() == '/' && peek(1) == '/') {
      while (at_ < text_.size() && peek() != '\n') step();
    } else if (peek() == '/' && peek(1) == '*') {
      const Place begin = place_;
      step();
      step();
      while (at_ < text_.size() && !(peek() == '*' && peek(1) == '/')) step();
      if (at_ >= text_.size()) complain(begin, "this comment has no end: write */");
      step();
      step();
    } else {
      return;
    }
  }
}

std::string Lexer::letters() {
  std::string name;
  while (at_ < text_.size() && (is_letter(peek()) || is_digit(peek()))) {
    name += peek();
    step();
  }
  return name;
}

// A unit stands at the number or behind spaces. "%" is one where it touches the number and no operand
// follows: elsewhere it is the remainder.
void Lexer::unit_of(Word& word) {
  const Place begin = place_;
  if (peek() == '%') {
    std::size_t ahead = 1;
    while (is_space(peek(ahead))) ++ahead;
    const char after = peek(ahead);
    if (is_letter(after) || is_digit(after) || after == '(') return;
    word.text = "%";
    step();
  } else {
    std::size_t ahead = 0;
    while (peek(ahead) == ' ') ++ahead;
    std::size_t end = ahead;
    while (is_letter(peek(end)) || is_digit(peek(end))) ++end;
    if (end == ahead) return;
    std::string name(text_.substr(at_ + ahead, end - ahead));
    if (peek(end) == '/' && peek(end + 1) == 's' && !is_letter(peek(end + 2)) && find_unit(name + "/s")) {
      name += "/s";
      end += 2;
    }
    const std::optional<Known> unit = find_unit(name);
    if (!unit) {
      if (ahead > 0) return;  // "in 0..7 {" and "5 and": the next word
      std::vector<std::string> known;
      for (const Known& one : known_units()) known.emplace_back(one.name);
      letters();
      complain(begin, name + " is no unit" + did_you_mean(name, known));
    }
    while (end-- > 0) step();
    word.text = unit->name;
    word.dim = unit->dim;
  }
  const std::optional<Rational> scaled = mul(word.number, scale_of_unit(word.text));
  if (!scaled) complain(word.place, "this number is too large");
  word.number = *scaled;
}

Word Lexer::number() {
  Word word{Word::Kind::kNumber, place_, "", Rational{}, Dim::kNumber, false};
  __int128 digits = 0, scale = 1;
  bool fits = true, fraction = false;
  while (is_digit(peek()) || (!fraction && peek() == '.' && is_digit(peek(1)))) {
    if (peek() == '.') {
      fraction = true;
    } else {
      digits = digits * 10 + (peek() - '0');
      if (fraction) scale *= 10;
      fits &= digits < (__int128{1} << 62) && scale < (__int128{1} << 62);
      if (!fits) digits = 0, scale = 1;
    }
    step();
  }
  const std::optional<Rational> value = fits ? Rational::of(digits, scale) : std::nullopt;
  if (!value) {
    letters();
    complain(word.place, "this number is too large");
  }
  word.number = *value;
  unit_of(word);
  return word;
}

void Lexer::nest(char sign, Place place) {
  if (sign == '(' || sign == '[' || sign == '{') {
    if (++depth_ > kDeepestNesting) {
      at_ = text_.size();
      complain(place, "brackets are nested more than " + std::to_string(kDeepestNesting) + " deep");
    }
  } else if ((sign == ')' || sign == ']' || sign == '}') && depth_ > 0) {
    --depth_;
  }
}

Word Lexer::next() {
  skip_space();
  Word word{Word::Kind::kEnd, place_, "", Rational{}, Dim::kNumber, after_dot_};
  after_dot_ = false;
  if (at_ >= text_.size()) return word;
  const char c = peek();
  if (is_letter(c)) {
    word.kind = Word::Kind::kName;
    word.text = letters();
    return word;
  }
  if (is_digit(c)) return number();
  if (c == '"') {
    word.kind = Word::Kind::kString;
    step();
    while (at_ < text_.size() && peek() != '"' && peek() != '\n') {
      word.text += peek();
      step();
    }
    if (peek() != '"') complain(word.place, "this string has no end: write \"");
    step();
    return word;
  }
  word.kind = Word::Kind::kSign;
  for (const char* sign : {":=", "<=", ">=", "==", "!=", "->", ".."}) {
    if (peek() == sign[0] && peek(1) == sign[1]) {
      word.text = sign;
      step();
      step();
      return word;
    }
  }
  const Place place = place_;
  step();
  while (at_ < text_.size() && continues(peek())) step();
  if (std::string_view("()[]{};:,.=<>+-*/%").find(c) == std::string_view::npos) {
    const bool visible = c > ' ' && c < 0x7f;
    complain(place, (visible ? std::string("'") + c + "'" : std::string("this character")) +
                        " is no part of the language");
  }
  word.text = c;
  after_dot_ = c == '.';
  nest(c, place);
  return word;
}

}  // namespace rocelab::oq
