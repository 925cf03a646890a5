// How long a collective takes, as nccl-tests and the OSU benchmarks measure it: `collective_times OPERATION
// BYTES ITERATIONS`, BYTES as docs/explanation/collectives.md has it. Prints three means over iterations, in
// microseconds: the slowest rank's own time, which is what those benchmarks print; and to the last rank's end
// from the last one's begin, before which nobody is through where all wait for all, and from rank 0's begin,
// which is the root of a broadcast. Hosts of a topology share CLOCK_REALTIME. A barrier stands before each
// iteration, which ranks leave at other times, and one more iteration connects the ranks.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int rank, ranks;

static void run(const char* operation, int bytes, float* sent, float* got) {
  const int all = bytes / (int)sizeof(float), each = all / ranks;
  if (strcmp(operation, "all-reduce") == 0)
    MPI_Allreduce(sent, got, all, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  else if (strcmp(operation, "all-gather") == 0)
    MPI_Allgather(sent, each, MPI_FLOAT, got, each, MPI_FLOAT, MPI_COMM_WORLD);
  else if (strcmp(operation, "reduce-scatter") == 0)
    MPI_Reduce_scatter_block(sent, got, each, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  else if (strcmp(operation, "all-to-all") == 0)
    MPI_Alltoall(sent, each, MPI_FLOAT, got, each, MPI_FLOAT, MPI_COMM_WORLD);
  else
    MPI_Bcast(got, all, MPI_FLOAT, 0, MPI_COMM_WORLD);
}

static long long now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 4) return 2;
  const int bytes = atoi(argv[2]), iterations = atoi(argv[3]);
  float* sent = calloc(1, (size_t)bytes);
  float* got = calloc(1, (size_t)bytes);
  double slowest_sum = 0, latest_sum = 0, root_sum = 0;
  for (int i = -1; i < iterations; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const long long begin = now_ns();
    run(argv[1], bytes, sent, got);
    const long long end = now_ns(), mine = end - begin;
    long long latest = 0, last = 0, slowest = 0;
    MPI_Reduce(&begin, &latest, 1, MPI_LONG_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&end, &last, 1, MPI_LONG_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&mine, &slowest, 1, MPI_LONG_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
    if (i < 0) continue;
    slowest_sum += (double)slowest;
    latest_sum += (double)(last - latest);
    root_sum += (double)(last - begin);  // at rank 0
  }
  if (rank == 0)
    printf("%s %d bytes, %d ranks: %.3f us, %.3f us, %.3f us\n", argv[1], bytes, ranks,
           slowest_sum / iterations * 1e-3, latest_sum / iterations * 1e-3, root_sum / iterations * 1e-3);
  free(sent);
  free(got);
  MPI_Finalize();
  return 0;
}
