// Two sets of equally long runs meet if one run meets another. Most pairs are decided by three quick tests: disjoint
// hulls; a dense one; and runs that repeat with a common period, where the positions within the period decide (tiles of
// different columns of one matrix). What remains is enumerated.
#include "sim/check/footprint.hpp"

#include <algorithm>
#include <numeric>
#include <variant>

namespace systole::sim {
namespace {

struct RawDim {
  std::int64_t stride = 0;
  std::int64_t extent = 1;
};

// Sorts, turns negative strides round, and merges what is contiguous into the run.
void set_bytes(Footprint& footprint, std::int64_t first, std::int64_t element,
               std::vector<RawDim> dims) {
  footprint.begin = first;
  for (RawDim& dim : dims) {
    if (dim.stride < 0) {
      footprint.begin += dim.stride * (dim.extent - 1);
      dim.stride = -dim.stride;
    }
  }
  std::erase_if(dims, [](const RawDim& dim) { return dim.extent <= 1 || dim.stride == 0; });
  std::stable_sort(dims.begin(), dims.end(),
                   [](const RawDim& a, const RawDim& b) { return a.stride > b.stride; });
  footprint.run = element;
  while (!dims.empty() &&
         dims.back().stride <= footprint.run) {  // overlapping or adjacent: one longer run
    footprint.run += dims.back().stride * (dims.back().extent - 1);
    dims.pop_back();
  }
  std::int64_t span = footprint.run;
  for (const RawDim& dim : dims) {
    span += dim.stride * (dim.extent - 1);
    footprint.stride[static_cast<std::size_t>(footprint.rank)] = dim.stride;
    footprint.extent[static_cast<std::size_t>(footprint.rank)] = dim.extent;
    ++footprint.rank;
  }
  footprint.end = footprint.begin + span;
}

// Runs of both repeat with period g and are disjoint within it.
bool disjoint_by_period(const Footprint& a, const Footprint& b) {
  std::int64_t g = 0;
  for (int d = 0; d < a.rank; ++d) {
    g = std::gcd(g, a.stride[static_cast<std::size_t>(d)]);
  }
  for (int d = 0; d < b.rank; ++d) {
    g = std::gcd(g, b.stride[static_cast<std::size_t>(d)]);
  }
  if (g == 0) {
    return false;
  }
  const std::int64_t shift =
      ((b.begin - a.begin) % g + g) % g;  // a's run is [0, run), b's [shift, shift + run)
  return a.run <= shift && shift + b.run <= g;
}

bool meets_slowly(const Footprint& a, const Footprint& b) {
  const std::int64_t begin = std::max(a.begin, b.begin);
  const std::int64_t end = std::min(a.end, b.end);
  std::vector<bool> touched(static_cast<std::size_t>(end - begin), false);
  for_each_block(a, 0, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t i = std::max(from, begin); i < std::min(to, end); ++i) {
      touched[static_cast<std::size_t>(i - begin)] = true;
    }
  });
  bool met = false;
  for_each_block(b, 0, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t i = std::max(from, begin); !met && i < std::min(to, end); ++i) {
      met = touched[static_cast<std::size_t>(i - begin)];
    }
  });
  return met;
}

}  // namespace

PartitionSet partition_range(int first, int count) {
  const auto ones = [](int bits) {  // the lowest `bits` bits
    return bits <= 0 ? std::uint64_t{0}
                     : (bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1);
  };
  const int end = first + count;
  PartitionSet set;
  set.low = ones(end) & ~ones(first);
  set.high = ones(end - 64) & ~ones(first - 64);
  return set;
}

bool Footprint::same_bytes(const Footprint& other) const {
  if (begin != other.begin || run != other.run || rank != other.rank) {
    return false;
  }
  for (int d = 0; d < rank; ++d) {
    const auto i = static_cast<std::size_t>(d);
    if (stride[i] != other.stride[i] || extent[i] != other.extent[i]) {
      return false;
    }
  }
  return true;
}

Footprint footprint_of(const isa::Access& access) {
  Footprint footprint;
  footprint.space = access.space;
  footprint.partitions = partition_range(access.partition, access.partitions);
  const std::int64_t size = isa::size_of(access.dtype);
  if (access.rank == 1 && access.dims[0].stride == 1) {  // by far the most frequent
    footprint.begin = access.offset;
    footprint.run = size * access.dims[0].extent;
    footprint.end = footprint.begin + footprint.run;
    return footprint;
  }
  std::vector<RawDim> dims;
  for (int d = 0; d < access.rank; ++d) {
    const isa::Dim& dim = access.dims[static_cast<std::size_t>(d)];
    dims.push_back({dim.stride * size, dim.extent});
  }
  set_bytes(footprint, access.offset, size, std::move(dims));
  return footprint;
}

Footprint footprint_of(const isa::DmaAccess& access) {
  Footprint footprint;
  footprint.space = access.space;
  footprint.tensor = access.tensor;
  const std::int64_t size = isa::size_of(access.dtype);
  std::vector<RawDim> dims;
  std::vector<int> touched{access.partition};
  for (int d = 0; d < access.rank; ++d) {
    const isa::DmaDim& dim = access.dims[static_cast<std::size_t>(d)];
    if (!dim.across) {
      dims.push_back({dim.stride * size, dim.extent});
      continue;
    }
    std::vector<int> next;
    for (const int p : touched) {
      for (std::int32_t i = 0; i < dim.extent; ++i) {
        next.push_back(p + static_cast<int>(dim.stride * i));
      }
    }
    touched = std::move(next);
  }
  if (access.space == isa::Space::hbm) {
    footprint.partitions.low = 1;
    set_bytes(footprint, access.offset * size, size, std::move(dims));
  } else {
    for (const int p : touched) {
      footprint.partitions.add(partition_range(p, 1));
    }
    set_bytes(footprint, access.offset, size, std::move(dims));
  }
  return footprint;
}

Footprint table_footprint(const isa::DmaIndirect& dma) {
  isa::DmaAccess all = dma.table;
  if (all.rank < isa::DmaAccess::max_rank) {
    for (int d = all.rank; d > 0; --d) {
      all.dims[static_cast<std::size_t>(d)] = all.dims[static_cast<std::size_t>(d - 1)];
    }
    all.dims[0] = {dma.row_stride, static_cast<std::int32_t>(dma.bound), false};
    ++all.rank;
    return footprint_of(all);
  }
  Footprint hull = footprint_of(all);
  hull.end += dma.row_stride * isa::size_of(all.dtype) * (dma.bound - 1);
  hull.run = hull.end - hull.begin;
  hull.rank = 0;
  return hull;
}

bool meets(const Footprint& a, const Footprint& b) {
  if (a.space != b.space || a.tensor != b.tensor || a.begin >= b.end || b.begin >= a.end ||
      !a.partitions.meets(b.partitions)) {
    return false;
  }
  if (a.dense() && b.dense()) {
    return true;
  }
  return !disjoint_by_period(a, b) && meets_slowly(a, b);
}

Touches touches_of(const isa::Operation& operation) {
  Touches touches;
  for (const bool writes : {false, true}) {
    isa::for_each_access(operation, [&](const isa::Access& access, bool is_write) {
      if (is_write == writes) {
        touches.add(footprint_of(access), is_write);
      }
    });
  }
  if (const auto* dma = std::get_if<isa::Dma>(&operation)) {
    touches.add(footprint_of(dma->source), false);
    if (dma->accumulate) {
      touches.add(footprint_of(dma->destination), false);
    }
    touches.add(footprint_of(dma->destination), true);
  } else if (const auto* indirect = std::get_if<isa::DmaIndirect>(&operation)) {
    touches.add(indirect->scatter ? footprint_of(indirect->rows_side) : table_footprint(*indirect),
                false);
    touches.add(indirect->scatter ? table_footprint(*indirect) : footprint_of(indirect->rows_side),
                true);
  }
  return touches;
}

}  // namespace systole::sim
