#include "irn_provider/live/runtime_text.h"

#include <link.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace rocelab {
namespace {

constexpr std::array<std::string_view, 2> kRuntime = {"ld-", "librocelab_"};
constexpr std::string_view kCLibrary = "libc.so";

std::string_view name_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // all of it, when there is no slash
}

}  // namespace

RuntimeText::RuntimeText() {
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* self) {
        const std::string_view name = name_of(object->dlpi_name);
        const bool runtime = std::ranges::any_of(
            kRuntime, [name](std::string_view prefix) { return name.starts_with(prefix); });
        if (!runtime && !name.starts_with(kCLibrary)) return 0;
        auto& text = *static_cast<RuntimeText*>(self);
        for (int i = 0; i < object->dlpi_phnum; ++i) {
          const auto& part = object->dlpi_phdr[i];
          const std::uintptr_t begin = object->dlpi_addr + part.p_vaddr;
          if (part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0)
            (runtime ? text.ranges_ : text.c_library_).push_back({begin, begin + part.p_memsz});
        }
        return 0;
      },
      this);
}

}  // namespace rocelab
