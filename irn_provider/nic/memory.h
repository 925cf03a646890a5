// Memory: the only way in which payload bytes are placed, gathered or read. The Nic has checked keys, bounds
// and rights before it calls. The live engine's goes to the process's own address space; virtual time's does
// nothing and always succeeds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace rocelab {

class Memory {
 public:
  virtual ~Memory() = default;
  // Copies between [addr, addr + length) of the program and `bytes`. `bytes` may be null when only lengths
  // exist.
  virtual void write(std::uint64_t addr, const std::byte* bytes, std::uint32_t length) = 0;
  virtual void read(std::uint64_t addr, std::byte* bytes, std::uint32_t length) = 0;
};

class NullMemory final : public Memory {
 public:
  void write(std::uint64_t, const std::byte*, std::uint32_t) override {}
  void read(std::uint64_t, std::byte*, std::uint32_t) override {}
};

// The address space of this process.
class ProcessMemory final : public Memory {
 public:
  void write(std::uint64_t addr, const std::byte* bytes, std::uint32_t length) override {
    std::memcpy(reinterpret_cast<void*>(addr), bytes, length);
  }
  void read(std::uint64_t addr, std::byte* bytes, std::uint32_t length) override {
    std::memcpy(bytes, reinterpret_cast<const void*>(addr), length);
  }
};

}  // namespace rocelab
