// Pipes, socket pairs and eventfds that the program has made for itself, to wake its own threads: UCX's and
// libevent's loops wait for one. Whoever waits for such a descriptor waits for a thread of the program, not
// for the outside, and parks. own_pipes.cc interposes pipe, pipe2, socketpair and eventfd. From a fork on all
// of them are the outside's: the child may hold the other end. What posix_spawn hands to a child is not
// noticed.
#pragma once

#include <cstdint>

namespace rocelab::libc {

bool is_own_pipe(int fd);
// Something was read from or written to this descriptor: if it is one, threads that wait look again.
void note_own_pipe(int fd);
void forget_own_pipe(int fd);  // it is about to be closed
// Changes with every such reading, writing and closing.
std::uint64_t own_pipe_changes();

}  // namespace rocelab::libc
