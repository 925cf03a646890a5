#include "emu/runner/text_file.h"

#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

#include "emu/runner/scenario.h"

namespace rocelab {
namespace {

template <class N>
bool parse_all(std::string_view word, N& value) {
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, value);
  return error == std::errc() && stop == end;
}

}  // namespace

std::string read_text(const std::filesystem::path& file) {
  if (std::filesystem::is_directory(file)) throw ScenarioError(file.string() + ": is a folder, not a file");
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  if (in) text << in.rdbuf();
  if (!in || in.bad()) throw ScenarioError(file.string() + ": cannot be read; is the path right?");
  return text.str();
}

TextLines::TextLines(std::string_view text, std::string name, std::string_view more)
    : rest_(text), name_(std::move(name)), separators_(" \t\r" + std::string(more)) {}

bool TextLines::next() {
  while (!rest_.empty()) {
    ++line_;
    const std::size_t end = rest_.find('\n');
    std::string_view line = rest_.substr(0, end);
    rest_ = end == std::string_view::npos ? std::string_view{} : rest_.substr(end + 1);
    line = line.substr(0, line.find('#'));
    words_.clear();
    for (std::size_t at = line.find_first_not_of(separators_); at != std::string_view::npos;) {
      const std::size_t stop = std::min(line.find_first_of(separators_, at), line.size());
      words_.emplace_back(line.substr(at, stop - at));
      at = line.find_first_not_of(separators_, stop);
    }
    if (!words_.empty()) return true;
  }
  words_.clear();
  return false;
}

void TextLines::fail(const std::string& why) const { fail_at(line_, why); }

void TextLines::fail_at(std::size_t line, const std::string& why) const {
  throw ScenarioError(name_ + ":" + std::to_string(line) + ": " + why);
}

std::int64_t TextLines::integer(std::size_t word, const char* what) const {
  std::int64_t value = 0;
  if (!parse_all(words_[word], value))
    fail(std::string(what) + " must be a whole number, not \"" + words_[word] + "\"");
  return value;
}

double TextLines::real(std::size_t word, const char* what) const {
  double value = 0;
  if (!parse_all(words_[word], value) || !std::isfinite(value))
    fail(std::string(what) + " must be a number, not \"" + words_[word] + "\"");
  return value;
}

double TextLines::percent(std::size_t word, const char* what) const {
  const double number = real(word, what);
  const std::string& text = words_[word];  // of which the decimal point is moved
  const std::size_t e = std::min(text.find_first_of("eE"), text.size());
  int exponent = 0;
  double exact = 0;
  const bool plain = e == text.size() || parse_all(std::string_view(text).substr(e + 1), exponent);
  return plain && parse_all(text.substr(0, e) + "e" + std::to_string(exponent + 2), exact) ? exact
                                                                                           : 100 * number;
}

std::int64_t TextLines::seconds_to_ps(std::size_t word, const char* what) const {
  const std::string& text = words_[word];
  const std::size_t point = std::min(text.find('.'), text.size());
  std::string digits = point < text.size() ? text.substr(point + 1) : "";
  std::int64_t whole = 0, fraction = 0;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 1'000'000'000'000 - 1;
  bool good = digits.size() <= 12 && digits.find_first_not_of("0123456789") == std::string::npos &&
              parse_all(std::string_view(text).substr(0, point), whole) && whole >= 0 && whole <= kMost;
  digits.resize(12, '0');
  good = good && parse_all(digits, fraction);
  if (!good) fail(std::string(what) + " must be seconds with at most 12 decimals, not \"" + text + "\"");
  return whole * 1'000'000'000'000 + fraction;
}

}  // namespace rocelab
