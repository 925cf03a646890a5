#include "irn_provider/verbs/libc/tsc.h"

#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <ucontext.h>
#include <x86intrin.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "irn_provider/verbs/libc/experiment.h"
#include "irn_provider/verbs/libc/real.h"
#include "irn_provider/verbs/libc/tsc_sites.h"

namespace rocelab::libc {
namespace {

struct sigaction g_segv_before {};  // what the program had
struct sigaction g_ill_before {};
// Sorted. A list once published is for ever: a handler may be looking at it.
std::atomic<const std::vector<TscSite>*> g_disabled = nullptr;
thread_local bool t_probing = false;
std::atomic<bool> g_processor_traps = false;
std::atomic<std::uint64_t> g_zero = 0;    // what the counter shows at experiment time 0; 0: not settled
std::atomic<std::uint64_t> g_probed = 0;  // reads that were trapped while t_probing
std::uintptr_t g_vdso_begin = 0, g_vdso_end = 0;

void find_vdso() {
  const auto base = static_cast<std::uintptr_t>(getauxval(AT_SYSINFO_EHDR));
  if (base == 0) return;
  const auto* elf = reinterpret_cast<const ElfW(Ehdr)*>(base);
  const auto* segments = reinterpret_cast<const ElfW(Phdr)*>(base + elf->e_phoff);
  g_vdso_begin = base;
  for (int i = 0; i < elf->e_phnum; ++i)
    if (segments[i].p_type == PT_LOAD) g_vdso_end = base + segments[i].p_vaddr + segments[i].p_memsz;
}

// Length of rdtsc (0f 31) or rdtscp (0f 01 f9) at `at`; 0: another instruction. A page that is not mapped
// cannot be where the processor has just tried to execute, and neither instruction crosses into one.
int tsc_instruction(std::uintptr_t at) {
  const auto* code = reinterpret_cast<const unsigned char*>(at);
  if (code[0] != 0x0f) return 0;
  if (code[1] == 0x31) return 2;
  return code[1] == 0x01 && code[2] == 0xf9 ? 3 : 0;
}

// A prefix that means nothing here sets this read apart from those that loaded_tsc_sites() finds.
std::uint64_t untouched_rdtsc() {
  std::uint32_t low = 0, high = 0;
  asm volatile(".byte 0x3e, 0x0f, 0x31" : "=a"(low), "=d"(high));
  return std::uint64_t{high} << 32 | low;
}

std::uint64_t real_tsc() {
  if (!g_processor_traps) return untouched_rdtsc();
  prctl(PR_SET_TSC, PR_TSC_ENABLE);
  const std::uint64_t value = untouched_rdtsc();
  prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
  return value;
}

// The vDSO computes real time from the counter, whoever called it.
std::uint64_t answer(std::uintptr_t at) {
  LiveProcess* process = t_probing ? nullptr : experiment();
  if (process == nullptr || (at >= g_vdso_begin && at < g_vdso_end)) return real_tsc();
  count_spin(*process);
  real::RuntimeScope scope;
  return tsc_at(process->now(), g_zero);
}

void pass_on(const struct sigaction& before, int signal, siginfo_t* info, void* context) {
  if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(signal, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(signal);
  sigaction(signal, &before, nullptr);  // the instruction faults again, and what must happen happens
}

std::uintptr_t instruction_of(void* context) {
  return static_cast<std::uintptr_t>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
}

// In place of the instruction of this length.
void read_counter(void* context, int length) {
  const int error = errno;
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const std::uint64_t value = answer(instruction_of(context));
  registers[REG_RAX] = static_cast<greg_t>(value & 0xffffffff);
  registers[REG_RDX] = static_cast<greg_t>(value >> 32);
  if (length == 3) registers[REG_RCX] = 0;  // rdtscp names the processor, too
  registers[REG_RIP] += length;
  errno = error;
}

void on_fault(int signal, siginfo_t* info, void* context) {
  if (t_probing) ++g_probed;
  // A general protection fault, which is what the trap is, comes without an address (SI_KERNEL).
  const int length = info->si_code == SI_KERNEL ? tsc_instruction(instruction_of(context)) : 0;
  if (length == 0) return pass_on(g_segv_before, signal, info, context);
  read_counter(context, length);
}

void on_disabled(int signal, siginfo_t* info, void* context) {
  const std::uintptr_t at = instruction_of(context);
  const std::vector<TscSite>& sites = *g_disabled.load();
  const auto site = std::ranges::lower_bound(sites, at, {}, &TscSite::at);
  if (site == sites.end() || site->at != at) return pass_on(g_ill_before, signal, info, context);
  read_counter(context, site->length);
}

bool handle(int signal, void (*handler)(int, siginfo_t*, void*), struct sigaction& before) {
  struct sigaction action {};
  action.sa_sigaction = handler;
  // A read may park the thread, and parking may read clocks: the handler must be able to interrupt itself.
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  return sigaction(signal, &action, &before) == 0;
}

bool install_for_processor() {
  find_vdso();
  if (!handle(SIGSEGV, on_fault, g_segv_before)) return false;
  pthread_atfork(nullptr, nullptr, [] { prctl(PR_SET_TSC, PR_TSC_ENABLE); });
  return true;
}

// The system call may succeed and nothing be trapped: whether it is, one read shows.
bool processor_traps() {
  static const bool installed = install_for_processor();
  if (!installed || prctl(PR_SET_TSC, PR_TSC_SIGSEGV) != 0) return false;
  static const bool effective = [] {
    g_processor_traps = t_probing = true;
    static_cast<void>(__rdtsc());
    t_probing = false;
    return g_probed > 0;
  }();
  g_processor_traps = effective;
  if (!effective) {
    prctl(PR_SET_TSC, PR_TSC_ENABLE);
    sigaction(SIGSEGV, &g_segv_before, nullptr);
  }
  return effective;
}

// What is found once is disabled and not found again: a later call finds what has been loaded since.
bool code_traps() {
  static std::uint64_t seen = 0;
  static bool disabled = false;
  if (std::exchange(seen, objects_loaded()) == objects_loaded()) return disabled;
  std::vector<TscSite> sites = loaded_tsc_sites();
  const std::vector<TscSite> found = sites;
  const std::vector<TscSite>* const known = g_disabled.load();
  if (known != nullptr) sites.insert(sites.end(), known->begin(), known->end());
  std::ranges::sort(sites, {}, &TscSite::at);
  g_disabled = new std::vector<TscSite>(std::move(sites));
  static const bool installed = handle(SIGILL, on_disabled, g_ill_before);
  disabled = installed && disable(found);
  return disabled;
}

}  // namespace

TscTrap trap_tsc(bool by_code) {
  static real::Mutex mutex;  // threads open devices at the same time
  const std::lock_guard lock(mutex);
  if (g_zero == 0) g_zero = tsc_zero(real_tsc());
  if (!by_code && processor_traps()) return TscTrap::kProcessor;
  return code_traps() ? TscTrap::kCode : TscTrap::kNone;
}

}  // namespace rocelab::libc
