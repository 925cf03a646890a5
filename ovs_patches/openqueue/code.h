// Code: integral trees as a program's instructions. Equal code, constants and shares are kept once.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "ovs_patches/openqueue/model.h"

namespace rocelab::oq {

inline constexpr std::size_t kMostInstructions = 64, kRegisters = 64;

// Objects that are kContextObject in the code at hand.
struct Owner {
  std::uint32_t queue = kNoPolicyObject, buffer = kNoPolicyObject, port = kNoPolicyObject;
};

class Code {
 public:
  explicit Code(PolicyProgram& program) : program_(program) {}
  PolicyCode of(const Tree& tree, const Owner& owner);

 private:
  struct Less {
    bool operator()(const std::vector<PolicyInstruction>& a, const std::vector<PolicyInstruction>& b) const;
  };
  void emit(const Tree& tree, const Owner& owner, std::uint8_t to);
  std::uint32_t constant(std::int64_t value);
  std::uint32_t share(Rational value);

  PolicyProgram& program_;
  std::vector<PolicyInstruction> made_;
  std::map<std::vector<PolicyInstruction>, PolicyCode, Less> known_;
  std::map<std::int64_t, std::uint32_t> constants_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> shares_;
};

PolicyShare share_of(Rational value);

}  // namespace rocelab::oq
