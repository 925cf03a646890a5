#include "irn_provider/verbs/device_files.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "irn_provider/verbs/device_tree.h"
#include "irn_provider/verbs/engine.h"
#include "irn_provider/verbs/libc/real.h"
#include "irn_provider/verbs/objects.h"
#include "irn_provider/verbs/real_verbs.h"

namespace rocelab::verbs {
namespace {

constexpr std::string_view kShared = "/dev/shm/", kPrefix = "rocelab-sysfs-";
constexpr std::int64_t kStaleSeconds = 10;
constexpr int kTries = 100;

std::string interface_of(std::uint32_t ipv4) {
  const std::uint32_t address = htonl(ipv4);
  std::string name;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return name;
  for (const ifaddrs* i = all; i != nullptr && name.empty(); i = i->ifa_next) {
    if (i->ifa_addr == nullptr || i->ifa_addr->sa_family != AF_INET) continue;
    if (reinterpret_cast<const sockaddr_in*>(i->ifa_addr)->sin_addr.s_addr == address) name = i->ifa_name;
  }
  freeifaddrs(all);
  return name;
}

std::vector<std::string> interfaces_of(const std::vector<DeviceView>& views) {
  std::vector<std::string> names;
  for (const DeviceView& view : views) names.push_back(interface_of(view.host.ipv4));
  return names;
}

// In place: others may read it meanwhile, and find the old text or the new one.
void write_text(const std::string& path, const std::string& text) {
  const int fd = real::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd < 0) throw std::runtime_error(path + ": " + std::strerror(errno));
  const bool written = pwrite(fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()) &&
                       ftruncate(fd, static_cast<off_t>(text.size())) == 0;
  real::close(fd);
  if (!written) throw std::runtime_error(path + ": " + std::strerror(errno));
}

// A lock on a folder, which all who use it share, and who has it alone may remove it. -1: there is no such
// folder, or others have it.
int lock_folder(const std::string& path, int how) {
  const int fd = real::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  struct stat locked {
  }, there{};
  if (fd >= 0 && flock(fd, how | LOCK_NB) == 0 && real::fstat(fd, &locked) == 0 &&
      real::stat(path.c_str(), &there) == 0 && locked.st_ino == there.st_ino)
    return fd;
  if (fd >= 0) real::close(fd);
  return -1;
}

// Of another name first: whoever comes meanwhile makes a new one.
void remove_folder(const std::string& path) {
  std::error_code error;
  const std::string aside = path + "." + std::to_string(getpid());
  std::filesystem::rename(path, aside, error);
  std::filesystem::remove_all(aside, error);
}

// Folders whose programs have ended without taking them away: by _exit, or another program in their place.
void remove_stale(const std::string& but) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(kShared, ignored)) {
    const std::string path = entry.path().string();
    struct stat st {};
    if (!entry.path().filename().string().starts_with(kPrefix) || path == but ||
        real::stat(path.c_str(), &st) != 0 || ::time(nullptr) - st.st_ctime <= kStaleSeconds)
      continue;
    if (const int fd = lock_folder(path, LOCK_EX); fd >= 0) {
      remove_folder(path);
      real::close(fd);
    }
  }
}

class Tree {
 public:
  // Throws: what the environment names is not there, or nothing can be written.
  Tree() : views_(look_at_devices()), interfaces_(interfaces_of(views_)), root_(views_.front().folder) {
    const bool own = root_.starts_with(std::string(kShared) + std::string(kPrefix));
    if (own) remove_stale(root_);
    for (int tries = 0; fd_ < 0; ++tries) {
      if ((mkdir(root_.c_str(), 0755) != 0 && errno != EEXIST) || tries == kTries)
        throw std::runtime_error(root_ + ": " + std::strerror(errno));
      if (!own) break;
      fd_ = lock_folder(root_, LOCK_SH);
      if (fd_ < 0) ::usleep(1'000);  // somebody removes it
    }
    write_all();
  }

  const std::string& root() const { return root_; }
  Interfaces interfaces() const { return interfaces_; }

  // What is at `path` or below, by the names of device_files().
  void refresh(const std::string& path) {
    const std::lock_guard lock(mutex_);
    try {
      views_ = look_at_devices();
    } catch (const std::exception&) {
      for (DeviceView& view : views_) view.link_up = false;  // the interface is down or gone
    }
    for (const DeviceFile& file : device_files(views_, interfaces_))
      if (file.changes && (file.path == path || file.path.starts_with(path + "/")))
        write_text(root_ + "/" + file.path, file.text);
  }

  bool is_of_run() const { return fd_ < 0; }  // which removes it
  void end() const {
    if (fd_ >= 0 && owner_ == getpid() && flock(fd_, LOCK_EX | LOCK_NB) == 0) remove_folder(root_);
  }

 private:
  // All that never changes, in a word.
  std::string identity(const std::vector<DeviceFile>& files) const {
    std::string all;
    for (const std::string& interface : interfaces_) all += interface + " ";
    for (const DeviceFile& file : files)
      if (!file.changes) all += file.path + file.text;
    return std::to_string(std::hash<std::string>{}(all));
  }

  void write_all() const {
    const std::string done = root_ + "/of";
    const std::vector<DeviceFile> files = device_files(views_, interfaces_);
    if (std::string of; std::getline(std::ifstream(done), of) && of == identity(files)) return;
    for (const DeviceFile& file : files) {
      std::filesystem::create_directories(std::filesystem::path(root_ + "/" + file.path).parent_path());
      write_text(root_ + "/" + file.path, file.text);
    }
    for (const DeviceLink& link : device_links(interfaces_)) {
      const std::string path = root_ + "/" + link.path;
      std::filesystem::create_directories(std::filesystem::path(path).parent_path());
      if (symlink(link.target.c_str(), path.c_str()) != 0 && errno != EEXIST)
        throw std::runtime_error(path + ": " + std::strerror(errno));
    }
    write_text(done, identity(files) + "\n");
  }

  real::Mutex mutex_;
  std::vector<DeviceView> views_;
  const std::vector<std::string> interfaces_;
  const std::string root_;
  int fd_ = -1;  // of the folder, locked
  const pid_t owner_ = getpid();
};

std::atomic<Tree*> g_tree = nullptr;
std::atomic<pid_t> g_tree_of = 0;

// Null: there is none. A forked child has to lock the folder for itself. Never destroyed: programs may look
// at files while they end.
Tree* the_tree() {
  static real::Mutex mutex;
  const auto current = [] {
    return g_tree_of == getpid() || (g_tree != nullptr && g_tree.load()->is_of_run());
  };
  if (current()) return g_tree;
  const std::lock_guard lock(mutex);
  if (current()) return g_tree;
  static const int registered = std::atexit([] {
    if (const Tree* tree = g_tree) tree->end();
  });
  static_cast<void>(registered);
  g_tree = nullptr;
  try {
    g_tree = new Tree;
  } catch (const std::exception& e) {
    debug("no files of the device: %s", e.what());
  }
  g_tree_of = getpid();
  return g_tree;
}

// Where the process is, if that is in a folder of such files, by the name that programs have for it.
std::string working_directory() {
  std::array<char, 4096> buffer;
  if (real::getcwd(buffer.data(), buffer.size()) == nullptr) return "";
  const std::string_view at = buffer.data();
  const std::size_t in_tree = at.find("/sys/");
  if (in_tree == at.npos) return "";
  const std::string_view folder = at.substr(0, in_tree).substr(at.substr(0, in_tree).rfind('/') + 1);
  const bool own = at.starts_with(kShared) && folder.starts_with(kPrefix);
  return own || folder.starts_with("sysfs-") ? std::string(at.substr(in_tree)) : "";
}

struct WorkingDirectory {
  real::Mutex mutex;
  std::atomic<bool> ours;
  std::string name;
  WorkingDirectory() { look(); }
  void look() {
    const std::lock_guard lock(mutex);
    name = working_directory();
    ours = !name.empty();
  }
  std::string at(const char* path) {
    const std::lock_guard lock(mutex);
    return name + "/" + path;
  }
};
WorkingDirectory& where() {
  static auto* const here = new WorkingDirectory;
  return *here;
}

bool may_be_ours(std::string_view path) { return path.starts_with("/sys/") || path.starts_with("/dev/inf"); }
bool may_be_of_net(std::string_view path) {
  return path.starts_with("/sys/class/net/") && path.find("/device") != path.npos;
}

}  // namespace

std::string own_interface(const HostEntry& nic) {
  real::RuntimeScope scope;
  return interface_of(nic.ipv4);
}

DevicePath::DevicePath(int folder, const char* path, Use use) : path_(path) {
  if (libc::without_nonnull(path) == nullptr || *path == 0 || !in_experiment() || real::in_runtime()) return;
  if (*path == '/' ? !may_be_ours(path) : folder != AT_FDCWD || !where().ours) return;
  KeepsErrno keeps;
  real::RuntimeScope scope;
  const std::string whole = *path == '/' ? path : where().at(path);
  std::string inside = in_device_tree(whole, {});
  const bool of_net = inside.empty() && may_be_of_net(whole);
  Tree* tree = of_net || !inside.empty() ? the_tree() : nullptr;
  if (tree != nullptr && of_net) inside = in_device_tree(whole, tree->interfaces());
  ours_ = tree != nullptr && !inside.empty();
  if (*path != '/') text_ = whole;
  if (!ours_) return;
  text_ = tree->root() + "/" + inside;
  is_node_ = inside.starts_with(std::string(kNodes) + "/");
  if (use == Use::kName) return;
  try {
    tree->refresh(without_links(inside, tree->interfaces()));
  } catch (const std::exception& e) {
    debug("%s", e.what());
  }
}

char* as_named(char* path) {
  if (libc::without_nonnull(path) == nullptr || !in_experiment() || real::in_runtime()) return path;
  const Tree* tree = std::strstr(path, "/sys") != nullptr ? the_tree() : nullptr;
  if (tree != nullptr && std::string_view(path).starts_with(tree->root() + "/"))
    std::memmove(path, path + tree->root().size(), std::strlen(path + tree->root().size()) + 1);
  return path;
}

void note_working_directory() {
  if (!in_experiment() || real::in_runtime()) return;
  KeepsErrno keeps;
  where().look();
}

}  // namespace rocelab::verbs
