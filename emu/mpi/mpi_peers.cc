#include "emu/mpi/mpi_peers.h"

#include <mpi.h>

#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string>

namespace rocelab::mpi {
namespace {

void check(int result, const char* what) {
  if (result == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(result, text, &length);
  throw std::runtime_error(std::string(what) + ": " + text);
}

int count_of(std::size_t bytes) {
  if (bytes > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    throw std::runtime_error("more than 2 GiB for one process at once: use more processes");
  return static_cast<int>(bytes);
}

}  // namespace

MpiPeers::MpiPeers() {
  int level = 0;
  check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level), "MPI_Init_thread");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int rank = 0, ranks = 0;
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  check(MPI_Comm_size(MPI_COMM_WORLD, &ranks), "MPI_Comm_size");
  rank_ = static_cast<std::uint32_t>(rank);
  ranks_ = static_cast<std::uint32_t>(ranks);
}

void MpiPeers::close() {
  if (open_) MPI_Finalize();
  open_ = false;
}

void MpiPeers::abort(int status) {
  MPI_Abort(MPI_COMM_WORLD, status);
  std::_Exit(status);
}

// Lengths, then bytes, all at once: with a few ranks both fit what MPI sends without asking first.
std::vector<des::Peers::Buffer> MpiPeers::exchange(const std::vector<Buffer>& out) {
  const double begin = MPI_Wtime();
  std::vector<int> send_counts(ranks_), receive_counts(ranks_), send_at(ranks_), receive_at(ranks_);
  std::vector<std::byte> send;
  for (std::uint32_t r = 0; r < ranks_; ++r) {
    send_at[r] = count_of(send.size());
    if (r == rank_) continue;
    send_counts[r] = count_of(out.at(r).size());
    send.insert(send.end(), out[r].begin(), out[r].end());
  }
  count_of(send.size());
  check(MPI_Alltoall(send_counts.data(), 1, MPI_INT, receive_counts.data(), 1, MPI_INT, MPI_COMM_WORLD),
        "MPI_Alltoall");
  std::size_t size = 0;
  for (std::uint32_t r = 0; r < ranks_; ++r) {
    receive_at[r] = count_of(size);
    size += static_cast<std::size_t>(receive_counts[r]);
  }
  std::vector<std::byte> received(static_cast<std::size_t>(count_of(size)));
  check(MPI_Alltoallv(send.data(), send_counts.data(), send_at.data(), MPI_BYTE, received.data(),
                      receive_counts.data(), receive_at.data(), MPI_BYTE, MPI_COMM_WORLD),
        "MPI_Alltoallv");
  waited_s_ += MPI_Wtime() - begin;
  sent_bytes_ += send.size();
  std::vector<Buffer> in(ranks_);
  for (std::uint32_t r = 0; r < ranks_; ++r)
    in[r].assign(received.begin() + receive_at[r], received.begin() + receive_at[r] + receive_counts[r]);
  return in;
}

}  // namespace rocelab::mpi
