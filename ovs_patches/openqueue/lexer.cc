#include "ovs_patches/openqueue/lexer.h"

#include <array>
#include <optional>
#include <vector>

namespace rocelab::oq {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

struct Unit {
  const char* name;
  Dim dim;
  std::int64_t scale;
};
constexpr std::int64_t kK = 1'000, kM = 1'000'000, kG = 1'000'000'000, kT = 1'000'000'000'000;
constexpr std::array kUnits = {
    Unit{"KB", Dim::kBytes, kK},       Unit{"B", Dim::kBytes, 1},         Unit{"MB", Dim::kBytes, kM},
    Unit{"GB", Dim::kBytes, kG},       Unit{"KiB", Dim::kBytes, 1 << 10}, Unit{"MiB", Dim::kBytes, 1 << 20},
    Unit{"GiB", Dim::kBytes, 1 << 30}, Unit{"packet", Dim::kPackets, 1},  Unit{"packets", Dim::kPackets, 1},
    Unit{"ps", Dim::kTime, 1},         Unit{"ns", Dim::kTime, kK},        Unit{"us", Dim::kTime, kM},
    Unit{"ms", Dim::kTime, kG},        Unit{"s", Dim::kTime, kT},         Unit{"bps", Dim::kRate, 1},
    Unit{"kbps", Dim::kRate, kK},      Unit{"Mbps", Dim::kRate, kM},      Unit{"Gbps", Dim::kRate, kG},
    Unit{"Tbps", Dim::kRate, kT},      Unit{"b/s", Dim::kRate, 1},        Unit{"kb/s", Dim::kRate, kK},
    Unit{"Mb/s", Dim::kRate, kM},      Unit{"Gb/s", Dim::kRate, kG},      Unit{"Tb/s", Dim::kRate, kT},
};

const Unit* find_unit(std::string_view name) {
  for (const Unit& unit : kUnits)
    if (name == unit.name) return &unit;
  return nullptr;
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
  const Unit* known = find_unit(unit);
  return Rational{known == nullptr ? 1 : known->scale};
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
    if (peek(end) == '/' && peek(end + 1) == 's' && !is_letter(peek(end + 2)) &&
        find_unit(name + "/s") != nullptr) {
      name += "/s";
      end += 2;
    }
    const Unit* unit = find_unit(name);
    if (unit == nullptr) {
      if (ahead > 0) return;  // "in 0..7 {" and "5 and": the next word
      std::vector<std::string> known;
      for (const Unit& one : kUnits) known.emplace_back(one.name);
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
