#include "irn_provider/live/runtime_text.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace rocelab {
namespace {

int of_the_program() { return 1; }

TEST(RuntimeTextTest, KnowsTheLoaderAndTheCLibraryAndNotTheProgram) {
  const RuntimeText text;
  void* const c_library = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);  // not a sanitizer's interceptor
  ASSERT_NE(c_library, nullptr);
  const auto in_c_library = reinterpret_cast<std::uintptr_t>(dlsym(c_library, "qsort"));
  EXPECT_TRUE(text.in_c_library(in_c_library));
  EXPECT_FALSE(text.has(in_c_library));
  EXPECT_FALSE(text.in_c_library(reinterpret_cast<std::uintptr_t>(&of_the_program)));
  EXPECT_TRUE(text.has(reinterpret_cast<std::uintptr_t>(dlsym(RTLD_DEFAULT, "_dl_allocate_tls"))));
  EXPECT_FALSE(text.has(reinterpret_cast<std::uintptr_t>(&of_the_program)));
  int on_the_stack = 0;
  EXPECT_FALSE(text.has(reinterpret_cast<std::uintptr_t>(&on_the_stack)));
}

}  // namespace
}  // namespace rocelab
