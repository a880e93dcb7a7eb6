// The heap of the executables: mimalloc on large pages. A program of millions of instructions is spread over gigabytes; with
// pages of 4 KiB, finding their addresses takes longer than the work on them (more so in a virtual machine), and touching fresh
// memory page by page takes as long as a short run. Only a hint: without large pages the system's own are used.
// To be called once, first thing in main.
#pragma once

#include <mimalloc.h>

namespace systole {

inline void prefer_large_pages() {
  mi_option_enable(mi_option_large_os_pages);
  mi_option_disable(
      mi_option_allow_decommit);  // what is given back comes back as fresh memory, to be cleared
}

}  // namespace systole
