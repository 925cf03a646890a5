#include "irn_provider/verbs/libc/tsc_sites.h"

#include <Zydis/Zydis.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <optional>
#include <string_view>

// Of GCC's unwinder (libgcc_s), which no header declares for others. `func`: where the function begins that
// `pc` is in.
extern "C" {
struct dwarf_eh_bases {
  void* tbase;
  void* dbase;
  void* func;
};
const void* _Unwind_Find_FDE(const void* pc, dwarf_eh_bases* bases);
}

namespace rocelab::libc {
namespace {

constexpr unsigned char kEscape = 0x0f;
constexpr std::array<unsigned char, 2> kRdtsc{kEscape, 0x31};
constexpr std::array<unsigned char, 3> kRdtscp{kEscape, 0x01, 0xf9};
constexpr unsigned char kUd2 = 0x0b;  // behind the escape; what follows of rdtscp is then never executed

const unsigned char* bytes_at(std::uintptr_t at) { return reinterpret_cast<const unsigned char*>(at); }

// Length of the instruction, if one began at `at`; 0: neither.
int looks_like(std::uintptr_t at, std::uintptr_t end) {
  const auto is = [&](const auto& code) {
    return end - at >= code.size() && std::memcmp(bytes_at(at), code.data(), code.size()) == 0;
  };
  return is(kRdtsc) ? 2 : is(kRdtscp) ? 3 : 0;
}

std::optional<std::uintptr_t> function_of(std::uintptr_t at) {
  dwarf_eh_bases bases{};
  if (_Unwind_Find_FDE(bytes_at(at), &bases) == nullptr) return std::nullopt;
  return reinterpret_cast<std::uintptr_t>(bases.func);
}

// Whether an instruction begins at `at` when one begins at `from`.
bool reaches(std::uintptr_t from, std::uintptr_t at, std::uintptr_t end) {
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  while (from < at) {
    ZydisDecodedInstruction instruction;
    const ZyanStatus status =
        ZydisDecoderDecodeInstruction(&decoder, nullptr, bytes_at(from), end - from, &instruction);
    if (!ZYAN_SUCCESS(status)) return false;
    from += instruction.length;
  }
  return from == at;
}

bool is_left_alone(const dl_phdr_info& object) {
  if (object.dlpi_addr == getauxval(AT_SYSINFO_EHDR)) return true;
  const std::string_view path = object.dlpi_name, name = path.substr(path.rfind('/') + 1);
  return name.starts_with("ld-") || name.starts_with("librocelab_");
}

void add_sites(const dl_phdr_info& object, std::vector<TscSite>& sites) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const auto& part = object.dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & (PF_X | PF_R)) != (PF_X | PF_R)) continue;
    const std::uintptr_t begin = object.dlpi_addr + part.p_vaddr;
    std::ranges::copy(tsc_sites(begin, begin + part.p_memsz), std::back_inserter(sites));
  }
}

}  // namespace

std::vector<TscSite> tsc_sites(std::uintptr_t begin, std::uintptr_t end) {
  std::vector<TscSite> sites;
  for (std::uintptr_t at = begin; at < end; ++at) {
    const void* found = std::memchr(bytes_at(at), kEscape, end - at);
    if (found == nullptr) break;
    at = reinterpret_cast<std::uintptr_t>(found);
    const int length = looks_like(at, end);
    if (length == 0) continue;
    const auto function = function_of(at);
    if (function && *function >= begin && reaches(*function, at, end)) sites.push_back({at, length});
  }
  return sites;
}

std::vector<TscSite> loaded_tsc_sites() {
  std::vector<TscSite> sites;
  std::vector<dl_phdr_info> objects;  // looked at below: the unwinder asks for the loader's list itself
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* all) {
        if (!is_left_alone(*object)) static_cast<std::vector<dl_phdr_info>*>(all)->push_back(*object);
        return 0;
      },
      &objects);
  for (const dl_phdr_info& object : objects) add_sites(object, sites);
  std::ranges::sort(sites, {}, &TscSite::at);
  return sites;
}

std::uint64_t objects_loaded() {
  std::uint64_t count = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* result) {
        *static_cast<std::uint64_t*>(result) = object->dlpi_adds;
        return 1;
      },
      &count);
  return count;
}

// One byte of each changes, so that a thread that is about to execute it sees the one or the other
// instruction.
bool disable(const std::vector<TscSite>& sites) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  for (const TscSite& site : sites) {
    const std::uintptr_t first = site.at & ~(page - 1), size = ((site.at + 1) & ~(page - 1)) - first + page;
    auto* const start = reinterpret_cast<void*>(first);
    if (mprotect(start, size, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return false;
    std::atomic_ref(*reinterpret_cast<unsigned char*>(site.at + 1)).store(kUd2);
    if (mprotect(start, size, PROT_READ | PROT_EXEC) != 0) return false;
  }
  return true;
}

}  // namespace rocelab::libc
