// Rational: exact numbers of a program's text. 0.95 is 19/20 until it has been folded into integers, so that
// every machine and both engines compute the same.
#pragma once

#include <cstdint>
#include <numeric>
#include <optional>
#include <string>

namespace rocelab::oq {

// Always reduced, with a positive denominator. The operations return nothing where a result does not fit
// 63 bits, or would divide by zero.
class Rational {
 public:
  constexpr Rational() = default;
  constexpr explicit Rational(std::int64_t whole) : num_(whole) {}
  static std::optional<Rational> of(__int128 num, __int128 den) {
    if (den == 0) return std::nullopt;
    if (den < 0) num = -num, den = -den;
    __int128 a = num < 0 ? -num : num, b = den;
    while (b != 0) {
      const __int128 rest = a % b;
      a = b, b = rest;
    }
    if (a > 1) num /= a, den /= a;
    constexpr __int128 kMost = std::int64_t{1} << 62;
    if (num > kMost || num < -kMost || den > kMost) return std::nullopt;
    Rational made;
    made.num_ = static_cast<std::int64_t>(num);
    made.den_ = static_cast<std::int64_t>(den);
    return made;
  }

  std::int64_t num() const { return num_; }
  std::int64_t den() const { return den_; }
  bool is_whole() const { return den_ == 1; }
  bool is_zero() const { return num_ == 0; }

  friend std::optional<Rational> add(Rational a, Rational b) {
    return of(wide(a.num_) * b.den_ + wide(b.num_) * a.den_, wide(a.den_) * b.den_);
  }
  friend std::optional<Rational> sub(Rational a, Rational b) { return add(a, -b); }
  friend std::optional<Rational> mul(Rational a, Rational b) {
    return of(wide(a.num_) * b.num_, wide(a.den_) * b.den_);
  }
  friend std::optional<Rational> div(Rational a, Rational b) {
    return of(wide(a.num_) * b.den_, wide(a.den_) * b.num_);
  }
  Rational operator-() const {
    Rational minus = *this;
    minus.num_ = -num_;
    return minus;
  }
  friend bool operator==(Rational, Rational) = default;
  friend bool operator<(Rational a, Rational b) { return wide(a.num_) * b.den_ < wide(b.num_) * a.den_; }

  std::string text() const { return std::to_string(num_) + (is_whole() ? "" : "/" + std::to_string(den_)); }

 private:
  static __int128 wide(std::int64_t value) { return value; }
  std::int64_t num_ = 0, den_ = 1;
};

}  // namespace rocelab::oq
