#include "compiler/solver/exact/parallel.hpp"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>

namespace systole::solver::exact {

void parallel_ranges(std::size_t count, int threads,
                     const std::function<void(std::size_t, std::size_t)>& part) {
  const std::size_t pieces = std::min(count, static_cast<std::size_t>(std::max(threads, 1)) * 8);
  if (threads <= 1 || pieces <= 1) {
    part(0, count);
    return;
  }
  tbb::task_arena arena(std::min(threads, tbb::info::default_concurrency()));
  arena.execute([&] {
    tbb::parallel_for(std::size_t{0}, pieces, [&](std::size_t piece) {
      part(count * piece / pieces, count * (piece + 1) / pieces);
    });
  });
}

}  // namespace systole::solver::exact
