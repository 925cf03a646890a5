// The character device /dev/infiniband/rdma_cm under an unmodified librdmacm: an eventfd stands for it, and
// what is written to it are commands. cdev.cc interposes open, fstat and close; libc/sockets.cc asks here
// before it writes.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace rocelab::verbs {

bool is_rdma_cm(int fd);
// As write(2) to the device: `length`, or -1 with errno.
ssize_t write_rdma_cm(int fd, const void* data, std::size_t length);

// The process ends: peers are told.
void leave_rdma_cm();

}  // namespace rocelab::verbs
