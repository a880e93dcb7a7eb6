// Splitting a range of independent work among threads; which thread does what never shows in the result.
#pragma once

#include <cstddef>
#include <functional>

namespace systole::solver::exact {

// Calls part(begin, end) on disjoint ranges that cover 0..count, on up to `threads` threads; returns when all are done.
void parallel_ranges(std::size_t count, int threads,
                     const std::function<void(std::size_t, std::size_t)>& part);

}  // namespace systole::solver::exact
