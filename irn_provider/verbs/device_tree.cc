#include "irn_provider/verbs/device_tree.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdarg>
#include <cstdio>
#include <span>
#include <utility>

#include "emu/world/host_identity.h"
#include "irn_provider/verbs/device_attributes.h"
#include "irn_provider/verbs/limits.h"

namespace rocelab::verbs {
namespace {

using namespace std::string_literals;

// Names of a device's folders.
struct Names {
  explicit Names(std::size_t nic)
      : hca_name("rocelab" + std::to_string(nic)),
        uverbs_name("uverbs" + std::to_string(nic)),
        parent_name(nic == 0 ? "rocelab" : hca_name) {}
  std::string hca_name, uverbs_name, parent_name;
  std::string device = "sys/devices/" + parent_name, hca = device + "/infiniband/" + hca_name,
              port = hca + "/ports/1", uverbs = device + "/infiniband_verbs/" + uverbs_name;
};

std::string in(std::string_view folder, std::string_view name) {
  return std::string(folder) + "/" + std::string(name);
}

std::string format(const char* pattern, ...) __attribute__((format(printf, 1, 2)));
std::string format(const char* pattern, ...) {
  std::array<char, 128> text{};
  va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(text.data(), text.size(), pattern, arguments);
  va_end(arguments);
  return text.data();
}

// Groups of 16 bits, as the kernel writes GUIDs and GIDs.
std::string groups(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2)
    text += format(i > 0 ? ":%02x%02x" : "%02x%02x", bytes[i], bytes[i + 1]);
  return text + "\n";
}

// As the kernel's rate_show: "100 Gb/sec (4X EDR)".
std::string rate_text(Rate rate) {
  const LinkCode code = link_code(rate);
  const int lanes = lanes_of(code.width);
  const SpeedName speed = speed_name(code.speed_ex);
  const long mbps = lanes * speed.mbps;
  return format("%ld%s Gb/sec (%dX %s)\n", mbps / 1'000, mbps % 1'000 != 0 ? ".5" : "", lanes, speed.name);
}

// IBTA 16.1.3.5 PortCounters, under the kernel's names, of what this NIC counts. Data in words of 4 bytes.
void add_port_counters(std::vector<DeviceFile>& files, const Names& names, const NicCounters& c) {
  const std::pair<const char*, std::uint64_t> values[] = {
      {"port_xmit_data", c.tx_bytes / 4},
      {"port_rcv_data", c.rx_bytes / 4},
      {"port_xmit_packets", c.tx_packets},
      {"port_rcv_packets", c.rx_packets},
      {"port_rcv_errors", c.rx_icrc_encapsulated + c.rx_malformed},
      {"link_downed", c.link_downed},
  };
  for (const auto& [name, value] : values)
    files.push_back({in(in(names.port, "counters"), name), std::to_string(value) + "\n", true});
}

void add_hw_counters(std::vector<DeviceFile>& files, const Names& names, const NicCounters& c) {
  const auto values = std::bit_cast<std::array<std::uint64_t, kNicCounterCount>>(c);
  for (std::size_t i = 0; i < values.size(); ++i)
    files.push_back(
        {in(in(names.port, "hw_counters"), kNicCounterNames[i]), std::to_string(values[i]) + "\n", true});
}

void add_gids(std::vector<DeviceFile>& files, const Names& names, const HostEntry& host,
              std::string_view interface) {
  for (int i = 0; i < gids_of(host); ++i) {
    const std::string n = std::to_string(i);
    files.push_back({in(names.port, "gids/" + n), groups(gid_of(host, i))});
    files.push_back({in(names.port, "gid_attrs/types/" + n), "RoCE v2\n"});
    if (!interface.empty())
      files.push_back({in(names.port, "gid_attrs/ndevs/" + n), std::string(interface) + "\n"});
  }
}

void add_port(std::vector<DeviceFile>& files, const Names& names, const DeviceView& view) {
  const ibv_port_attr port = port_attr(view.host, view.link_up);
  const auto add = [&](const char* name, std::string text, bool changes = false) {
    files.push_back({in(names.port, name), std::move(text), changes});
  };
  add("state", port.state == IBV_PORT_ACTIVE ? "4: ACTIVE\n" : "1: DOWN\n", true);
  add("phys_state", port.state == IBV_PORT_ACTIVE ? "5: LinkUp\n" : "3: Disabled\n", true);
  add("rate", rate_text(view.host.nic.link_rate));
  add("lid", format("0x%x\n", port.lid));
  add("lid_mask_count", format("%d\n", port.lmc));
  add("sm_lid", format("0x%x\n", port.sm_lid));
  add("sm_sl", format("%d\n", port.sm_sl));
  add("cap_mask", format("0x%08x\n", port.port_cap_flags));
  add("link_layer", "Ethernet\n");
  for (int i = 0; i < kPkeys; ++i) add(("pkeys/" + std::to_string(i)).c_str(), format("0x%04x\n", kPkey));
}

void add_hca(std::vector<DeviceFile>& files, const Names& names, const HostEntry& host) {
  ibv_device_attr attr;
  fill_attr(host, attr);
  const std::string guid =
      groups(std::span(reinterpret_cast<const std::uint8_t*>(&attr.node_guid), sizeof attr.node_guid));
  const auto add = [&](const char* name, std::string text) {
    files.push_back({in(names.hca, name), std::move(text)});
  };
  add("node_guid", guid);
  add("sys_image_guid", guid);
  add("node_type", "1: CA\n");
  add("node_desc", std::string(machine_name(host)) + " " + names.hca_name + "\n");
  add("fw_ver", attr.fw_ver + "\n"s);
  add("hw_rev", format("0x%x\n", attr.hw_ver));
  add("hca_type", "rocelab\n");
  add("board_id", "rocelab\n");
}

// Without "." and "..", which here is a matter of names: the last component before it goes.
std::string normal(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(path.size(), part.size() + 1));
    if (part == ".." && !parts.empty()) parts.pop_back();
    if (!part.empty() && part != "." && part != "..") parts.push_back(part);
  }
  std::string text;
  for (const std::string_view part : parts) text += (text.empty() ? "" : "/") + std::string(part);
  return text;
}

bool is_below(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

}  // namespace

std::vector<DeviceFile> device_files(std::span<const DeviceView> views, Interfaces interfaces) {
  std::vector<DeviceFile> files;
  for (std::size_t nic = 0; nic < views.size(); ++nic) {
    const Names names(nic);
    add_hca(files, names, views[nic].host);
    add_port(files, names, views[nic]);
    add_gids(files, names, views[nic].host, interfaces[nic]);
    add_port_counters(files, names, views[nic].counters);
    add_hw_counters(files, names, views[nic].counters);
    // By this file scripts find out which interface and which device are of one adapter: it has no memory of
    // its own, so its address is its number.
    files.push_back(
        {in(names.device, "resource"), format("0x%016zx 0x%016zx 0x0000000000000000\n", nic, nic)});
    files.push_back({in(names.device, "numa_node"), "-1\n"});
    files.push_back({in(names.uverbs, "ibdev"), names.hca_name + "\n"});
    files.push_back({in(names.uverbs, "abi_version"), "1\n"});
    files.push_back({in(names.uverbs, "dev"), format("231:%zu\n", 192 + nic)});
    files.push_back({in(kNodes, names.uverbs_name), ""});
  }
  files.push_back({"sys/class/infiniband_verbs/abi_version", "6\n"});
  files.push_back({in(kNodes, "rdma_cm"), ""});
  return files;
}

std::vector<DeviceLink> device_links(Interfaces interfaces) {
  std::vector<DeviceLink> links;
  for (std::size_t nic = 0; nic < interfaces.size(); ++nic) {
    const Names names(nic);
    const std::string up = "../../../" + names.parent_name;
    links.push_back({in("sys/class/infiniband", names.hca_name), "../../" + names.hca.substr(4)});
    links.push_back({in("sys/class/infiniband_verbs", names.uverbs_name), "../../" + names.uverbs.substr(4)});
    links.push_back({in(names.hca, "device"), up});
    links.push_back({in(names.uverbs, "device"), up});
    if (interfaces[nic].empty()) continue;
    const std::string net = in("sys/class/net", interfaces[nic]);
    links.push_back({in(net, "device"), "../../../devices/" + names.parent_name});
    links.push_back({in(in(names.device, "net"), interfaces[nic]), "/" + net});
  }
  return links;
}

std::string in_device_tree(std::string_view path, Interfaces interfaces) {
  const std::string p = normal(path);
  std::vector<std::string> folders = {"sys/class/infiniband", "sys/class/infiniband_verbs",
                                      std::string(kNodes)};
  for (std::size_t nic = 0; nic < kMaxNicsPerHost; ++nic) folders.push_back(Names(nic).device);
  for (const std::string& interface : interfaces)
    folders.push_back(in(in("sys/class/net", interface), "device"));
  for (const std::string& folder : folders)
    if (is_below(p, folder)) return path.ends_with('/') ? p + "/" : p;
  return "";
}

std::string without_links(std::string_view path, Interfaces interfaces) {
  std::string p = normal(path);
  for (const auto& [link, target] : device_links(interfaces))
    if (is_below(p, link)) p = normal(in(link, "../" + target) + p.substr(link.size()));
  return p;
}

}  // namespace rocelab::verbs
