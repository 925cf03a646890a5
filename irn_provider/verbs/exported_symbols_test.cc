// Every function of the installed libibverbs is either interposed or left alone on purpose: one that a newer
// library brings is noticed here, not by a crash in a user's program.
#include <gtest/gtest.h>
#include <stdio.h>

#include <array>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace {

std::string run(const std::string& command) {
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  std::array<char, 4096> buffer;
  for (std::size_t n; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) text.append(buffer.data(), n);
  EXPECT_EQ(pclose(pipe), 0) << command;
  return text;
}

// Names of defined functions in the dynamic symbol table, without versions.
std::set<std::string> functions(const std::string& library) {
  std::istringstream lines(run("nm -D --defined-only '" + library + "'"));
  std::set<std::string> names;
  for (std::string address, type, name; lines >> address >> type >> name;)
    if (type == "T" || type == "W") names.insert(name.substr(0, name.find('@')));
  return names;
}

// not_interposed.txt: a name a line; '#' begins a comment; "name*" stands for all that begin so.
class LeftAlone {
 public:
  LeftAlone() {
    std::ifstream in(ROCELAB_SOURCE_DIR "/irn_provider/verbs/not_interposed.txt");
    EXPECT_TRUE(in.good());
    for (std::string line; std::getline(in, line);) {
      std::istringstream words(line.substr(0, line.find('#')));
      for (std::string word; words >> word;)
        (word.back() == '*' ? prefixes_ : names_).insert(word.substr(0, word.find('*')));
    }
  }
  bool has(const std::string& name) const {
    for (const std::string& prefix : prefixes_)
      if (name.starts_with(prefix)) return true;
    return names_.contains(name);
  }
  const std::set<std::string>& names() const { return names_; }

 private:
  std::set<std::string> names_, prefixes_;
};

TEST(ExportedSymbolsTest, EveryFunctionOfLibibverbsIsInterposedOrLeftAloneOnPurpose) {
  const auto real = functions(ROCELAB_IBVERBS), ours = functions(ROCELAB_LIBRARY);
  ASSERT_GT(real.size(), 100u);
  const LeftAlone left_alone;
  for (const std::string& name : real)
    EXPECT_TRUE(ours.contains(name) != left_alone.has(name))
        << name
        << (ours.contains(name) ? " is interposed, but listed as left alone"
                                : " is new: interpose it in irn_provider/verbs, or list it in "
                                  "not_interposed.txt with the reason");
  for (const std::string& name : left_alone.names()) EXPECT_FALSE(ours.contains(name)) << name;
}

// The proxy (proxy/README.md): the same names under the same versions, old ones too.
TEST(ExportedSymbolsTest, TheProxyHasEveryFunctionOfLibibverbsUnderItsVersion) {
  const auto listed = [](const std::string& library) {
    return run("nm -D --defined-only '" + library + "' | awk '$2 != \"B\" {print $2, $3}' | sort");
  };
  EXPECT_EQ(listed(ROCELAB_PROXY "/libibverbs.so.1"), listed(ROCELAB_IBVERBS));
}

TEST(ExportedSymbolsTest, NothingElseIsExportedThanVerbsAndTheCLibrarysClocksWaitsThreadsAndDescriptors) {
  const std::set<std::string> libc = {
      // clang-format off
      "clock_gettime", "gettimeofday", "time", "nanosleep", "clock_nanosleep", "usleep", "sleep", "poll",
      "times", "setitimer", "getitimer", "alarm", "ualarm", "timer_create", "timer_settime",
      "timer_gettime", "timer_getoverrun", "timer_delete", "timerfd_create", "timerfd_gettime",
      "timerfd_settime", "pause", "exit", "_exit", "_Exit", "opendir", "scandir", "scandir64",
      "statx", "sigsuspend", "pthread_sigmask", "sigprocmask", "ppoll", "select", "pselect", "epoll_wait", "epoll_pwait",
      "accept", "accept4", "connect", "read", "readv", "recv", "recvfrom", "recvmsg", "write", "writev",
      "send", "sendto", "sendmsg", "__read_chk", "__recv_chk", "__recvfrom_chk", "__poll_chk",
      "__ppoll_chk", "sem_wait", "sem_timedwait", "sem_clockwait", "sched_yield", "sem_post", "open",
      "open64", "fopen", "fopen64", "fstat", "fstat64", "close", "stat", "stat64", "access", "pipe",
      "pipe2", "socketpair", "eventfd", "pthread_create", "pthread_join", "pthread_mutex_lock",
      "pthread_mutex_unlock", "pthread_spin_lock", "pthread_spin_unlock", "pthread_rwlock_rdlock",
      "pthread_rwlock_wrlock", "pthread_rwlock_unlock", "pthread_cond_wait", "pthread_cond_timedwait",
      "pthread_cond_clockwait", "pthread_cond_signal", "pthread_cond_broadcast", "sem_trywait",
      "pthread_mutex_trylock", "pthread_mutex_timedlock", "pthread_mutex_clocklock", "pthread_spin_trylock",
      "pthread_rwlock_tryrdlock", "pthread_rwlock_trywrlock", "pthread_rwlock_timedrdlock",
      "pthread_rwlock_timedwrlock", "pthread_rwlock_clockrdlock", "pthread_rwlock_clockwrlock",
      "pthread_tryjoin_np", "pthread_timedjoin_np", "pthread_clockjoin_np", "timespec_get", "thrd_sleep",
      "thrd_yield", "epoll_pwait2", "sendmmsg", "recvmmsg", "eventfd_read", "eventfd_write", "dup", "dup2",
      "dup3", "openat", "openat64", "__open_2", "__open64_2", "__openat_2", "__openat64_2", "lstat",
      "lstat64", "fstatat", "fstatat64", "__xstat", "__xstat64", "__lxstat", "__lxstat64", "__fxstatat",
      "__fxstatat64", "eaccess", "euidaccess", "faccessat", "glob", "glob64", "readlink", "readlinkat",
      "__readlink_chk", "__readlinkat_chk", "realpath", "__realpath_chk", "canonicalize_file_name", "chdir",
      "fchdir", "getcwd", "__getcwd_chk", "getxattr", "lgetxattr", "listxattr", "llistxattr",
      "ucs_get_cpu_clocks_per_sec",  // the last: libc/ucx.h
      // clang-format on
  };
  auto ours = functions(ROCELAB_LIBRARY);
  for (const std::string& name : libc) EXPECT_EQ(ours.erase(name), 1u) << name;
  for (const char* name : {"rocelab_announce_flow", "rocelab_close_at_once"})
    EXPECT_EQ(ours.erase(name), 1u) << name << " is for traffic programs: qp.cc";
  for (const std::string& name : ours)
    EXPECT_TRUE(name.starts_with("ibv_") || name.starts_with("_ibv_")) << name;
}

}  // namespace
