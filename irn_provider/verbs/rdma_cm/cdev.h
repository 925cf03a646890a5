// The character device /dev/infiniband/rdma_cm under an unmodified librdmacm: an eventfd stands for it, and
// what is written to it are commands. libc/files.cc (open, fstat, close) and libc/sockets.cc (write) ask
// here first.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string_view>

namespace rocelab::verbs {

bool means_rdma_cm(std::string_view path);
int open_rdma_cm();  // a descriptor, or -1 with errno
bool is_rdma_cm(int fd);
bool close_rdma_cm(int fd);  // true: it was one, and is closed
dev_t rdma_cm_number();      // the device's
// As write(2) to the device: `length`, or -1 with errno.
ssize_t write_rdma_cm(int fd, const void* data, std::size_t length);

// The process ends: peers are told.
void leave_rdma_cm();

}  // namespace rocelab::verbs
