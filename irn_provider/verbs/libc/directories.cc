// Interposed: opendir, readdir, readdir64, rewinddir, dirfd, closedir, for the directories of the device
// (device_files.h), whose entries are directories. Everything else goes to the C library.
#include <dirent.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "irn_provider/verbs/device_files.h"
#include "irn_provider/verbs/exports.h"
#include "irn_provider/verbs/libc/next_symbol.h"

using namespace rocelab;
using namespace rocelab::verbs;

namespace {

static_assert(sizeof(dirent) == sizeof(dirent64), "one entry serves both calls");

struct Listing {
  std::vector<std::string> names;
  std::size_t next = 0;
  dirent64 entry{};

  dirent64* read() {
    if (next == names.size()) return nullptr;
    entry = {};
    entry.d_ino = next + 1;
    entry.d_off = static_cast<off64_t>(next + 1);
    entry.d_reclen = sizeof entry;
    entry.d_type = DT_DIR;
    names[next++].copy(entry.d_name, sizeof entry.d_name - 1);
    return &entry;
  }
};

// Programs hold a DIR* that is our Listing's address.
class Listings {
 public:
  DIR* add(std::vector<std::string> names) {
    auto listing = std::make_unique<Listing>();
    listing->names = std::move(names);
    auto* dir = reinterpret_cast<DIR*>(listing.get());
    const std::lock_guard lock(mutex_);
    open_.emplace(dir, std::move(listing));
    ++count_;
    return dir;
  }
  Listing* find(DIR* dir) {
    if (count_ == 0) return nullptr;
    const std::lock_guard lock(mutex_);
    const auto found = open_.find(dir);
    return found != open_.end() ? found->second.get() : nullptr;
  }
  bool remove(DIR* dir) {
    if (count_ == 0) return false;
    const std::lock_guard lock(mutex_);
    if (open_.erase(dir) == 0) return false;
    --count_;
    return true;
  }

 private:
  std::mutex mutex_;
  std::atomic<int> count_{0};
  std::unordered_map<DIR*, std::unique_ptr<Listing>> open_;
};

Listings& listings() {
  static Listings all;
  return all;
}

}  // namespace

RL_EXPORT DIR* opendir(const char* path) {
  if (std::optional<std::vector<std::string>> names = device_directory(named(path)))
    return listings().add(std::move(*names));
  static const auto really = libc::next_symbol<DIR* (*)(const char*)>("opendir");
  return really(path);
}

RL_EXPORT dirent* readdir(DIR* dir) {
  if (Listing* ours = listings().find(dir)) return reinterpret_cast<dirent*>(ours->read());
  static const auto really = libc::next_symbol<dirent* (*)(DIR*)>("readdir");
  return really(dir);
}

RL_EXPORT dirent64* readdir64(DIR* dir) {
  if (Listing* ours = listings().find(dir)) return ours->read();
  static const auto really = libc::next_symbol<dirent64* (*)(DIR*)>("readdir64");
  return really(dir);
}

RL_EXPORT void rewinddir(DIR* dir) noexcept {
  if (Listing* ours = listings().find(dir)) {
    ours->next = 0;
    return;
  }
  static const auto really = libc::next_symbol<void (*)(DIR*)>("rewinddir");
  really(dir);
}

RL_EXPORT int dirfd(DIR* dir) noexcept {
  if (listings().find(dir) != nullptr) {
    errno = ENOTSUP;
    return -1;
  }
  static const auto really = libc::next_symbol<int (*)(DIR*)>("dirfd");
  return really(dir);
}

RL_EXPORT int closedir(DIR* dir) {
  if (listings().remove(dir)) return 0;
  static const auto really = libc::next_symbol<int (*)(DIR*)>("closedir");
  return really(dir);
}
