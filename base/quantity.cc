#include "base/quantity.h"

#include <cctype>
#include <limits>
#include <optional>
#include <string>

namespace rocelab {
namespace {

constexpr int kMostDecimals = 30;  // a power of ten that 128 bits hold

constexpr Unit kRates[] = {{"b/s", 1},
                           {"kb/s", 1'000},
                           {"Mb/s", 1'000'000},
                           {"Gb/s", 1'000'000'000},
                           {"Tb/s", 1'000'000'000'000},
                           {"bps", 1},
                           {"kbps", 1'000},
                           {"Mbps", 1'000'000},
                           {"Gbps", 1'000'000'000},
                           {"Tbps", 1'000'000'000'000},
                           {"bit/s", 1},
                           {"kbit/s", 1'000},
                           {"Mbit/s", 1'000'000},
                           {"Gbit/s", 1'000'000'000},
                           {"Tbit/s", 1'000'000'000'000}};
constexpr Unit kDurations[] = {{"ps", 1},         {"ns", 1'000},         {"us", 1'000'000},
                               {"µs", 1'000'000}, {"ms", 1'000'000'000}, {"s", 1'000'000'000'000}};
constexpr Unit kSizes[] = {{"B", 1},           {"KB", 1'000},         {"kB", 1'000},
                           {"MB", 1'000'000},  {"GB", 1'000'000'000}, {"KiB", 1'024},
                           {"MiB", 1'048'576}, {"GiB", 1'073'741'824}};

struct Kind {
  std::span<const Unit> units;
  std::int64_t most;     // of the smallest unit
  const char* shown;     // this, as a complaint writes it
  const char* what;      // "a rate"
  const char* smallest;  // "bit/s"
  const char* example;
};

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
  throw QuantityError("\"" + std::string(text) + "\" " + why);
}

// Digits with an optional fraction, as mantissa * 10^-decimals.
struct Decimal {
  __int128 mantissa = 0;
  int decimals = 0;
  std::size_t length = 0;  // characters of the text that it took
};

std::optional<Decimal> parse_decimal(std::string_view text) {
  Decimal d;
  bool point = false, digit = false;
  for (const char c : text) {
    if (c == '.' && !point) {
      point = true;
    } else if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      digit = true;
      if (d.mantissa > std::numeric_limits<std::int64_t>::max()) return std::nullopt;
      d.mantissa = d.mantissa * 10 + (c - '0');
      d.decimals += point ? 1 : 0;
    } else {
      break;
    }
    ++d.length;
  }
  return digit ? std::optional(d) : std::nullopt;
}

std::string list(std::span<const Unit> units) {
  std::string names;
  for (const Unit& u : units) names += (names.empty() ? "" : ", ") + std::string(u.name);
  return names;
}

std::int64_t parse(std::string_view text, const Kind& kind) {
  const std::string example = std::string("; write for example \"") + kind.example + "\"";
  const std::optional<Decimal> number = parse_decimal(text);
  if (!number) refuse(text, std::string("is not ") + kind.what + example);
  std::string_view unit = text.substr(number->length);
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  if (unit.empty()) refuse(text, "has no unit" + example);
  for (const Unit& u : kind.units) {
    if (u.name != unit) continue;
    if (number->decimals > kMostDecimals)
      refuse(text, "has more than " + std::to_string(kMostDecimals) + " decimals");
    __int128 value = number->mantissa * u.factor, divisor = 1;
    for (int i = 0; i < number->decimals; ++i) divisor *= 10;
    if (value % divisor != 0) refuse(text, std::string("is not a whole number of ") + kind.smallest);
    value /= divisor;
    if (value > kind.most) refuse(text, std::string("is more than ") + kind.shown);
    return static_cast<std::int64_t>(value);
  }
  refuse(text, "has the unknown unit \"" + std::string(unit) + "\"; known: " + list(kind.units));
}

}  // namespace

std::span<const Unit> rate_units() { return kRates; }
std::span<const Unit> duration_units() { return kDurations; }
std::span<const Unit> size_units() { return kSizes; }

Rate parse_rate(std::string_view text) {
  return Rate::from_bps(parse(text, {kRates, kHighestRate.bps(), "100Tb/s", "a rate", "bit/s", "40Gb/s"}));
}
Duration parse_duration(std::string_view text) {
  return Duration::from_ps(
      parse(text, {kDurations, kLongestDuration.ps(), "1000000s", "a duration", "picoseconds", "2us"}));
}
Bytes parse_bytes(std::string_view text) {
  return Bytes::from_count(parse(text, {kSizes, kMostBytes.count(), "1000GB", "a size", "bytes", "240KB"}));
}

}  // namespace rocelab
