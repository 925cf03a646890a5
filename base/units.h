// Time, Duration, Rate and Bytes: integer quantities that know their dimension.
// Time is a point and Duration a length of experiment time, both in picoseconds (1 bit at 400 Gb/s is 2.5
// ps). Only operators that make sense in the dimensions exist; products go through __int128, so none
// overflows on the way. KB and MB are decimal (1000, 10^6), KiB and MiB binary, everywhere in the project.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <string>

namespace rocelab {

class Duration {
 public:
  constexpr Duration() = default;
  static constexpr Duration from_ps(std::int64_t ps) { return Duration(ps); }
  static constexpr Duration infinite() { return Duration(std::numeric_limits<std::int64_t>::max()); }
  constexpr std::int64_t ps() const { return ps_; }
  constexpr double seconds() const { return static_cast<double>(ps_) * 1e-12; }
  friend constexpr auto operator<=>(Duration, Duration) = default;
  friend constexpr Duration operator+(Duration a, Duration b) { return Duration(a.ps_ + b.ps_); }
  friend constexpr Duration operator-(Duration a, Duration b) { return Duration(a.ps_ - b.ps_); }
  friend constexpr Duration operator*(Duration a, std::int64_t n) { return Duration(a.ps_ * n); }
  friend constexpr Duration operator*(std::int64_t n, Duration a) { return a * n; }
  friend constexpr Duration operator/(Duration a, std::int64_t n) { return Duration(a.ps_ / n); }
  friend constexpr std::int64_t operator/(Duration a, Duration b) { return a.ps_ / b.ps_; }
  constexpr Duration& operator+=(Duration b) { return ps_ += b.ps_, *this; }
  constexpr Duration& operator-=(Duration b) { return ps_ -= b.ps_, *this; }

 private:
  constexpr explicit Duration(std::int64_t ps) : ps_(ps) {}
  std::int64_t ps_ = 0;
};

class Time {
 public:
  constexpr Time() = default;
  static constexpr Time from_ps(std::int64_t ps) { return Time(ps); }
  static constexpr Time zero() { return Time(0); }
  static constexpr Time never() { return Time(std::numeric_limits<std::int64_t>::max()); }
  constexpr std::int64_t ps() const { return ps_; }
  constexpr double seconds() const { return static_cast<double>(ps_) * 1e-12; }
  constexpr bool is_never() const { return ps_ == never().ps_; }
  friend constexpr auto operator<=>(Time, Time) = default;
  // never() absorbs: a deadline that is off stays off.
  friend constexpr Time operator+(Time t, Duration d) {
    return t.is_never() || d == Duration::infinite() ? never() : Time(t.ps_ + d.ps());
  }
  friend constexpr Time operator-(Time t, Duration d) {
    return t.is_never() ? never() : Time(t.ps_ - d.ps());
  }
  friend constexpr Duration operator-(Time a, Time b) { return Duration::from_ps(a.ps_ - b.ps_); }

 private:
  constexpr explicit Time(std::int64_t ps) : ps_(ps) {}
  std::int64_t ps_ = 0;
};

class Bytes {
 public:
  constexpr Bytes() = default;
  static constexpr Bytes from_count(std::int64_t n) { return Bytes(n); }
  constexpr std::int64_t count() const { return n_; }
  friend constexpr auto operator<=>(Bytes, Bytes) = default;
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return Bytes(a.n_ + b.n_); }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return Bytes(a.n_ - b.n_); }
  friend constexpr Bytes operator*(Bytes a, std::int64_t k) { return Bytes(a.n_ * k); }
  friend constexpr Bytes operator*(std::int64_t k, Bytes a) { return a * k; }
  friend constexpr Bytes operator/(Bytes a, std::int64_t k) { return Bytes(a.n_ / k); }
  friend constexpr std::int64_t operator/(Bytes a, Bytes b) { return a.n_ / b.n_; }
  constexpr Bytes& operator+=(Bytes b) { return n_ += b.n_, *this; }
  constexpr Bytes& operator-=(Bytes b) { return n_ -= b.n_, *this; }

 private:
  constexpr explicit Bytes(std::int64_t n) : n_(n) {}
  std::int64_t n_ = 0;
};

class Rate {
 public:
  constexpr Rate() = default;
  static constexpr Rate from_bps(std::int64_t bps) { return Rate(bps); }
  constexpr std::int64_t bps() const { return bps_; }
  friend constexpr auto operator<=>(Rate, Rate) = default;
  friend constexpr Rate operator+(Rate a, Rate b) { return Rate(a.bps_ + b.bps_); }
  friend constexpr Rate operator-(Rate a, Rate b) { return Rate(a.bps_ - b.bps_); }
  friend constexpr Rate operator*(Rate a, std::int64_t k) { return Rate(a.bps_ * k); }
  friend constexpr Rate operator/(Rate a, std::int64_t k) { return Rate(a.bps_ / k); }

 private:
  constexpr explicit Rate(std::int64_t bps) : bps_(bps) {}
  std::int64_t bps_ = 0;
};

// Time that `bytes` take at `rate`, rounded up to a picosecond: a link is never faster than it is.
// `rate` must be positive.
constexpr Duration transfer_time(Bytes bytes, Rate rate) {
  const __int128 bit_ps = static_cast<__int128>(bytes.count()) * 8 * 1'000'000'000'000;
  return Duration::from_ps(static_cast<std::int64_t>((bit_ps + rate.bps() - 1) / rate.bps()));
}

// What a frame occupies on an Ethernet wire beyond its bytes from header to payload:
// FCS 4, preamble and start delimiter 8, inter-frame gap 12 (IEEE 802.3 clauses 3 and 4).
inline constexpr Bytes kFcsBytes = Bytes::from_count(4);
inline constexpr Bytes kPreambleAndGapBytes = Bytes::from_count(20);
inline constexpr Bytes kMinFrameBytes = Bytes::from_count(60);  // without FCS

constexpr Bytes wire_bytes(Bytes frame) { return frame + kFcsBytes + kPreambleAndGapBytes; }

// Serialisation time of a frame given its bytes from Ethernet header to payload, without FCS.
constexpr Duration wire_time(Bytes frame, Rate rate) { return transfer_time(wire_bytes(frame), rate); }

// Bytes that pass at `rate` in `d`, rounded down.
constexpr Bytes bytes_in(Duration d, Rate rate) {
  const __int128 bit_ps = static_cast<__int128>(d.ps()) * rate.bps();
  return Bytes::from_count(static_cast<std::int64_t>(bit_ps / 8 / 1'000'000'000'000));
}

inline namespace literals {
constexpr Duration operator""_ps(unsigned long long n) {
  return Duration::from_ps(static_cast<std::int64_t>(n));
}
constexpr Duration operator""_ns(unsigned long long n) {
  return Duration::from_ps(static_cast<std::int64_t>(n) * 1'000);
}
constexpr Duration operator""_us(unsigned long long n) {
  return Duration::from_ps(static_cast<std::int64_t>(n) * 1'000'000);
}
constexpr Duration operator""_ms(unsigned long long n) {
  return Duration::from_ps(static_cast<std::int64_t>(n) * 1'000'000'000);
}
constexpr Duration operator""_s(unsigned long long n) {
  return Duration::from_ps(static_cast<std::int64_t>(n) * 1'000'000'000'000);
}
constexpr Bytes operator""_B(unsigned long long n) { return Bytes::from_count(static_cast<std::int64_t>(n)); }
constexpr Bytes operator""_KB(unsigned long long n) {
  return Bytes::from_count(static_cast<std::int64_t>(n) * 1'000);
}
constexpr Bytes operator""_MB(unsigned long long n) {
  return Bytes::from_count(static_cast<std::int64_t>(n) * 1'000'000);
}
constexpr Bytes operator""_KiB(unsigned long long n) {
  return Bytes::from_count(static_cast<std::int64_t>(n) * 1'024);
}
constexpr Bytes operator""_MiB(unsigned long long n) {
  return Bytes::from_count(static_cast<std::int64_t>(n) * 1'048'576);
}
constexpr Rate operator""_bps(unsigned long long n) { return Rate::from_bps(static_cast<std::int64_t>(n)); }
constexpr Rate operator""_Mbps(unsigned long long n) {
  return Rate::from_bps(static_cast<std::int64_t>(n) * 1'000'000);
}
constexpr Rate operator""_Gbps(unsigned long long n) {
  return Rate::from_bps(static_cast<std::int64_t>(n) * 1'000'000'000);
}
}  // namespace literals

// Exact text in the largest unit that divides the value: "2us", "217600ps", "40Gbps", "240KB".
std::string to_string(Duration d);
std::string to_string(Time t);
std::string to_string(Bytes b);
std::string to_string(Rate r);

}  // namespace rocelab
