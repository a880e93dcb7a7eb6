#include "isa/engine_share.hpp"

#include <algorithm>
#include <utility>

namespace systole::isa {

std::vector<std::int64_t> partitions_per_engine(const DmaAccess& access, const Machine& machine) {
  const int per_engine =
      std::max(1, (machine.partitions + machine.dma_engines - 1) / machine.dma_engines);
  std::vector<std::int64_t> count(static_cast<std::size_t>(machine.dma_engines), 0);
  int across = 0;
  DmaDim step;
  for (int d = 0; d < access.rank; ++d) {
    const DmaDim& dim = access.dims[static_cast<std::size_t>(d)];
    if (dim.across && dim.extent > 1) {
      ++across;
      step = dim;
    }
  }
  if (across == 0 ||
      (across == 1 && step.stride == 1)) {  // neighbouring partitions: nearly every transfer
    const int end = access.partition + (across == 0 ? 1 : step.extent);
    for (int p = access.partition; p < end;) {
      const int engine = p / per_engine;
      const int stop = std::min(end, (engine + 1) * per_engine);
      count[static_cast<std::size_t>(engine)] += stop - p;
      p = stop;
    }
    return count;
  }
  std::vector<bool> touched(static_cast<std::size_t>(machine.partitions), false);
  touched[static_cast<std::size_t>(access.partition)] = true;
  for (int d = 0; d < access.rank; ++d) {
    const DmaDim& dim = access.dims[static_cast<std::size_t>(d)];
    if (!dim.across || dim.extent == 1) {
      continue;
    }
    std::vector<bool> next(touched.size(), false);
    for (std::size_t p = 0; p < touched.size(); ++p) {
      for (std::int32_t i = 0; touched[p] && i < dim.extent; ++i) {
        const std::int64_t to = static_cast<std::int64_t>(p) + dim.stride * i;
        if (to >= 0 && to < machine.partitions) {
          next[static_cast<std::size_t>(to)] = true;
        }
      }
    }
    touched = std::move(next);
  }
  for (std::size_t p = 0; p < touched.size(); ++p) {
    count[p / static_cast<std::size_t>(per_engine)] += touched[p] ? 1 : 0;
  }
  return count;
}

}  // namespace systole::isa
