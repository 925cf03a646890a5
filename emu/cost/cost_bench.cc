// One operation of operations.h once, for callgrind: `cost_bench NAME` prints how many there were. What is to
// be counted is CostLoop::run() of it.
#include <cstdio>

#include "emu/cost/operations.h"

int main(int argc, char** argv) {
  const auto loop = argc == 2 ? rocelab::make_cost_loop(argv[1]) : nullptr;
  if (!loop) {
    std::fprintf(stderr, "usage: cost_bench NAME; NAME is one of\n");
    for (const auto& operation : rocelab::cost_operations())
      std::fprintf(stderr, "  %.*s\n", static_cast<int>(operation.name.size()), operation.name.data());
    return 2;
  }
  loop->prepare();
  std::printf("%llu\n", static_cast<unsigned long long>(loop->run()));
}
