// What MPI programs do beyond a ping-pong, on every rank: `collectives ELEMENTS...` checks each result and
// prints what has run.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, ranks, elements, failures;

static void claim(int holds, const char* what) {
  int all = 0;
  MPI_Allreduce(&holds, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  if (rank == 0) printf("%s of %d: %s\n", what, elements, all ? "right" : "WRONG");
  failures += !all;
}

// A value that tells who made it, for whom, and its place.
static int value(int from, int to, int i) { return from * 1000003 + to * 10007 + i; }

static void collectives(void) {
  int* sent = malloc(sizeof(int) * ranks * elements);
  int* got = calloc(ranks * elements, sizeof(int));
  int right = 1;
  for (int i = 0; i < elements; ++i) sent[i] = rank + i;
  MPI_Allreduce(sent, got, elements, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < elements; ++i) right &= got[i] == ranks * (ranks - 1) / 2 + ranks * i;
  claim(right, "MPI_Allreduce");

  for (int to = 0; to < ranks; ++to)
    for (int i = 0; i < elements; ++i) sent[to * elements + i] = value(rank, to, i);
  MPI_Alltoall(sent, elements, MPI_INT, got, elements, MPI_INT, MPI_COMM_WORLD);
  right = 1;
  for (int from = 0; from < ranks; ++from)
    for (int i = 0; i < elements; ++i) right &= got[from * elements + i] == value(from, rank, i);
  claim(right, "MPI_Alltoall");

  right = 1;
  for (int root = 0; root < ranks; ++root) {
    for (int i = 0; i < elements; ++i) got[i] = rank == root ? value(root, 7, i) : -1;
    MPI_Bcast(got, elements, MPI_INT, root, MPI_COMM_WORLD);
    for (int i = 0; i < elements; ++i) right &= got[i] == value(root, 7, i);
  }
  claim(right, "MPI_Bcast");
  free(sent);
  free(got);
}

// Every rank puts to its right, gets from its left, and all add to one counter of rank 0.
static void one_sided(void) {
  int* memory;
  MPI_Win window;
  MPI_Win_allocate(sizeof(int) * (2 * elements + 1), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                   &window);
  int* mine = malloc(sizeof(int) * elements);
  int* theirs = calloc(elements, sizeof(int));
  const int right_of = (rank + 1) % ranks, left_of = (rank + ranks - 1) % ranks, counter = 2 * elements;
  int right = 1;
  for (int i = 0; i < elements; ++i) {
    mine[i] = value(rank, right_of, i);
    memory[i] = -1;
    memory[elements + i] = value(rank, rank, i);
  }
  memory[counter] = 0;
  MPI_Win_fence(0, window);
  MPI_Put(mine, elements, MPI_INT, right_of, 0, elements, MPI_INT, window);
  MPI_Get(theirs, elements, MPI_INT, left_of, elements, elements, MPI_INT, window);
  MPI_Win_fence(0, window);
  for (int i = 0; i < elements; ++i)
    right &= memory[i] == value(left_of, rank, i) && theirs[i] == value(left_of, left_of, i);
  claim(right, "MPI_Put, MPI_Get");

  int old = -1, highest = -1;
  const int one = 1;
  for (int i = 0; i < 20; ++i) {
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    MPI_Fetch_and_op(&one, &old, MPI_INT, 0, counter, MPI_SUM, window);
    MPI_Win_unlock(0, window);
    right &= old > highest;
    highest = old;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
  MPI_Fetch_and_op(NULL, &old, MPI_INT, 0, counter, MPI_NO_OP, window);
  MPI_Win_unlock(0, window);
  claim(right && old == 20 * ranks, "MPI_Fetch_and_op");
  MPI_Win_free(&window);
  free(mine);
  free(theirs);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 1; i < argc; ++i) {
    elements = atoi(argv[i]);
    collectives();
    one_sided();
  }
  MPI_Finalize();
  return failures != 0 || argc < 2;
}
