#include "irn_provider/realtime/interface_host.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string_view>

namespace rocelab::direct {
namespace {

// IP, UDP, the longest transport headers and the ICRC around a payload: Linux's rxe counts the same 80 bytes.
constexpr std::uint32_t kHeaderBytes = 80;
constexpr std::uint32_t kDefaultWindow = 256;
// Far above what a packet socket carries: the port's own serialisation holds nothing back.
constexpr Rate kLinkRate = 400_Gbps;
// Beyond the delays of a busy machine's scheduler: only a lost packet should meet them.
constexpr Duration kRtoLow = 4_ms, kRtoHigh = 16_ms;

class Query {
 public:
  explicit Query(const std::string& name) : name_(name), fd_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {}
  ~Query() { close(fd_); }
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  bool ask(unsigned long request, ifreq& answer) const {
    answer = {};
    name_.copy(answer.ifr_name, IFNAMSIZ - 1);
    return ioctl(fd_, request, &answer) == 0;
  }

 private:
  const std::string& name_;
  int fd_;
};

[[noreturn]] void fail(const std::string& name, const std::string& why) {
  throw std::runtime_error("interface " + name + ": " + why);
}

const char* setting(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

constexpr std::uint32_t kLoopback = 0x7f000001;
constexpr std::uint32_t kSharedMemoryMtu = 4096;

bool is_good_name(std::string_view name) {
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._-").find(c) != std::string_view::npos;
  };
  return !name.empty() && name.size() <= kLongestName && std::all_of(name.begin(), name.end(), good);
}

// By which programs here can reach one another: the kernel has it.
bool is_local(std::uint32_t ipv4) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(ipv4);
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const bool bound = bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  close(fd);
  return bound;
}

// What follows the name of shared memory: `,address=10.1.2.3`.
void take_address(Settings& s) {
  constexpr std::string_view kKey = "address=";
  const std::size_t comma = s.interface.find(',');
  if (s.on_interface() || comma == std::string::npos) return;
  const std::string option = s.interface.substr(comma + 1);
  s.interface.resize(comma);
  in_addr address{};
  if (!option.starts_with(kKey) || inet_pton(AF_INET, option.c_str() + kKey.size(), &address) != 1)
    throw std::runtime_error("'" + option + "' behind " + s.interface + ": it is address=IPV4, as 10.1.2.3");
  s.address = ntohl(address.s_addr);
  if (s.address == 0 || s.address >> 28 >= 0xe || !is_local(s.address))
    throw std::runtime_error(
        s.interface + ": " + option +
        " is no address of this network namespace (ip address); one of an interface that "
        "is up serves");
}

// Programs reach one another at the address that they use for TCP on one machine. QPNs tell them apart.
HostEntry shared_memory_host(const Settings& settings) {
  const std::string_view name = std::string_view(settings.interface).substr(kSharedMemory.size());
  if (!is_good_name(name))
    throw std::runtime_error("'" + settings.interface + "': shm: is followed by a name of 1 to " +
                             std::to_string(kLongestName) + " letters, digits, '.', '_' or '-'");
  HostEntry host;
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  host.mac = {0x02};  // locally administered
  for (std::size_t i = 1; i < host.mac.size(); ++i) host.mac[i] = static_cast<std::uint8_t>(hash >> (8 * i));
  host.ipv4 = settings.address != 0 ? settings.address : kLoopback;
  settings.interface.copy(host.name, sizeof host.name - 1);
  host.nic = nic_config_of(settings, kSharedMemoryMtu);
  return host;
}

}  // namespace

Settings settings_from_environment() {
  Settings s;
  s.interface = setting("ROCELAB_INTERFACE");
  take_address(s);
  const std::string_view mode = setting("ROCELAB_TRANSPORT"), window = setting("ROCELAB_WINDOW");
  if (!mode.empty() && mode != "roce" && mode != "irn")
    throw std::runtime_error("ROCELAB_TRANSPORT is '" + std::string(mode) + "': it is roce or irn");
  s.mode = mode == "irn" ? TransportMode::kIrn : TransportMode::kRoce;
  if (window.empty()) return s;
  const auto [end, error] = std::from_chars(window.data(), window.data() + window.size(), s.window);
  if (error != std::errc() || end != window.data() + window.size() || s.window == 0)
    throw std::runtime_error("ROCELAB_WINDOW is '" + std::string(window) + "': it is a number of packets");
  return s;
}

std::string key_of(const Settings& settings) {
  return settings.on_interface() ? std::to_string(if_nametoindex(settings.interface.c_str()))
                                 : settings.interface;
}

bool link_up(const Settings& settings) {
  if (!settings.on_interface()) return true;
  ifreq answer{};
  return Query(settings.interface).ask(SIOCGIFFLAGS, answer) && (answer.ifr_flags & IFF_RUNNING) != 0;
}

std::uint32_t active_mtu_of(std::uint32_t interface_mtu) {
  for (const std::uint32_t mtu : {4096u, 2048u, 1024u, 512u, 256u})
    if (mtu + kHeaderBytes <= interface_mtu) return mtu;
  return 0;
}

NicConfig nic_config_of(const Settings& settings, std::uint32_t active_mtu) {
  NicConfig nic;
  nic.mode = settings.mode;
  nic.link_rate = kLinkRate;
  nic.link_delay = Duration();
  nic.active_mtu = active_mtu;
  nic.irn.rto_low = kRtoLow;
  nic.irn.rto_high = kRtoHigh;
  nic.irn.bdp_cap = settings.window != 0 ? settings.window : kDefaultWindow;
  return nic;
}

HostEntry host_of(const Settings& settings) {
  if (!settings.on_interface()) return shared_memory_host(settings);
  const std::string& name = settings.interface;
  if (name.size() >= IFNAMSIZ || if_nametoindex(name.c_str()) == 0)
    fail(name, "there is none of that name in this network namespace (ip link)");
  const Query query(name);
  ifreq answer{};
  if (!query.ask(SIOCGIFFLAGS, answer) || (answer.ifr_flags & IFF_UP) == 0)
    fail(name, "it is down (ip link set " + name + " up)");
  if (!query.ask(SIOCGIFHWADDR, answer) || answer.ifr_hwaddr.sa_family != ARPHRD_ETHER)
    fail(name, "it is not Ethernet; RoCE needs an Ethernet, veth, bridge or macvlan interface");
  HostEntry host;
  std::memcpy(host.mac.data(), answer.ifr_hwaddr.sa_data, host.mac.size());
  if (!query.ask(SIOCGIFADDR, answer) || answer.ifr_addr.sa_family != AF_INET)
    fail(name, "it has no IPv4 address (ip address add 10.0.0.1/24 dev " + name + ")");
  sockaddr_in address{};
  std::memcpy(&address, &answer.ifr_addr, sizeof address);
  host.ipv4 = ntohl(address.sin_addr.s_addr);
  if (!query.ask(SIOCGIFMTU, answer)) fail(name, std::strerror(errno));
  const std::uint32_t mtu = active_mtu_of(static_cast<std::uint32_t>(answer.ifr_mtu));
  if (mtu == 0) fail(name, "its MTU of " + std::to_string(answer.ifr_mtu) + " is too small for RoCE");
  name.copy(host.name, sizeof host.name - 1);
  host.nic = nic_config_of(settings, mtu);
  return host;
}

}  // namespace rocelab::direct
