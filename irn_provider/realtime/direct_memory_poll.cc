// DirectProcess: programs that poll memory for what a peer writes. The helper thread alone would compete with
// the program's own loop for a processor; so the kernel interrupts the thread that loops when a frame comes
// (a signal, fcntl(2) F_SETSIG), and the frame is taken in there and then. A signal takes as long as some
// polls, so that a program that polls a completion queue just then is left alone.
//
// A handler may run between any two instructions. It does nothing when its thread is in code of ours, or in
// the C or C++ library (which may hold a lock that ours would take): the helper thread sees to the frame
// then.
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>
#include <vector>

#include "irn_provider/live/program_signals.h"
#include "irn_provider/realtime/direct_process.h"

namespace rocelab {
namespace {

// Ignored by default, and by whoever does not use out-of-band data; not queued twice.
constexpr int kSignal = SIGURG;
// Of polls in a row that found nothing: the program waits for a completion, not for memory.
constexpr std::uint32_t kWaitsForCompletion = 2;

struct Range {
  std::uintptr_t begin, end;
};
std::vector<Range> g_program_code;  // written once, before the first signal

// The program itself and its libraries, without those that must not be interrupted.
int add_code(dl_phdr_info* info, std::size_t, void*) {
  const std::string_view path = info->dlpi_name;
  for (const char* name :
       {"/libc.so", "/ld-linux", "/libstdc++.so", "/libpthread", "librocelab_verbs", "malloc.so", "vdso"})
    if (path.find(name) != path.npos) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    g_program_code.push_back({begin, begin + segment.p_memsz});
  }
  return 0;
}

bool in_program(std::uintptr_t at) {
  for (const Range& range : g_program_code)
    if (at >= range.begin && at < range.end) return true;
  return false;
}

std::uintptr_t interrupted_at(const void* context) {
#if defined(__x86_64__)
  return static_cast<std::uintptr_t>(static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
#else
  static_cast<void>(context);
  return 0;
#endif
}

// Whom the kernel signals when a frame comes; 0: nobody.
void set_owner(int fd, pid_t thread) {
  const f_owner_ex owner{.type = F_OWNER_TID, .pid = thread};
  fcntl(fd, F_SETOWN_EX, &owner);
}

void on_frame(int, siginfo_t*, void* context) {
  ++t_own_signals;
  const int error = errno;
  if (!LiveProcess::inside() && in_program(interrupted_at(context)))
    if (LiveProcess* process = LiveProcess::attached()) process->park_memory();
  errno = error;
}

}  // namespace

void DirectProcess::watch_memory(MemoryWatch wanted) {
  if (wanted != MemoryWatch::kAlways) return;
  dl_iterate_phdr(add_code, nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_frame;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(kSignal, &action, nullptr);
  memory_poller_ = static_cast<pid_t>(syscall(SYS_gettid));
  for (const direct::FramePort* port : ports_) {
    set_owner(port->fd(), memory_poller_);
    fcntl(port->fd(), F_SETSIG, kSignal);
    fcntl(port->fd(), F_SETFL, O_NONBLOCK | O_ASYNC);
  }
  polls_memory_ = interrupts_ = true;
}

// Whether the wire's frames interrupt the program. Rings' senders signal only where somebody sleeps.
void DirectProcess::interrupt(bool on) {
  empty_polls_ = 0;
  if (std::exchange(interrupts_, on) == on || !wire_) return;
  set_owner(wire_->fd(), on ? memory_poller_ : 0);
  if (!on) return;
  interrupted_ = false;
  // What came before would not interrupt it. (progress() would send acknowledgements that wait for a post.)
  took_frames_ |= receive(tick());
  note_completions(last_);
}

void DirectProcess::interrupt_if_wanted() {
  if (interrupt_law_.wanted()) interrupt(true);
}

// `told`: the poll that ends has seen a completion. What the program waits for next may be memory.
void DirectProcess::note_poll(bool told) {
  if (told) {
    empty_polls_ = 0;
    interrupt_if_wanted();
  } else if (++empty_polls_ >= kWaitsForCompletion) {
    if (interrupts_ && !interrupted_) interrupt_law_.needless();
    interrupt(false);
  }
}

// The program may poll memory next: from now on a frame interrupts it. What has come by now would not.
void DirectProcess::expect_memory_poll() {
  for (direct::FramePort* port : ports_)
    if (!port->before_sleep()) progress(Sees::kCompletion);
}

// In the handler: the program looks at its memory next.
void DirectProcess::park_memory() {
  Inside inside;
  Lock lock(mutex_, std::try_to_lock);
  if (!lock) return;  // another thread is at it
  interrupted_ = true;
  interrupt_law_.needed();
  for (direct::FramePort* port : ports_) port->after_sleep(true);
  progress(Sees::kMemory);
  expect_memory_poll();
  last_poll_ns_.store(last_.ps() / 1'000, std::memory_order_relaxed);
}

}  // namespace rocelab
