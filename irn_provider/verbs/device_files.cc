#include "irn_provider/verbs/device_files.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include <charconv>

#include "irn_provider/verbs/libc/real.h"
#include "irn_provider/verbs/objects.h"
#include "irn_provider/verbs/real_verbs.h"
#include "lockstep/host_identity.h"

namespace rocelab::verbs {
namespace {

constexpr std::string_view kGidAttrs = "/sys/class/infiniband/rocelab0/ports/1/gid_attrs/";
constexpr std::string_view kInterfaces = "/sys/class/infiniband/rocelab0/device/net";
constexpr std::string_view kNode = "/dev/infiniband/uverbs0";

bool is_gid_index(std::string_view text) {
  int index = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  return error == std::errc() && end == text.data() + text.size() && index >= 0 && index < lockstep::kGids;
}

}  // namespace

std::string own_interface() {
  const lockstep::HostEntry* host = this_host();
  if (host == nullptr) return "";
  real::RuntimeScope scope;
  const std::uint32_t address = htonl(host->ipv4);
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

std::optional<std::string> device_file(std::string_view path) {
  if (!path.starts_with(kGidAttrs) || !in_experiment()) return std::nullopt;
  path.remove_prefix(kGidAttrs.size());
  const std::size_t slash = path.find('/');
  if (slash == path.npos || !is_gid_index(path.substr(slash + 1))) return std::nullopt;
  const std::string_view what = path.substr(0, slash);
  if (what == "types") return "RoCE v2\n";
  const std::string interface = what == "ndevs" ? own_interface() : "";
  if (interface.empty()) return std::nullopt;
  return interface + "\n";
}

std::optional<std::vector<std::string>> device_directory(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  if (path != kInterfaces || !in_experiment()) return std::nullopt;
  const std::string interface = own_interface();
  if (interface.empty()) return std::nullopt;
  return std::vector{interface};
}

bool is_device_node(std::string_view path) { return path == kNode && in_experiment(); }

}  // namespace rocelab::verbs
