#include "tests/captures/sidecar_section.h"

#include <arpa/inet.h>

#include <charconv>
#include <cstdio>
#include <cstring>

namespace rocelab::captures {
namespace {

void need(ConfigSection& section, std::string_view key) {
  if (!section.has(key))
    section.fail((section.path_of("").empty() ? "the sidecar" : "this table") +
                 std::string(" needs the key \"") + section.path_of(key) + "\"");
}

}  // namespace

std::int64_t need_integer(ConfigSection& section, std::string_view key, std::int64_t least,
                          std::int64_t most) {
  need(section, key);
  return section.integer(key, least, least, most);
}

std::string need_text(ConfigSection& section, std::string_view key) {
  need(section, key);
  return section.text(key, "");
}

Gid need_ip(ConfigSection& section, std::string_view key) {
  const std::string text = need_text(section, key);
  Gid gid{};
  Ipv4Address v4{};
  if (inet_pton(AF_INET, text.c_str(), v4.data()) == 1) return ipv4_mapped(v4);
  if (inet_pton(AF_INET6, text.c_str(), gid.data()) != 1)
    section.fail_at(key, "= \"" + text + "\" is no IP address");
  return gid;
}

MacAddress need_mac(ConfigSection& section, std::string_view key) {
  const std::string text = need_text(section, key);
  MacAddress mac{};
  int end = 0;
  if (std::sscanf(text.c_str(), "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx%n", &mac[0], &mac[1], &mac[2], &mac[3],
                  &mac[4], &mac[5], &end) != 6 ||
      text[static_cast<std::size_t>(end)] != '\0')
    section.fail_at(key, "= \"" + text + "\" is no MAC address; write for example \"52:54:00:00:00:01\"");
  return mac;
}

std::vector<int> need_frames(ConfigSection& section, std::string_view key) {
  need(section, key);
  std::vector<int> frames;
  for (const std::int64_t number : section.integers(key, {}, 1, 1'000'000'000))
    frames.push_back(static_cast<int>(number));
  return frames;
}

std::uint64_t need_64_bits(ConfigSection& section, std::string_view key) {
  need(section, key);
  const ConfigNode& node = *section.node(key);
  if (node.kind == ConfigNode::Kind::kInteger)
    return static_cast<std::uint64_t>(section.integer(key, 0, 0, INT64_MAX));
  const std::string text = section.text(key, "");
  std::uint64_t word = 0;
  const char* const end = text.data() + text.size();
  const bool hex = text.starts_with("0x");
  const auto [stop, error] = std::from_chars(text.data() + (hex ? 2 : 0), end, word, hex ? 16 : 10);
  if (error != std::errc{} || stop != end)
    section.fail_at(key, "= \"" + text + "\" is no number of 64 bits; write for example \"0x10\"");
  return word;
}

std::uint64_t need_length(ConfigSection& section, std::uint64_t most) {
  const bool exact = section.has("length"), least = section.has("at_least");
  if (exact == least) section.fail("needs either \"length\" or, where only as much is known, \"at_least\"");
  return static_cast<std::uint64_t>(
      section.integer(exact ? "length" : "at_least", 0, 0, static_cast<std::int64_t>(most)));
}

Content content(ConfigSection& section, std::string_view key) {
  Content c;
  if (!section.has(key)) return c;
  ConfigSection table = section.table(key);
  if (table.has("first")) {
    c.kind = Content::Kind::kPattern;
    c.first = static_cast<std::uint8_t>(need_integer(table, "first", 0, 255));
    c.step = static_cast<std::uint8_t>(need_integer(table, "step", 0, 255));
  } else if (table.has("hex")) {
    c.kind = Content::Kind::kBytes;
    const std::string digits = table.text("hex", "");
    if (digits.find_first_not_of("0123456789abcdef ") != std::string::npos || digits.size() % 2 != 0)
      table.fail_at("hex", "is no even number of digits 0-9a-f");
    c.bytes = test::from_hex(digits);
  } else if (table.has("word")) {  // as programs see it: in the order of this machine
    c.kind = Content::Kind::kBytes;
    const std::uint64_t word = need_64_bits(table, "word");
    c.bytes.resize(sizeof word);
    std::memcpy(c.bytes.data(), &word, sizeof word);
  } else if (table.has("frames")) {
    c.kind = Content::Kind::kFrames;
    c.frames = need_frames(table, "frames");
  } else {
    table.fail("needs \"first\" and \"step\", \"hex\", \"word\" or \"frames\"");
  }
  table.finish();
  return c;
}

std::uint32_t access(ConfigSection& section, std::string_view key) {
  static constexpr std::array<Named<std::uint32_t>, 4> kRights{{{"local_write", kAccessLocalWrite},
                                                                {"remote_write", kAccessRemoteWrite},
                                                                {"remote_read", kAccessRemoteRead},
                                                                {"remote_atomic", kAccessRemoteAtomic}}};
  std::uint32_t rights = 0;
  for (const std::string& name : section.texts(key, {})) rights |= value_of(section, key, name, kRights);
  return rights;
}

Unknown::Unknown(ConfigSection& end) {
  for (const std::string& name : end.texts("unknown", {})) listed_.insert(name);
}

bool Unknown::given(ConfigSection& section, std::string_view key, const std::string& name) {
  asked_.insert(name);
  const bool here = section.has(key), listed = listed_.contains(name);
  if (here && listed) section.fail_at(key, "is given, and \"" + name + "\" is listed as unknown");
  if (!here && !listed)
    section.fail("needs the key \"" + section.path_of(key) + "\", or \"" + name +
                 "\" in the list `unknown` of its end");
  return here;
}

void Unknown::finish(ConfigSection& end) const {
  for (const std::string& name : listed_)
    if (!asked_.contains(name)) end.fail_at("unknown", "= \"" + name + "\" names no attribute of this end");
}

}  // namespace rocelab::captures
