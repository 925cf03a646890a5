#include "irn_provider/live/runtime_text.h"

#include <link.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace rocelab {
namespace {

constexpr std::array<std::string_view, 2> kRuntime = {"ld-", "librocelab_"};

bool is_runtime(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);  // all of it, when there is no slash
  return std::ranges::any_of(kRuntime, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace

RuntimeText::RuntimeText() {
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* self) {
        if (!is_runtime(object->dlpi_name)) return 0;
        for (int i = 0; i < object->dlpi_phnum; ++i) {
          const auto& part = object->dlpi_phdr[i];
          const std::uintptr_t begin = object->dlpi_addr + part.p_vaddr;
          if (part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0)
            static_cast<RuntimeText*>(self)->ranges_.push_back({begin, begin + part.p_memsz});
        }
        return 0;
      },
      this);
}

}  // namespace rocelab
