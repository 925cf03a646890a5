// Memory: the only way in which payload bytes are placed, gathered or read. The Nic has checked keys, bounds
// and rights before it calls. The live engine's goes to the process's own address space; virtual time's does
// nothing and always succeeds.
#pragma once

#include <atomic>
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
  // Atomic operations on the 8 bytes at `addr`, which is a multiple of 8; a host-order integer, as programs
  // see it (IBTA 9.4.5). They return what was there before, and are atomic with respect to the program's own.
  virtual std::uint64_t compare_swap(std::uint64_t addr, std::uint64_t compare, std::uint64_t swap) = 0;
  virtual std::uint64_t fetch_add(std::uint64_t addr, std::uint64_t add) = 0;
};

class NullMemory final : public Memory {
 public:
  void write(std::uint64_t, const std::byte*, std::uint32_t) override {}
  void read(std::uint64_t, std::byte*, std::uint32_t) override {}
  std::uint64_t compare_swap(std::uint64_t, std::uint64_t, std::uint64_t) override { return 0; }
  std::uint64_t fetch_add(std::uint64_t, std::uint64_t) override { return 0; }
};

// The address space of this process.
class ProcessMemory final : public Memory {
 public:
  // The last aligned word becomes visible last. A program may poll the last bytes of a message on another
  // processor and read the rest once they have changed, as adapters that write in order allow; memcpy() alone
  // may store the end of a block first.
  void write(std::uint64_t addr, const std::byte* bytes, std::uint32_t length) override {
    if (length == 0) return;
    const std::uint64_t end = addr + length;
    const std::uint64_t tail = (end - 1) & ~std::uint64_t{7};
    if (tail <= addr) {
      std::memcpy(reinterpret_cast<void*>(addr), bytes, length);
      return;
    }
    std::memcpy(reinterpret_cast<void*>(addr), bytes, tail - addr);
    std::atomic_thread_fence(std::memory_order_release);
    std::memcpy(reinterpret_cast<void*>(tail), bytes + (tail - addr), end - tail);
  }
  void read(std::uint64_t addr, std::byte* bytes, std::uint32_t length) override {
    std::memcpy(bytes, reinterpret_cast<const void*>(addr), length);
  }
  std::uint64_t compare_swap(std::uint64_t addr, std::uint64_t compare, std::uint64_t swap) override {
    cell(addr).compare_exchange_strong(compare, swap);
    return compare;  // what was there, whether it matched or not
  }
  std::uint64_t fetch_add(std::uint64_t addr, std::uint64_t add) override {
    return cell(addr).fetch_add(add);
  }

 private:
  static std::atomic_ref<std::uint64_t> cell(std::uint64_t addr) {
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(addr));
  }
};

}  // namespace rocelab
