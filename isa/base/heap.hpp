// Large pages for the heap of a short process. Touching fresh memory page by page costs such a process as much as its
// work where page faults are dear (virtual machines); two-megabyte pages make hundreds of faults one.
// Only a hint: elsewhere than Linux with the GNU C library it does nothing. To be called once, first thing in main.
#pragma once

#include <cstdint>
#include <cstdlib>  // also says which C library this is

#if defined(__linux__) && defined(__GLIBC__)
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace systole {

inline void prefer_large_pages() {
#if defined(__linux__) && defined(__GLIBC__)
  constexpr int ahead = 64 << 20;  // address space taken at a time; memory only when touched
  constexpr std::uintptr_t page = 2U << 20U;
  mallopt(M_TOP_PAD, ahead);
  mallopt(M_TRIM_THRESHOLD, 2 * ahead);
  mallopt(M_MMAP_THRESHOLD, ahead / 2);  // setting the others stops the library from raising it
  void* volatile taken =
      std::malloc(1 << 20);  // more than a fresh heap has: takes the address space
  std::free(taken);          // volatile, or the pair is optimised away
  const auto end = reinterpret_cast<std::uintptr_t>(sbrk(0));
  const auto begin = (end - ahead + page - 1) / page * page;
  madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
}

}  // namespace systole
