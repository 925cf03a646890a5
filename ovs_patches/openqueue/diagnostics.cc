#include "ovs_patches/openqueue/diagnostics.h"

#include <algorithm>

#include "base/nearest.h"
#include "ovs_patches/openqueue/dimension.h"

namespace rocelab {

std::string to_text(const PolicyDiagnostic& diagnostic) {
  const auto place = [](const std::string& file, int line, int column) {
    return line == 0 ? file : file + ":" + std::to_string(line) + ":" + std::to_string(column);
  };
  std::string text = place(diagnostic.file, diagnostic.line, diagnostic.column) + ": " +
                     (diagnostic.warning ? "warning: " : "error: ") + diagnostic.text;
  if (diagnostic.line > 0 && !diagnostic.line_text.empty()) {
    text += "\n  " + diagnostic.line_text + "\n  ";
    int column = 1;
    for (const char c : diagnostic.line_text) {  // a tab stays one, so that the caret is below its character
      if (column == diagnostic.column) break;
      if ((static_cast<unsigned char>(c) & 0xc0) == 0x80) continue;
      text += c == '\t' ? '\t' : ' ';
      ++column;
    }
    text += "^";
  }
  for (const PolicyDiagnostic::Note& note : diagnostic.notes)
    text += "\n" + place(note.file, note.line, note.column) + ": " + note.text;
  return text;
}

namespace oq {

std::string words(Dim dim) {
  switch (dim) {
    case Dim::kAny:
    case Dim::kNumber:
      return "a number";
    case Dim::kBytes:
      return "bytes";
    case Dim::kPackets:
      return "packets";
    case Dim::kTime:
      return "a time";
    case Dim::kRate:
      return "a rate";
    case Dim::kFlow:
      return "a flow";
    case Dim::kBool:
      return "true or false";
  }
  return "";
}

void complain(Place place, std::string text) { throw Complaint{place, std::move(text), {}}; }
void complain(Place place, std::string text, Place noted, std::string note) {
  throw Complaint{place, std::move(text), {{noted, std::move(note)}}};
}

std::uint32_t Diagnostics::add_file(std::string name, const std::string& text) {
  File file{std::move(name), {}};
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::size_t length = end - begin;
    if (end < text.size() && length > 0 && text[end - 1] == '\r') --length;  // of CR LF, no other
    file.lines.push_back(text.substr(begin, length));
    begin = end + 1;
  }
  files_.push_back(std::move(file));
  return static_cast<std::uint32_t>(files_.size() - 1);
}

void Diagnostics::add(Complaint complaint, bool warning) {
  for (const Entry& entry : entries_)
    if (entry.complaint.place == complaint.place && entry.warning == warning) return;
  std::size_t& count = warning ? warnings_ : errors_;
  if (count >= (warning ? kMostWarnings : kMostErrors)) return;
  ++count;
  entries_.push_back({std::move(complaint), warning});
}

std::vector<PolicyDiagnostic> Diagnostics::take() {
  std::stable_sort(entries_.begin(), entries_.end(),
                   [](const Entry& a, const Entry& b) { return a.complaint.place < b.complaint.place; });
  std::vector<PolicyDiagnostic> all;
  for (const Entry& entry : entries_) {
    const Place place = entry.complaint.place;
    const File& file = files_[place.file];
    PolicyDiagnostic one{file.name,
                         static_cast<int>(place.line),
                         static_cast<int>(place.column),
                         entry.warning,
                         entry.complaint.text,
                         place.line >= 1 && place.line <= file.lines.size() ? file.lines[place.line - 1] : "",
                         {}};
    for (const auto& [at, text] : entry.complaint.notes)
      one.notes.push_back(
          {files_[at.file].name, static_cast<int>(at.line), static_cast<int>(at.column), text});
    all.push_back(std::move(one));
  }
  entries_.clear();
  return all;
}

std::string did_you_mean(const std::string& name, const std::vector<std::string>& known) {
  const std::string near = nearest(name, known);
  return near.empty() ? "" : ", did you mean " + near + "?";
}

}  // namespace oq
}  // namespace rocelab
