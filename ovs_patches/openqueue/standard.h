// standard.oq: orders, schedulers and conditions that every program may use. A program may declare these
// names again.
#pragma once

namespace rocelab::oq {

extern const char* const kStandardText;

}  // namespace rocelab::oq
