#include "compiler/lower/schedule_overlap.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace systole::lower {
namespace {

// A pattern inside one partition, in bytes: strides positive, no dim of one element.
struct Comb {
  struct Tooth {
    std::int64_t stride = 0;
    std::int64_t extent = 1;
  };
  std::array<Tooth, isa::DmaAccess::max_rank> dims{};
  int rank = 0;
  std::int64_t base = 0;   // lowest byte
  std::int64_t width = 1;  // of an element
};

bool stands(const Touch& touch, int dim) {
  return (touch.without >> static_cast<unsigned>(dim) & 1U) != 0;
}

void add_dim(Comb& comb, std::int64_t stride, std::int64_t extent) {
  if (extent > 1 && stride != 0) {
    comb.dims[static_cast<std::size_t>(comb.rank++)] = {std::abs(stride), extent};
  }
}

Comb comb_of(const Touch& touch) {
  Comb comb;
  comb.base = touch.bytes.begin;
  if (touch.access != nullptr) {
    comb.width = isa::size_of(touch.access->dtype);
    for (int d = 0; d < touch.access->rank; ++d) {
      const isa::Dim& dim = touch.access->dims[static_cast<std::size_t>(d)];
      if (!stands(touch, d)) {
        add_dim(comb, dim.stride * comb.width, dim.extent);
      }
    }
  } else if (touch.dma != nullptr) {
    comb.width = isa::size_of(touch.dma->dtype);
    for (int d = 0; d < touch.dma->rank; ++d) {
      const isa::DmaDim& dim = touch.dma->dims[static_cast<std::size_t>(d)];
      if (!dim.across && !stands(touch, d)) {
        add_dim(comb, dim.stride * comb.width, dim.extent);
      }
    }
  } else {
    comb.width = touch.bytes.end - touch.bytes.begin;
  }
  return comb;
}

// Bytes that the pattern covers modulo `period`, counted from its base: dims that are whole periods
// fall together.
std::int64_t window(const Comb& comb, std::int64_t period) {
  std::int64_t bytes = comb.width;
  for (int d = 0; d < comb.rank; ++d) {
    const Comb::Tooth& dim = comb.dims[static_cast<std::size_t>(d)];
    if (dim.stride % period != 0) {
      bytes += dim.stride * (dim.extent - 1);
    }
  }
  return bytes;
}

// On a circle of `period` bytes, do the two windows miss each other?
bool apart(const Comb& a, const Comb& b, std::int64_t period) {
  const std::int64_t from_a_to_b = ((b.base - a.base) % period + period) % period;
  const std::int64_t from_b_to_a = (period - from_a_to_b) % period;
  return from_a_to_b >= window(a, period) && from_b_to_a >= window(b, period);
}

// Whether, from the innermost out, each dim steps by exactly what the smaller ones fill.
bool gapless(const Comb& comb) {
  std::int64_t filled = comb.width;
  for (int done = 0; done < comb.rank; ++done) {
    const auto end = comb.dims.begin() + comb.rank;
    const auto next = std::find_if(
        comb.dims.begin(), end, [filled](const Comb::Tooth& dim) { return dim.stride == filled; });
    if (next == end) {
      return false;
    }
    filled *= next->extent;
  }
  return true;
}

bool apart_by_a_stride_of(const Comb& strides, const Comb& a, const Comb& b) {
  return std::any_of(strides.dims.begin(), strides.dims.begin() + strides.rank,
                     [&](const Comb::Tooth& dim) { return apart(a, b, dim.stride); });
}

struct Longest {
  int dim = -1;
  std::int64_t stride = 0;  // bytes, positive
  std::int64_t extent = 1;
};

// The dim inside the partitions that steps furthest, of those that are left.
Longest longest_of(const Touch& touch) {
  Longest out;
  const auto offer = [&](int d, std::int64_t stride, std::int64_t extent) {
    if (extent > 1 && std::abs(stride) > out.stride && !stands(touch, d)) {
      out = {d, std::abs(stride), extent};
    }
  };
  if (touch.access != nullptr) {
    for (int d = 0; d < touch.access->rank; ++d) {
      const isa::Dim& dim = touch.access->dims[static_cast<std::size_t>(d)];
      offer(d, dim.stride * isa::size_of(touch.access->dtype), dim.extent);
    }
  } else if (touch.dma != nullptr) {
    for (int d = 0; d < touch.dma->rank; ++d) {
      const isa::DmaDim& dim = touch.dma->dims[static_cast<std::size_t>(d)];
      offer(d, dim.across ? 0 : dim.stride * isa::size_of(touch.dma->dtype), dim.extent);
    }
  }
  return out;
}

}  // namespace

std::vector<Touch> rows_of(const Touch& touch, std::size_t most) {
  std::vector<Touch> rows{touch};
  while (true) {
    const Longest longest = longest_of(rows.front());
    const isa::ByteRange& range = rows.front().bytes;
    const std::int64_t width = range.end - range.begin - longest.stride * (longest.extent - 1);
    if (longest.dim < 0 || width <= 0 || width >= longest.stride ||
        rows.size() * static_cast<std::size_t>(longest.extent) > most) {
      return rows;
    }
    std::vector<Touch> next;
    for (const Touch& row : rows) {
      for (std::int64_t i = 0; i < longest.extent; ++i) {
        next.push_back(row);
        next.back().bytes.begin += i * longest.stride;
        next.back().bytes.end = next.back().bytes.begin + width;
        next.back().without |= 1U << static_cast<unsigned>(longest.dim);
      }
    }
    rows = std::move(next);
  }
}

bool may_overlap(const Touch& a, const Touch& b) {
  if (a.bytes.end <= b.bytes.begin || b.bytes.end <= a.bytes.begin ||
      a.partitions.end <= b.partitions.begin || b.partitions.end <= a.partitions.begin) {
    return false;
  }
  const Comb first = comb_of(a);
  const Comb second = comb_of(b);
  return !apart_by_a_stride_of(first, first, second) &&
         !apart_by_a_stride_of(second, first, second);
}

bool fills_its_range(const Touch& touch) {
  if (touch.dma != nullptr) {
    Comb across;
    for (int d = 0; d < touch.dma->rank; ++d) {
      const isa::DmaDim& dim = touch.dma->dims[static_cast<std::size_t>(d)];
      if (dim.across) {
        add_dim(across, dim.stride, dim.extent);
      }
    }
    if (!gapless(across)) {
      return false;
    }
  }
  return gapless(comb_of(touch));
}

namespace detail {

Touch touch_of(const isa::Access& access, bool write, BufferId buffer) {
  Touch touch;
  touch.write = write;
  touch.buffer = buffer;
  touch.bytes = isa::byte_range(access);
  touch.partitions = {access.partition, access.partition + access.partitions};
  touch.access = &access;
  return touch;
}

Touch touch_of(const isa::DmaAccess& access, bool write, BufferId buffer) {
  Touch touch;
  touch.write = write;
  touch.bytes = isa::byte_range(access);
  touch.dma = &access;
  if (access.space == isa::Space::hbm) {
    touch.tensor = access.tensor;
    touch.partitions = {0, 1};
  } else {
    touch.buffer = buffer;
    touch.partitions = isa::partition_range(access);
  }
  return touch;
}

Touch whole_tensor(isa::TensorId tensor, bool write) {
  Touch touch;
  touch.write = write;
  touch.tensor = tensor;
  touch.bytes = {0, std::numeric_limits<std::int64_t>::max()};
  touch.partitions = {0, 1};
  return touch;
}

}  // namespace detail
}  // namespace systole::lower
