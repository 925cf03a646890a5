// Text files of other simulators: words of numbered lines, and complaints that name file and line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace rocelab {

// Throws ScenarioError.
std::string read_text(const std::filesystem::path& file);

class TextLines {
 public:
  // Words are apart by blanks, and by any of `more`.
  TextLines(std::string_view text, std::string name, std::string_view more = "");
  // The next line that has words, up to a '#'; false at the end.
  bool next();
  const std::vector<std::string>& words() const { return words_; }
  std::size_t line() const { return line_; }  // from 1
  // Throw ScenarioError with "name:line: ...".
  [[noreturn]] void fail(const std::string& why) const;
  [[noreturn]] void fail_at(std::size_t line, const std::string& why) const;
  std::int64_t integer(std::size_t word, const char* what) const;
  double real(std::size_t word, const char* what) const;
  // A hundred times the number, to the nearest double: of "0.07" what "7" is.
  double percent(std::size_t word, const char* what) const;
  // Seconds as a decimal number, exact to a picosecond.
  std::int64_t seconds_to_ps(std::size_t word, const char* what) const;

 private:
  std::string_view rest_;
  std::string name_, separators_;
  std::size_t line_ = 0;
  std::vector<std::string> words_;
};

}  // namespace rocelab
