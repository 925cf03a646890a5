// Where the code of the loader, of the preloaded library and of the C library lies: no program's loop on
// memory runs there, and a thread that is in there may hold a lock that another one needs.
#pragma once

#include <cstdint>
#include <vector>

namespace rocelab {

class RuntimeText {
 public:
  RuntimeText();  // as things are loaded now
  // Both are safe in a signal handler.
  bool has(std::uintptr_t address) const { return in(ranges_, address); }
  bool in_c_library(std::uintptr_t address) const { return in(c_library_, address); }

 private:
  struct Range {
    std::uintptr_t begin, end;
  };
  static bool in(const std::vector<Range>& ranges, std::uintptr_t address) {
    for (const Range& range : ranges)
      if (address >= range.begin && address < range.end) return true;
    return false;
  }
  std::vector<Range> ranges_, c_library_;
};

}  // namespace rocelab
