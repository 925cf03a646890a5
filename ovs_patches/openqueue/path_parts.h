// Small questions about paths, for the sources of Resolver.
#pragma once

#include <algorithm>
#include <string>

#include "ovs_patches/openqueue/resolve.h"

namespace rocelab::oq {

inline bool is_index(const PathPart& part) {
  return part.kind == PathPart::Kind::kIndex || part.kind == PathPart::Kind::kRange ||
         part.kind == PathPart::Kind::kAll;
}

// Of a queue, buffer or port.
inline ObjectKind object_kind(const Ref& of) {
  return of.kind == Ref::Kind::kQueue    ? ObjectKind::kQueue
         : of.kind == Ref::Kind::kBuffer ? ObjectKind::kBuffer
                                         : ObjectKind::kPort;
}

// The path as far as its part `to`, for messages.
inline std::string up_to(const Path& path, std::size_t to) {
  return print(Path(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(std::min(to, path.size()))));
}

}  // namespace rocelab::oq
