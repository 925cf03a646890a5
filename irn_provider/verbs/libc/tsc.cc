#include "irn_provider/verbs/libc/tsc.h"

#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <ucontext.h>
#include <x86intrin.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "irn_provider/verbs/libc/experiment.h"
#include "irn_provider/verbs/libc/real.h"

namespace rocelab::libc {
namespace {

struct sigaction g_previous {};  // what the program had for SIGSEGV
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

std::uint64_t real_tsc() {
  prctl(PR_SET_TSC, PR_TSC_ENABLE);
  const std::uint64_t value = __rdtsc();
  prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
  return value;
}

// The vDSO computes real time from the counter, whoever called it.
std::uint64_t answer(std::uintptr_t at) {
  LiveProcess* process = experiment();
  if (process == nullptr || (at >= g_vdso_begin && at < g_vdso_end)) return real_tsc();
  count_spin(*process);
  real::RuntimeScope scope;
  return tsc_at(process->now());
}

void pass_on(int signal, siginfo_t* info, void* context) {
  if ((g_previous.sa_flags & SA_SIGINFO) != 0) return g_previous.sa_sigaction(signal, info, context);
  if (g_previous.sa_handler != SIG_DFL && g_previous.sa_handler != SIG_IGN)
    return g_previous.sa_handler(signal);
  sigaction(signal, &g_previous, nullptr);  // the instruction faults again, and what must happen happens
}

void on_fault(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const auto at = static_cast<std::uintptr_t>(registers[REG_RIP]);
  // A general protection fault, which is what the trap is, comes without an address (SI_KERNEL).
  const int length = info->si_code == SI_KERNEL ? tsc_instruction(at) : 0;
  if (length == 0) return pass_on(signal, info, context);
  const std::uint64_t value = answer(at);
  registers[REG_RAX] = static_cast<greg_t>(value & 0xffffffff);
  registers[REG_RDX] = static_cast<greg_t>(value >> 32);
  if (length == 3) registers[REG_RCX] = 0;  // rdtscp names the processor, too
  registers[REG_RIP] += length;
  errno = error;
}

bool install() {
  find_vdso();
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  // A read may park the thread, and parking may read clocks: the handler must be able to interrupt itself.
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  if (sigaction(SIGSEGV, &action, &g_previous) != 0) return false;
  pthread_atfork(nullptr, nullptr, [] { prctl(PR_SET_TSC, PR_TSC_ENABLE); });
  return true;
}

}  // namespace

bool trap_tsc() {
  static const bool installed = install();
  return installed && prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0;
}

}  // namespace rocelab::libc
