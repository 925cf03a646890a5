// Lexer: the words of a program's text. Reserved words, names, numbers with their units, strings and signs;
// it refuses text that is not UTF-8, too long, or nested too deeply.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "ovs_patches/openqueue/diagnostics.h"
#include "ovs_patches/openqueue/dimension.h"
#include "ovs_patches/openqueue/rational.h"

namespace rocelab::oq {

inline constexpr std::size_t kMostText = 64 * 1024;
inline constexpr int kDeepestNesting = 64;  // of brackets
inline constexpr int kDeepestExpression = 200;

struct Word {
  enum class Kind : std::uint8_t { kEnd, kName, kNumber, kString, kSign };  // a reserved word is a kName
  Kind kind{};
  Place place;
  std::string text;  // kNumber: its unit
  Rational number;   // in the unit's base: bytes, picoseconds, bits per second
  Dim dim = Dim::kNumber;
  bool after_dot = false;  // a name there is a field's, whatever it is elsewhere
};

class Lexer {
 public:
  Lexer(std::uint32_t file, std::string_view text) : text_(text), place_{file, 1, 1} {}
  // Throws Complaint; the next call goes on behind what it was about. After the text: kEnd for ever.
  Word next();

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  void step();  // one byte
  void skip_space();
  Word number();
  void unit_of(Word& word);
  std::string letters();
  void nest(char sign, Place place);

  std::string_view text_;
  std::size_t at_ = 0;
  Place place_;
  int depth_ = 0;
  bool after_dot_ = false;
};

// What the unit multiplies a number with; 1 for none.
Rational scale_of_unit(const std::string& unit);

// Empty, or what is wrong with the text as a whole, and where: longer than kMostText, or no UTF-8.
std::string problem_of_text(std::string_view text, Place& place);

}  // namespace rocelab::oq
