// Numbers on the command line.
#pragma once

#include <charconv>
#include <cstring>
#include <stdexcept>
#include <string>

namespace rocelab::app {

// The whole of `text` as a number from `min` to `max`; throws std::runtime_error that names the option.
template <class T>
T to_integer(const char* option, const char* text, T min, T max) {
  T value{};
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, value);
  if (error != std::errc() || stop != end || value < min || value > max)
    throw std::runtime_error(std::string(option) + " takes a whole number from " + std::to_string(min) +
                             " to " + std::to_string(max) + ", not '" + text + "'");
  return value;
}

}  // namespace rocelab::app
