// EventFile: TraceRecords as they lie in memory, one after the other: what results and pictures are made
// from.
#pragma once

#include <string>
#include <vector>

#include "base/trace.h"

namespace rocelab {

class EventFile {
 public:
  // Empty: none, nothing is written. Throws std::runtime_error: it cannot be made.
  explicit EventFile(std::string path);
  ~EventFile();  // without what is still in memory
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  bool exists() const { return fd_ >= 0; }
  // Kept in memory until there is much of it. False: what was kept could not be written (error()), and is
  // gone.
  bool write(const TraceRecord& r);
  bool flush();
  // Of the last write that failed: which file, and why. Empty: none did.
  const std::string& error() const { return error_; }

 private:
  const std::string path_;
  int fd_ = -1;
  std::vector<TraceRecord> buffer_;
  std::string error_;
};

}  // namespace rocelab
