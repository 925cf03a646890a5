// Peers: the processes that share one run, each with some of its parts. They meet once per window.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rocelab::des {

class Peers {
 public:
  using Buffer = std::vector<std::byte>;
  virtual ~Peers() = default;
  virtual std::uint32_t rank() const = 0;
  virtual std::uint32_t ranks() const = 0;
  // Sends out[r] to rank r, and returns what each has sent here, by rank; of the own one nothing. All ranks
  // call it equally often. Throws std::runtime_error when one has gone.
  virtual std::vector<Buffer> exchange(const std::vector<Buffer>& out) = 0;
};

}  // namespace rocelab::des
