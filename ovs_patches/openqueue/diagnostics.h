// Places in a program's files, and what is to say about them.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "ovs_patches/openqueue/compile.h"

namespace rocelab::oq {

inline constexpr std::uint32_t kProgramFile = 0, kLibraryFile = 1;

struct Place {
  std::uint32_t file = 0;  // of Diagnostics::files
  std::uint32_t line = 1, column = 1;
  friend bool operator==(const Place&, const Place&) = default;
  friend auto operator<=>(const Place&, const Place&) = default;
};

// What bison hands on: where a symbol begins.
struct Span {
  Place begin;
};

// Thrown by a stage for the part of the program that it is at; the stage goes on with the next part.
struct Complaint {
  Place place;
  std::string text;
  std::vector<std::pair<Place, std::string>> notes;
};
[[noreturn]] void complain(Place place, std::string text);
[[noreturn]] void complain(Place place, std::string text, Place noted, std::string note);

class Diagnostics {
 public:
  static constexpr std::size_t kMostErrors = 20, kMostWarnings = 20;

  // Name and text; the number of the file in places.
  std::uint32_t add_file(std::string name, const std::string& text);
  const std::string& file_name(std::uint32_t file) const { return files_[file].name; }

  // One place has one error: a block that is expanded for each port says it once.
  void error(const Complaint& complaint) { add(complaint, false); }
  void warn(Place place, std::string text) { add({place, std::move(text), {}}, true); }
  bool failed() const { return errors_ > 0; }
  bool full() const { return errors_ >= kMostErrors; }

  // In the order of files and places.
  std::vector<PolicyDiagnostic> take();

 private:
  struct File {
    std::string name;
    std::vector<std::string> lines;
  };
  struct Entry {
    Complaint complaint;
    bool warning = false;
  };
  void add(Complaint complaint, bool warning);

  std::vector<File> files_;
  std::vector<Entry> entries_;
  std::size_t errors_ = 0, warnings_ = 0;
};

// ", did you mean NAME?", or nothing.
std::string did_you_mean(const std::string& name, const std::vector<std::string>& known);

}  // namespace rocelab::oq
