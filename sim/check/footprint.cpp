// Two sets of equally long runs meet if one run meets another. Most pairs are decided by quick tests: disjoint hulls; two
// dense ones; and runs that repeat with a common period, where the positions within the period decide (tiles of different
// columns of one matrix). Otherwise the same is asked of parts of them.
#include "sim/check/footprint.hpp"

#include <algorithm>
#include <numeric>

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

// What is left of a footprint inside one index of its outer dims.
struct Runs {
  std::int64_t begin = 0;
  std::int64_t run = 0;
  int rank = 0;
  const std::int64_t* stride = nullptr;
  const std::int64_t* extent = nullptr;

  explicit Runs(const Footprint& footprint)
      : begin(footprint.begin),
        run(footprint.run),
        rank(footprint.rank),
        stride(footprint.stride.data()),
        extent(footprint.extent.data()) {}

  [[nodiscard]] std::int64_t span() const {
    std::int64_t bytes = run;
    for (int d = 0; d < rank; ++d) {
      bytes += stride[d] * (extent[d] - 1);
    }
    return bytes;
  }
  // One index of the outermost dim, at `from`.
  [[nodiscard]] Runs inner(std::int64_t from) const {
    Runs runs = *this;
    runs.begin = from;
    ++runs.stride;
    ++runs.extent;
    --runs.rank;
    return runs;
  }
};

// All runs repeat with a common period, and those of `a` are disjoint from those of `b` within it.
bool disjoint_by_period(const Runs& a, const Runs& b) {
  std::int64_t period = 0;
  for (int d = 0; d < a.rank; ++d) {
    period = std::gcd(period, a.stride[d]);
  }
  for (int d = 0; d < b.rank; ++d) {
    period = std::gcd(period, b.stride[d]);
  }
  if (period == 0) {
    return false;
  }
  const std::int64_t shift = ((b.begin - a.begin) % period + period) % period;
  return a.run <= shift && shift + b.run <= period;
}

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  return a >= 0 ? a / b : -((-a + b - 1) / b);
}

// Peels the widest dim: of all its indices only those whose bytes lie in the other's hull are followed. A stride that both
// have is peeled from both at once, as only the difference of the two indices matters.
bool meets_inside(const Runs& a, const Runs& b) {
  const std::int64_t a_end = a.begin + a.span();
  const std::int64_t b_end = b.begin + b.span();
  if (a.begin >= b_end || b.begin >= a_end) {
    return false;
  }
  if (a.rank == 0 && b.rank == 0) {
    return true;
  }
  if (disjoint_by_period(a, b)) {
    return false;
  }
  if (a.rank == 0 || (b.rank > 0 && b.stride[0] > a.stride[0])) {
    return meets_inside(b, a);
  }
  const std::int64_t step = a.stride[0];
  const bool both = b.rank > 0 && b.stride[0] == step;
  const Runs other = both ? b.inner(b.begin) : b;
  const std::int64_t first = both ? 1 - b.extent[0] : 0;
  // inner begin < other end, other begin < inner end
  const std::int64_t other_end = other.begin + other.span();
  const std::int64_t inner_span = a.inner(a.begin).span();
  const std::int64_t low = floor_quotient(other.begin - inner_span - a.begin, step) + 1;
  const std::int64_t high = floor_quotient(other_end - 1 - a.begin, step);
  for (std::int64_t i = std::max(first, low); i <= std::min(a.extent[0] - 1, high); ++i) {
    if (meets_inside(a.inner(a.begin + i * step), other)) {
      return true;
    }
  }
  return false;
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
  footprint.partition = access.partition;
  footprint.partition_end = access.partition + access.partitions;
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
    footprint.partition_end = 1;
    set_bytes(footprint, access.offset * size, size, dims);
  } else {
    footprint.partitions = touched;
    const isa::PartitionRange hull = isa::partition_range(access);
    footprint.partition = static_cast<int>(hull.begin);
    footprint.partition_end = static_cast<int>(hull.end);
    footprint.solid = touched == partition_range(footprint.partition,
                                                 footprint.partition_end - footprint.partition);
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

Footprint table_row_footprint(const isa::DmaIndirect& dma, std::int64_t row) {
  isa::DmaAccess access = dma.table;
  access.offset += row * dma.row_stride;
  return footprint_of(access);
}

bool meets(const Footprint& a, const Footprint& b) {
  if (a.space != b.space || a.tensor != b.tensor || a.begin >= b.end || b.begin >= a.end ||
      !a.partitions.meets(b.partitions)) {
    return false;
  }
  if (a.dense() && b.dense()) {
    return true;
  }
  return meets_inside(Runs(a), Runs(b));
}

}  // namespace systole::sim
