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
#include "irn_provider/verbs/libc/real.h"

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
  return real::opendir(path);
}

RL_EXPORT dirent* readdir(DIR* dir) {
  if (Listing* ours = listings().find(dir)) return reinterpret_cast<dirent*>(ours->read());
  return real::readdir(dir);
}

RL_EXPORT dirent64* readdir64(DIR* dir) {
  if (Listing* ours = listings().find(dir)) return ours->read();
  return real::readdir64(dir);
}

RL_EXPORT void rewinddir(DIR* dir) noexcept {
  if (Listing* ours = listings().find(dir)) {
    ours->next = 0;
    return;
  }
  real::rewinddir(dir);
}

RL_EXPORT int dirfd(DIR* dir) noexcept {
  if (listings().find(dir) != nullptr) {
    errno = ENOTSUP;
    return -1;
  }
  return real::dirfd(dir);
}

RL_EXPORT int closedir(DIR* dir) {
  if (listings().remove(dir)) return 0;
  return real::closedir(dir);
}
