// The C library's headers promise the compiler that some pointers are never null. A program may give a null
// one all the same, which the kernel refuses (EFAULT): here the compiler does not know of the promise.
#pragma once

namespace rocelab::libc {

template <class T>
T* without_nonnull(T* pointer) {
  asm("" : "+r"(pointer));
  return pointer;
}

}  // namespace rocelab::libc
