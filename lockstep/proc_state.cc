#include "lockstep/proc_state.h"

#include <cstddef>
#include <cstdio>
#include <cstring>

namespace rocelab::lockstep {

char proc_state(const char* path) {
  std::FILE* file = std::fopen(path, "r");
  if (file == nullptr) return 'X';
  char text[512];
  const std::size_t n = std::fread(text, 1, sizeof text - 1, file);
  std::fclose(file);
  text[n] = 0;
  // The name before the letter may hold any character, so look behind the last ')'.
  const char* end = std::strrchr(text, ')');
  return end != nullptr && end[1] != 0 && end[2] != 0 ? end[2] : 'X';
}

}  // namespace rocelab::lockstep
