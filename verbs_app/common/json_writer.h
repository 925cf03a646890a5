// JsonWriter: writes a JSON document member by member, indented, in the order of the calls. Text is escaped;
// numbers are integers or have the digits asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rocelab::app {

class JsonWriter {
 public:
  // Inside an object each value takes its key first; inside an array values follow one another.
  JsonWriter& key(std::string_view name);
  void begin_object();
  void end_object();
  void begin_array();
  void end_array();
  void value(std::string_view text);
  void value(const char* text) { value(std::string_view(text)); }
  void value(bool b);
  void value(std::int64_t n);
  void value(std::uint64_t n);
  void value(int n) { value(std::int64_t{n}); }
  void value(std::uint32_t n) { value(std::uint64_t{n}); }
  void value(double x, int digits);
  void null();
  template <class T>
  void value(const std::optional<T>& v) {
    if (v) {
      value(*v);
    } else {
      null();
    }
  }
  template <class T>
  void member(std::string_view name, const T& v) {
    key(name);
    value(v);
  }

  const std::string& text() const { return text_; }

 private:
  void separate();
  void open(char bracket);
  void close(char bracket);
  void raw(std::string_view text);
  void quoted(std::string_view text);

  std::string text_;
  std::vector<bool> has_members_;  // one per open bracket
  bool after_key_ = false;
};

// Replaces the file as a whole: a reader never sees half a document. False: errno says why.
bool write_file(const std::string& path, std::string_view text);

}  // namespace rocelab::app
