// MPI ping-pong between ranks 0 and 1: `pingpong BYTES ITERATIONS` prints half a round trip. Checks the bytes.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int bytes = argc > 1 ? atoi(argv[1]) : 8, iterations = argc > 2 ? atoi(argv[2]) : 100;
  char* buffer = calloc(1, bytes);
  int wrong = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; i < iterations; ++i) {
    if (rank == 0) {
      memset(buffer, i, bytes);
      MPI_Send(buffer, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
      memset(buffer, 0, bytes);
    }
    MPI_Recv(buffer, bytes, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    wrong |= buffer[0] != (char)i || buffer[bytes - 1] != (char)i;
    if (rank == 1) MPI_Send(buffer, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
  }
  if (rank == 0) printf("%d bytes: %.3f us\n", bytes, (MPI_Wtime() - begin) / iterations / 2 * 1e6);
  MPI_Finalize();
  return wrong;
}
