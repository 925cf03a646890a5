// Calls that this device does not offer. Each would crash in the real library, whose private part of our
// context is not there, so each has its answer here: EOPNOTSUPP.
#include <cerrno>

#include "irn_provider/verbs/exports.h"
#include "irn_provider/verbs/objects.h"
#include "irn_provider/verbs/real_verbs.h"

namespace rocelab::verbs {

int unsupported(const char* what) {
  debug("%s is not offered by this device", what);
  return EOPNOTSUPP;
}

}  // namespace rocelab::verbs

using namespace rocelab::verbs;

// A function whose answer is an error number, one that answers with a null pointer, one without an answer.
#define UNSUPPORTED(name, parameters, arguments)       \
  RL_EXPORT int name parameters {                      \
    if (!in_experiment()) return REAL(name) arguments; \
    return answer(unsupported(#name));                 \
  }
#define UNSUPPORTED_OBJECT(type, name, parameters, arguments) \
  RL_EXPORT type* name parameters {                           \
    if (!in_experiment()) return REAL(name) arguments;        \
    return unsupported_object<type>(#name);                   \
  }
#define UNSUPPORTED_VOID(name, parameters, arguments)  \
  RL_EXPORT void name parameters {                     \
    if (!in_experiment()) return REAL(name) arguments; \
    errno = unsupported(#name);                        \
  }

// Memory beyond plain regions
UNSUPPORTED_OBJECT(ibv_mr, ibv_reg_dmabuf_mr,
                   (ibv_pd * pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access),
                   (pd, offset, length, iova, fd, access))
UNSUPPORTED_OBJECT(ibv_dm, ibv_import_dm, (ibv_context * context, uint32_t handle), (context, handle))
UNSUPPORTED_VOID(ibv_unimport_dm, (ibv_dm * dm), (dm))

// Objects shared with another process
UNSUPPORTED_OBJECT(ibv_context, ibv_import_device, (int fd), (fd))
UNSUPPORTED_OBJECT(ibv_pd, ibv_import_pd, (ibv_context * context, uint32_t handle), (context, handle))
UNSUPPORTED_VOID(ibv_unimport_pd, (ibv_pd * pd), (pd))
UNSUPPORTED_OBJECT(ibv_mr, ibv_import_mr, (ibv_pd * pd, uint32_t handle), (pd, handle))
UNSUPPORTED_VOID(ibv_unimport_mr, (ibv_mr * mr), (mr))

// Others
UNSUPPORTED(ibv_set_ece, (ibv_qp * qp, ibv_ece* ece), (qp, ece))
UNSUPPORTED(ibv_query_ece, (ibv_qp * qp, ibv_ece* ece), (qp, ece))
