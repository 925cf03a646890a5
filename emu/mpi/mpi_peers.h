// MpiPeers: the processes that mpirun has started, as the peers of a run.
#pragma once

#include <cstdint>
#include <vector>

#include "emu/des/peers.h"

namespace rocelab::mpi {

class MpiPeers final : public des::Peers {
 public:
  MpiPeers();  // starts MPI; once in a process
  ~MpiPeers() override { close(); }
  void close();  // ends it, together with the others
  std::uint32_t rank() const override { return rank_; }
  std::uint32_t ranks() const override { return ranks_; }
  std::vector<Buffer> exchange(const std::vector<Buffer>& out) override;
  double waited_s() const { return waited_s_; }  // in exchange(), for the others and for the network
  std::uint64_t sent_bytes() const { return sent_bytes_; }  // to the others
  [[noreturn]] static void abort(int status);               // of all processes

 private:
  std::uint32_t rank_ = 0, ranks_ = 0;
  bool open_ = true;
  double waited_s_ = 0;
  std::uint64_t sent_bytes_ = 0;
};

}  // namespace rocelab::mpi
