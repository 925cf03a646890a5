// gloo's all-reduce over its ibverbs transport. Ranks find one another through files in a folder that all of
// them see.
//   all_reduce RANK RANKS FOLDER TIMES
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/barrier_all_to_all.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/ibverbs/device.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 5) return std::fprintf(stderr, "all_reduce RANK RANKS FOLDER TIMES\n"), 2;
  const int rank = std::atoi(argv[1]), ranks = std::atoi(argv[2]), times = std::atoi(argv[4]);
  auto device = gloo::transport::ibverbs::CreateDevice({"rocelab0", 1, 1});
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
  gloo::rendezvous::FileStore store(argv[3]);
  context->connectFullMesh(store, device);
  gloo::BarrierAllToAll barrier(context);

  for (const int elements : {1, 1000, 100000}) {
    std::vector<float> values(elements);
    gloo::AllreduceRingChunked<float> reduce(context, {values.data()}, elements);
    for (int time = 0; time < times; ++time) {
      for (int i = 0; i < elements; ++i) values[i] = static_cast<float>((rank + 1) * (i % 101 + time));
      reduce.run();
      for (int i = 0; i < elements; ++i) {
        const auto expected = static_cast<float>(ranks * (ranks + 1) / 2 * (i % 101 + time));
        if (values[i] == expected) continue;
        return std::fprintf(stderr, "all_reduce: element %d of %d: %g, not %g\n", i, elements, values[i],
                            expected),
               1;
      }
    }
    barrier.run();
    usleep(100000);  // gloo aborts where an algorithm is destroyed before its device's thread has seen the
                     // last completion
  }
  std::printf("all_reduce: rank %d of %d: right\n", rank, ranks);
}
