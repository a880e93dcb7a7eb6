// Two sets of equally long runs meet if one run meets another. Most pairs are decided by three quick tests: disjoint
// hulls; a dense one; and runs that repeat with a common period, where the positions within the period decide (tiles of
// different columns of one matrix). What remains is enumerated.
#include "sim/check/footprint.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace systole::sim {
namespace {

struct RawDim {
  std::int64_t stride = 0;
  std::int64_t extent = 1;
};

// Positive strides, outermost (largest) first.
struct RawDims {
  std::array<RawDim, Footprint::max_rank> items{};
  int count = 0;
  std::int64_t first = 0;  // what negative strides move the first byte by

  void add(std::int64_t stride, std::int64_t extent) {
    if (extent <= 1 || stride == 0) {
      return;
    }
    if (stride < 0) {
      first += stride * (extent - 1);
      stride = -stride;
    }
    std::size_t place = static_cast<std::size_t>(count++);
    while (place > 0 && items[place - 1].stride < stride) {
      items[place] = items[place - 1];
      --place;
    }
    items[place] = {stride, extent};
  }
};

// Merges what is contiguous into the run.
void set_bytes(Footprint& footprint, std::int64_t first, std::int64_t element, RawDims dims) {
  footprint.begin = first + dims.first;
  footprint.run = element;
  while (dims.count > 0) {  // overlapping or adjacent: one longer run
    const RawDim& inner = dims.items[static_cast<std::size_t>(dims.count - 1)];
    if (inner.stride > footprint.run) {
      break;
    }
    footprint.run += inner.stride * (inner.extent - 1);
    --dims.count;
  }
  std::int64_t span = footprint.run;
  for (int d = 0; d < dims.count; ++d) {
    const auto i = static_cast<std::size_t>(d);
    span += dims.items[i].stride * (dims.items[i].extent - 1);
    footprint.stride[i] = dims.items[i].stride;
    footprint.extent[i] = dims.items[i].extent;
  }
  footprint.rank = dims.count;
  footprint.end = footprint.begin + span;
}

// The set and its copies `stride` partitions apart.
PartitionSet stepped(const PartitionSet& set, int stride, int extent) {
  PartitionSet out;
  for (int p = 0; p < PartitionSet::capacity; ++p) {
    if (!partition_range(p, 1).meets(set)) {
      continue;
    }
    for (int i = 0; i < extent; ++i) {
      out.add(partition_range(p + stride * i, 1));
    }
  }
  return out;
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
  for (std::size_t i = 0; i < set.words.size(); ++i) {
    const int before = static_cast<int>(i) * 64;
    set.words[i] = ones(end - before) & ~ones(first - before);
  }
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
  RawDims dims;
  for (int d = 0; d < access.rank; ++d) {
    const isa::Dim& dim = access.dims[static_cast<std::size_t>(d)];
    dims.add(dim.stride * size, dim.extent);
  }
  set_bytes(footprint, access.offset, size, dims);
  return footprint;
}

Footprint footprint_of(const isa::DmaAccess& access) {
  Footprint footprint;
  footprint.space = access.space;
  footprint.tensor = access.tensor;
  const std::int64_t size = isa::size_of(access.dtype);
  RawDims dims;
  PartitionSet touched = partition_range(access.partition, 1);
  for (int d = 0; d < access.rank; ++d) {
    const isa::DmaDim& dim = access.dims[static_cast<std::size_t>(d)];
    if (!dim.across) {
      dims.add(dim.stride * size, dim.extent);
    } else if (dim.stride == 1 && touched == partition_range(access.partition, 1)) {
      touched = partition_range(access.partition, dim.extent);
    } else {
      touched = stepped(touched, static_cast<int>(dim.stride), dim.extent);
    }
  }
  if (access.space == isa::Space::hbm) {
    footprint.partitions.words[0] = 1;
    set_bytes(footprint, access.offset * size, size, dims);
  } else {
    footprint.partitions = touched;
    set_bytes(footprint, access.offset, size, dims);
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

}  // namespace systole::sim
