// The C library's own functions, behind the ones that irn_provider/verbs/libc interposes.
//
// Everything of ours that runs inside a preloaded program calls these, never the plain names: a plain name
// would give experiment time and could call back into the runtime that is asking. Two ways are open to
// runtime code:
//  - call rocelab::real::NAME(...) (same arguments and results as the C function), or
//  - hold a RuntimeScope: while it lives, the interposed functions of this thread are the real ones. That is
//  for code that reaches them by way of others
//    (std::chrono, std::thread, logging), and for a thread of the runtime's own, which holds one for life.
// Works in any program, also where nothing is interposed. Resolved by a constructor, never later: a thread of
// the program may hold the loader's lock for long, as a destructor in dlclose() that waits for another thread
// does. Calls before it resolve on demand.
#pragma once

#include <dirent.h>
#include <glob.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <time.h>

#include <cstdint>
#include <cstdio>

namespace rocelab::real {

// X(result, name, parameters, arguments)
#define ROCELAB_REAL_FUNCTIONS(X)                                                                            \
  X(int, clock_gettime, (clockid_t clock, timespec * ts), (clock, ts))                                       \
  X(int, gettimeofday, (timeval * tv, void* tz), (tv, tz))                                                   \
  X(time_t, time, (time_t * out), (out))                                                                     \
  X(int, nanosleep, (const timespec* request, timespec* remaining), (request, remaining))                    \
  X(int, clock_nanosleep, (clockid_t clock, int flags, const timespec* request, timespec* remaining),        \
    (clock, flags, request, remaining))                                                                      \
  X(int, usleep, (useconds_t us), (us))                                                                      \
  X(unsigned, sleep, (unsigned seconds), (seconds))                                                          \
  X(clock_t, times, (tms * buffer), (buffer))                                                                \
  X(int, getitimer, (__itimer_which_t which, itimerval * value), (which, value))                             \
  X(int, setitimer, (__itimer_which_t which, const itimerval* value, itimerval* old), (which, value, old))   \
  X(int, pause, (), ())                                                                                      \
  X(int, sigsuspend, (const sigset_t* mask), (mask))                                                         \
  X(int, pthread_sigmask, (int how, const sigset_t* set, sigset_t* old), (how, set, old))                    \
  X(int, poll, (pollfd * fds, nfds_t count, int timeout_ms), (fds, count, timeout_ms))                       \
  X(int, ppoll, (pollfd * fds, nfds_t count, const timespec* timeout, const sigset_t* mask),                 \
    (fds, count, timeout, mask))                                                                             \
  X(int, select, (int count, fd_set* in, fd_set* out, fd_set* except, timeval* timeout),                     \
    (count, in, out, except, timeout))                                                                       \
  X(int, pselect,                                                                                            \
    (int count, fd_set* in, fd_set* out, fd_set* except, const timespec* timeout, const sigset_t* mask),     \
    (count, in, out, except, timeout, mask))                                                                 \
  X(int, epoll_wait, (int epfd, epoll_event* events, int count, int timeout_ms),                             \
    (epfd, events, count, timeout_ms))                                                                       \
  X(int, epoll_pwait, (int epfd, epoll_event* events, int count, int timeout_ms, const sigset_t* mask),      \
    (epfd, events, count, timeout_ms, mask))                                                                 \
  X(int, accept, (int fd, sockaddr* address, socklen_t* length), (fd, address, length))                      \
  X(int, accept4, (int fd, sockaddr* address, socklen_t* length, int flags), (fd, address, length, flags))   \
  X(int, connect, (int fd, const sockaddr* address, socklen_t length), (fd, address, length))                \
  X(ssize_t, read, (int fd, void* data, size_t length), (fd, data, length))                                  \
  X(ssize_t, readv, (int fd, const iovec* parts, int count), (fd, parts, count))                             \
  X(ssize_t, recv, (int fd, void* data, size_t length, int flags), (fd, data, length, flags))                \
  X(ssize_t, recvfrom,                                                                                       \
    (int fd, void* data, size_t length, int flags, sockaddr* address, socklen_t* address_length),            \
    (fd, data, length, flags, address, address_length))                                                      \
  X(ssize_t, recvmsg, (int fd, msghdr* message, int flags), (fd, message, flags))                            \
  X(ssize_t, write, (int fd, const void* data, size_t length), (fd, data, length))                           \
  X(ssize_t, writev, (int fd, const iovec* parts, int count), (fd, parts, count))                            \
  X(ssize_t, send, (int fd, const void* data, size_t length, int flags), (fd, data, length, flags))          \
  X(ssize_t, sendto,                                                                                         \
    (int fd, const void* data, size_t length, int flags, const sockaddr* address, socklen_t address_length), \
    (fd, data, length, flags, address, address_length))                                                      \
  X(ssize_t, sendmsg, (int fd, const msghdr* message, int flags), (fd, message, flags))                      \
  X(int, pthread_create,                                                                                     \
    (pthread_t * thread, const pthread_attr_t* attributes, void* (*routine)(void*), void* argument),         \
    (thread, attributes, routine, argument))                                                                 \
  X(int, pthread_join, (pthread_t thread, void** result), (thread, result))                                  \
  X(int, pthread_mutex_lock, (pthread_mutex_t * mutex), (mutex))                                             \
  X(int, pthread_mutex_trylock, (pthread_mutex_t * mutex), (mutex))                                          \
  X(int, pthread_mutex_unlock, (pthread_mutex_t * mutex), (mutex))                                           \
  X(int, pthread_spin_lock, (pthread_spinlock_t * lock), (lock))                                             \
  X(int, pthread_spin_trylock, (pthread_spinlock_t * lock), (lock))                                          \
  X(int, pthread_spin_unlock, (pthread_spinlock_t * lock), (lock))                                           \
  X(int, pthread_rwlock_rdlock, (pthread_rwlock_t * lock), (lock))                                           \
  X(int, pthread_rwlock_wrlock, (pthread_rwlock_t * lock), (lock))                                           \
  X(int, pthread_rwlock_tryrdlock, (pthread_rwlock_t * lock), (lock))                                        \
  X(int, pthread_rwlock_trywrlock, (pthread_rwlock_t * lock), (lock))                                        \
  X(int, pthread_rwlock_unlock, (pthread_rwlock_t * lock), (lock))                                           \
  X(int, pthread_cond_wait, (pthread_cond_t * cond, pthread_mutex_t * mutex), (cond, mutex))                 \
  X(int, pthread_cond_timedwait, (pthread_cond_t * cond, pthread_mutex_t * mutex, const timespec* deadline), \
    (cond, mutex, deadline))                                                                                 \
  X(int, pthread_cond_clockwait,                                                                             \
    (pthread_cond_t * cond, pthread_mutex_t * mutex, clockid_t clock, const timespec* deadline),             \
    (cond, mutex, clock, deadline))                                                                          \
  X(int, pthread_cond_signal, (pthread_cond_t * cond), (cond))                                               \
  X(int, pthread_cond_broadcast, (pthread_cond_t * cond), (cond))                                            \
  X(int, sched_yield, (), ())                                                                                \
  X(void, exit, (int status), (status))                                                                      \
  X(void, _exit, (int status), (status))                                                                     \
  X(int, close, (int fd), (fd))                                                                              \
  X(int, access, (const char* path, int mode), (path, mode))                                                 \
  X(int, eaccess, (const char* path, int mode), (path, mode))                                                \
  X(int, faccessat, (int folder, const char* path, int mode, int flags), (folder, path, mode, flags))        \
  X(int, stat, (const char* path, struct ::stat* st), (path, st))                                            \
  X(int, stat64, (const char* path, struct ::stat64* st), (path, st))                                        \
  X(int, lstat, (const char* path, struct ::stat* st), (path, st))                                           \
  X(int, lstat64, (const char* path, struct ::stat64* st), (path, st))                                       \
  X(int, fstatat, (int folder, const char* path, struct ::stat* st, int flags), (folder, path, st, flags))   \
  X(int, fstatat64, (int folder, const char* path, struct ::stat64* st, int flags),                          \
    (folder, path, st, flags))                                                                               \
  X(int, fstat, (int fd, struct ::stat* st), (fd, st))                                                       \
  X(int, fstat64, (int fd, struct ::stat64* st), (fd, st))                                                   \
  X(int, statx, (int folder, const char* path, int flags, unsigned mask, struct ::statx* st),                \
    (folder, path, flags, mask, st))                                                                         \
  X(std::FILE*, fopen, (const char* path, const char* mode), (path, mode))                                   \
  X(std::FILE*, fopen64, (const char* path, const char* mode), (path, mode))                                 \
  X(DIR*, opendir, (const char* path), (path))                                                               \
  X(int, scandir,                                                                                            \
    (const char* path, dirent*** list, int (*filter)(const dirent*),                                         \
     int (*compare)(const dirent**, const dirent**)),                                                        \
    (path, list, filter, compare))                                                                           \
  X(int, scandir64,                                                                                          \
    (const char* path, dirent64*** list, int (*filter)(const dirent64*),                                     \
     int (*compare)(const dirent64**, const dirent64**)),                                                    \
    (path, list, filter, compare))                                                                           \
  X(int, glob, (const char* pattern, int flags, int (*failed)(const char*, int), glob_t* found),             \
    (pattern, flags, failed, found))                                                                         \
  X(int, glob64, (const char* pattern, int flags, int (*failed)(const char*, int), glob64_t* found),         \
    (pattern, flags, failed, found))                                                                         \
  X(ssize_t, readlink, (const char* path, char* text, size_t room), (path, text, room))                      \
  X(ssize_t, readlinkat, (int folder, const char* path, char* text, size_t room),                            \
    (folder, path, text, room))                                                                              \
  X(ssize_t, getxattr, (const char* path, const char* name, void* value, size_t room),                       \
    (path, name, value, room))                                                                               \
  X(ssize_t, lgetxattr, (const char* path, const char* name, void* value, size_t room),                      \
    (path, name, value, room))                                                                               \
  X(ssize_t, listxattr, (const char* path, char* names, size_t room), (path, names, room))                   \
  X(ssize_t, llistxattr, (const char* path, char* names, size_t room), (path, names, room))                  \
  X(char*, realpath, (const char* path, char* resolved), (path, resolved))                                   \
  X(int, chdir, (const char* path), (path))                                                                  \
  X(int, fchdir, (int fd), (fd))                                                                             \
  X(char*, getcwd, (char* text, size_t room), (text, room))                                                  \
  X(int, pipe, (int* fds), (fds))                                                                            \
  X(int, pipe2, (int* fds, int flags), (fds, flags))                                                         \
  X(int, socketpair, (int domain, int type, int protocol, int* fds), (domain, type, protocol, fds))          \
  X(int, eventfd, (unsigned value, int flags), (value, flags))                                               \
  X(int, timer_create, (clockid_t clock, sigevent * event, timer_t * timer), (clock, event, timer))          \
  X(int, timer_settime, (timer_t timer, int flags, const itimerspec* value, itimerspec* old),                \
    (timer, flags, value, old))                                                                              \
  X(int, timer_gettime, (timer_t timer, itimerspec * value), (timer, value))                                 \
  X(int, timer_getoverrun, (timer_t timer), (timer))                                                         \
  X(int, timer_delete, (timer_t timer), (timer))                                                             \
  X(int, timerfd_create, (clockid_t clock, int flags), (clock, flags))                                       \
  X(int, timerfd_settime, (int fd, int flags, const itimerspec* value, itimerspec* old),                     \
    (fd, flags, value, old))                                                                                 \
  X(int, timerfd_gettime, (int fd, itimerspec* value), (fd, value))                                          \
  X(int, sem_wait, (sem_t * semaphore), (semaphore))                                                         \
  X(int, sem_timedwait, (sem_t * semaphore, const timespec* deadline), (semaphore, deadline))                \
  X(int, sem_clockwait, (sem_t * semaphore, clockid_t clock, const timespec* deadline),                      \
    (semaphore, clock, deadline))                                                                            \
  X(int, sem_post, (sem_t * semaphore), (semaphore))                                                         \
  X(int, sem_trywait, (sem_t * semaphore), (semaphore))                                                      \
  X(int, pthread_mutex_clocklock, (pthread_mutex_t * mutex, clockid_t clock, const timespec* deadline),      \
    (mutex, clock, deadline))                                                                                \
  X(int, pthread_rwlock_clockrdlock, (pthread_rwlock_t * lock, clockid_t clock, const timespec* deadline),   \
    (lock, clock, deadline))                                                                                 \
  X(int, pthread_rwlock_clockwrlock, (pthread_rwlock_t * lock, clockid_t clock, const timespec* deadline),   \
    (lock, clock, deadline))                                                                                 \
  X(int, pthread_tryjoin_np, (pthread_t thread, void** result), (thread, result))                            \
  X(int, pthread_clockjoin_np, (pthread_t thread, void** result, clockid_t clock, const timespec* deadline), \
    (thread, result, clock, deadline))                                                                       \
  X(int, timespec_get, (timespec * ts, int base), (ts, base))                                                \
  X(int, thrd_sleep, (const timespec* request, timespec* remaining), (request, remaining))                   \
  X(int, epoll_pwait2,                                                                                       \
    (int epfd, epoll_event* events, int count, const timespec* timeout, const sigset_t* mask),               \
    (epfd, events, count, timeout, mask))                                                                    \
  X(int, sendmmsg, (int fd, mmsghdr* messages, unsigned count, int flags), (fd, messages, count, flags))     \
  X(int, recvmmsg, (int fd, mmsghdr* messages, unsigned count, int flags, timespec* timeout),                \
    (fd, messages, count, flags, timeout))                                                                   \
  X(int, dup, (int fd), (fd))                                                                                \
  X(int, dup2, (int fd, int to), (fd, to))                                                                   \
  X(int, dup3, (int fd, int to, int flags), (fd, to, flags))

#define X(result, name, parameters, arguments) result name parameters;
ROCELAB_REAL_FUNCTIONS(X)
#undef X

// `mode` is looked at where a file may be created.
int open(const char* path, int flags, mode_t mode);
int open64(const char* path, int flags, mode_t mode);
int openat(int folder, const char* path, int flags, mode_t mode);
int openat64(int folder, const char* path, int flags, mode_t mode);

// CLOCK_MONOTONIC of the machine, in nanoseconds.
std::int64_t wall_ns();

// Called whenever a thread's last RuntimeScope has ended: it is about to return to the program.
void on_leaving_runtime(void (*hook)());

// While one lives, this thread's interposed functions are the real ones. Nests.
class RuntimeScope {
 public:
  RuntimeScope();
  ~RuntimeScope();
  RuntimeScope(const RuntimeScope&) = delete;
  RuntimeScope& operator=(const RuntimeScope&) = delete;
};
bool in_runtime();
// The calling thread will not come back to the scopes that it is in: it ends the program in a signal's
// handler.
void abandon_runtime();

// std::mutex for code of the runtime's own: a program's mutex makes its threads park (libc/locks.cc).
class Mutex {
 public:
  void lock() { real::pthread_mutex_lock(&mutex_); }
  void unlock() { real::pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

}  // namespace rocelab::real
