// Calls that libibverbs has gained after the version that we build against (rdma-core 44). They would crash
// on our context too, so they get the same answer. Their types are unknown here: they take pointers and
// integers, at most six, which travel in registers whatever their types are. exported_symbols_test.cc notices
// when an installed library has one that is in neither list.
#include <cerrno>
#include <cstdint>

#include "irn_provider/verbs/exports.h"
#include "irn_provider/verbs/real_verbs.h"

namespace {

using Word = std::uintptr_t;
using Call = Word (*)(Word, Word, Word, Word, Word, Word);

Word forward(const char* name, Word a, Word b, Word c, Word d, Word e, Word f) {
  return reinterpret_cast<Call>(rocelab::verbs::real_symbol(name))(a, b, c, d, e, f);
}

}  // namespace

// `answer`: what a caller takes for a refusal.
#define NEWER(name, answer)                                                        \
  RL_EXPORT Word name(Word a, Word b, Word c, Word d, Word e, Word f) {            \
    if (!rocelab::verbs::in_experiment()) return forward(#name, a, b, c, d, e, f); \
    errno = EOPNOTSUPP;                                                            \
    return answer;                                                                 \
  }

NEWER(ibv_alloc_buf, 0)
NEWER(ibv_free_buf, EOPNOTSUPP)
NEWER(ibv_reg_buf_mr, 0)
NEWER(ibv_reg_mr_ex, 0)
NEWER(ibv_alloc_dmah, 0)
NEWER(ibv_dealloc_dmah, EOPNOTSUPP)
NEWER(ibv_query_port_speed, EOPNOTSUPP)
NEWER(ibv_dm_export_dmabuf_fd, static_cast<Word>(-1))
