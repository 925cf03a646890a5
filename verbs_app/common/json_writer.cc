#include "verbs_app/common/json_writer.h"

#include <cstdio>

namespace rocelab::app {

void JsonWriter::separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (has_members_.empty()) return;
  text_ += has_members_.back() ? ",\n" : "\n";
  has_members_.back() = true;
  text_.append(2 * has_members_.size(), ' ');
}

void JsonWriter::raw(std::string_view text) {
  separate();
  text_ += text;
}

void JsonWriter::open(char bracket) {
  separate();
  text_ += bracket;
  has_members_.push_back(false);
}

void JsonWriter::close(char bracket) {
  const bool had = has_members_.back();
  has_members_.pop_back();
  if (had) {
    text_ += '\n';
    text_.append(2 * has_members_.size(), ' ');
  }
  text_ += bracket;
  if (has_members_.empty()) text_ += '\n';
}

void JsonWriter::quoted(std::string_view text) {
  text_ += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      text_ += '\\';
      text_ += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      text_ += escape;
    } else {
      text_ += c;
    }
  }
  text_ += '"';
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  quoted(name);
  text_ += ": ";
  after_key_ = true;
  return *this;
}

void JsonWriter::begin_object() { open('{'); }
void JsonWriter::end_object() { close('}'); }
void JsonWriter::begin_array() { open('['); }
void JsonWriter::end_array() { close(']'); }
void JsonWriter::value(std::string_view text) {
  separate();
  quoted(text);
}
void JsonWriter::value(bool b) { raw(b ? "true" : "false"); }
void JsonWriter::value(std::int64_t n) { raw(std::to_string(n)); }
void JsonWriter::value(std::uint64_t n) { raw(std::to_string(n)); }
void JsonWriter::null() { raw("null"); }
void JsonWriter::value(double x, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, x);
  raw(text);
}

bool write_file(const std::string& path, std::string_view text) {
  const std::string part = path + ".part";
  std::FILE* file = std::fopen(part.c_str(), "we");
  if (file == nullptr) return false;
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = std::fclose(file) == 0;
  return written && closed && std::rename(part.c_str(), path.c_str()) == 0;
}

}  // namespace rocelab::app
