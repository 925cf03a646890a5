#include "emu/record/event_file.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <stdexcept>
#include <utility>

namespace rocelab {
namespace {

constexpr std::size_t kBufferRecords = 4096;

std::string line(const char* what, const std::string& path) {
  return std::string("cannot ") + what + " " + path + ": " + std::strerror(errno);
}

}  // namespace

EventFile::EventFile(std::string path) : path_(std::move(path)) {
  if (path_.empty()) return;
  fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd_ < 0) throw std::runtime_error(line("make", path_));
  buffer_.reserve(kBufferRecords);
}

EventFile::~EventFile() {
  if (fd_ >= 0) ::close(fd_);
}

bool EventFile::write(const TraceRecord& r) {
  if (fd_ < 0) return true;
  buffer_.push_back(r);
  return buffer_.size() < kBufferRecords || flush();
}

bool EventFile::flush() {
  const auto bytes = std::as_bytes(std::span(buffer_));
  bool ok = true;
  for (std::size_t done = 0; ok && done < bytes.size();) {
    // The raw call: the program's own write() may be interposed.
    const long n = syscall(SYS_write, fd_, bytes.data() + done, bytes.size() - done);
    if (n > 0)
      done += static_cast<std::size_t>(n);
    else
      ok = n < 0 && errno == EINTR;
  }
  if (!ok) error_ = line("write", path_);
  buffer_.clear();  // not again
  return ok;
}

}  // namespace rocelab
