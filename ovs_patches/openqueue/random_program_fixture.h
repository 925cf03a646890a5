// Texts of random programs, nearly all of them valid, over what the language has: for comparisons of what the
// switch runs with what a program means.
#pragma once

#include <cstdint>
#include <string>

#include "ovs_patches/openqueue/choices_fixture.h"

namespace rocelab::oq {

inline constexpr std::size_t kRandomPorts = 3;  // of the switch that they are for

class RandomProgram {
 public:
  explicit RandomProgram(const Choices& choices) : choices_(choices) {}
  std::string text();
  const Choices& choices() const { return choices_; }  // that are left

 private:
  enum class Where { kQueue, kBuffer, kPort, kSelect, kTurn };
  bool one_in(std::uint64_t n) { return choices_.below(n) == 0; }
  std::string number(std::uint64_t from, std::uint64_t to) {
    return std::to_string(from + choices_.below(to - from + 1));
  }
  template <class... Texts>
  std::string any(Texts... texts) {
    const std::string all[] = {std::string(texts)...};
    return all[choices_.below(sizeof...(texts))];
  }
  std::string bytes(Where where, int depth);
  std::string count(Where where, int depth);  // a number
  std::string time(Where where, int depth);
  std::string predicate(Where where, int depth);
  std::string actions(Where where, bool drops);
  std::string cases(Where where, bool drops);
  std::string packet_key(const std::string& p);
  std::string packet_order();
  std::string queue_order();
  std::string lexicographic(const std::string& a, const std::string& b, const auto& key);
  std::string size();
  std::string turn();
  std::string every_port();
  std::string crossbar();
  std::string describe_queue(const std::string& path);

  Choices choices_;
  bool in_packets_ = false, buffer_ = false, turns_ = false;
  int chances_ = 0;
};

}  // namespace rocelab::oq
