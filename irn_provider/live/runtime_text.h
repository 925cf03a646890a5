// Where the code of the loader and of the preloaded library lies: no program's loop on memory runs there, and
// a thread that is in there may hold a lock that another one needs.
#pragma once

#include <cstdint>
#include <vector>

namespace rocelab {

class RuntimeText {
 public:
  RuntimeText();                            // as things are loaded now
  bool has(std::uintptr_t address) const {  // safe in a signal handler
    for (const Range& range : ranges_)
      if (address >= range.begin && address < range.end) return true;
    return false;
  }

 private:
  struct Range {
    std::uintptr_t begin, end;
  };
  std::vector<Range> ranges_;
};

}  // namespace rocelab
