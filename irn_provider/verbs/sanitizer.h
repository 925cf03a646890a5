// Whether a test runs under ThreadSanitizer. It takes some of what tests do on purpose for mistakes, and
// delivers signals when a thread next calls the C library, so a thread that polls memory is never found.
#pragma once

namespace rocelab {

#ifdef __SANITIZE_THREAD__
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif

}  // namespace rocelab
