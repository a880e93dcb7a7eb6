#include "isa/access.hpp"

#include <limits>
#include <numeric>

#include "isa/jumps.hpp"

namespace systole::isa {
namespace {

// Extents, strides and offsets come from files: what does not fit saturates, it is beyond any memory anyway.
constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

std::int64_t saturating_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) {
    return (a < 0) == (b < 0) ? largest : -largest;
  }
  return product;
}

std::int64_t saturating_sum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) {
    return a < 0 ? -largest : largest;
  }
  return sum;
}

// The boundaries between consecutive elements of an enumeration, by the outermost dim that advances
// there. A level with period p advances at the multiples of p that are not multiples of the next
// outer level's period. A level whose step is exactly one element inside one partition does not
// break a row and is not listed.
struct Breaks {
  struct Level {
    std::int64_t period = 1;
    std::int64_t outer_period = 1;
    bool jumps = true;  // not to the next partition
  };
  std::array<Level, DmaAccess::max_rank> levels{};
  int count = 0;
};

Breaks breaks_of(const DmaAccess& access) {
  Breaks breaks;
  std::int64_t period = 1;
  std::int64_t element_return = 0;  // what the inner dims go back when they wrap
  std::int64_t partition_return = 0;
  for (int d = access.rank - 1; d >= 0; --d) {
    const DmaDim& dim = access.dims[static_cast<std::size_t>(d)];
    if (dim.extent <= 1) {
      continue;
    }
    const std::int64_t outer_period = saturating_product(period, dim.extent);
    const std::int64_t element_step = saturating_sum(dim.across ? 0 : dim.stride, -element_return);
    const std::int64_t partition_step =
        saturating_sum(dim.across ? dim.stride : 0, -partition_return);
    if (element_step != 1 || partition_step != 0) {
      breaks.levels[static_cast<std::size_t>(breaks.count++)] = {period, outer_period,
                                                                 partition_step != 1};
    }
    std::int64_t& back = dim.across ? partition_return : element_return;
    back = saturating_sum(back, saturating_product(dim.stride, dim.extent - 1));
    period = outer_period;
  }
  return breaks;
}

// Multiples of lcm(a, b) in [1, count - 1].
std::int64_t common_multiples(std::int64_t a, std::int64_t b, std::int64_t count) {
  const std::int64_t factor = b / std::gcd(a, b);
  if (a > (count - 1) / factor) {
    return 0;
  }
  return (count - 1) / (a * factor);
}

// Boundaries at which both levels advance.
std::int64_t common_boundaries(const Breaks::Level& a, const Breaks::Level& b, std::int64_t count) {
  return common_multiples(a.period, b.period, count) -
         common_multiples(a.outer_period, b.period, count) -
         common_multiples(a.period, b.outer_period, count) +
         common_multiples(a.outer_period, b.outer_period, count);
}

// The same over all pairs of the levels that are wanted.
template <class Wanted>
std::int64_t common_boundaries(const Breaks& a, const Breaks& b, std::int64_t count,
                               Wanted wanted) {
  std::int64_t sum = 0;
  for (int i = 0; i < a.count; ++i) {
    for (int j = 0; j < b.count; ++j) {
      const Breaks::Level& first = a.levels[static_cast<std::size_t>(i)];
      const Breaks::Level& second = b.levels[static_cast<std::size_t>(j)];
      if (wanted(first) && wanted(second)) {
        sum += common_boundaries(first, second, count);
      }
    }
  }
  return sum;
}

std::int64_t boundaries(const Breaks& breaks, std::int64_t count) {
  std::int64_t sum = 0;
  for (int i = 0; i < breaks.count; ++i) {
    const Breaks::Level& level = breaks.levels[static_cast<std::size_t>(i)];
    sum += (count - 1) / level.period - (count - 1) / level.outer_period;
  }
  return sum;
}

// Grows [begin, end] (offsets of touched elements) by one dim.
void extend(ByteRange& touched, std::int64_t stride, std::int64_t extent) {
  if (extent > 0) {
    const std::int64_t reach = saturating_product(stride, extent - 1);
    std::int64_t& side = reach < 0 ? touched.begin : touched.end;
    side = saturating_sum(side, reach);
  }
}

// From first and last touched element to bytes, `start` bytes further on.
ByteRange bytes_of(const ByteRange& touched, std::int64_t start, DType dtype) {
  const std::int64_t size = size_of(dtype);
  return {saturating_sum(start, saturating_product(touched.begin, size)),
          saturating_sum(start, saturating_product(saturating_sum(touched.end, 1), size))};
}

}  // namespace

std::int64_t free_elements(const Access& access) {
  std::int64_t count = 1;
  for (int d = 0; d < access.rank; ++d) {
    count = saturating_product(count, access.dims[static_cast<std::size_t>(d)].extent);
  }
  return count;
}

std::int64_t elements(const Access& access) {
  return saturating_product(access.partitions, free_elements(access));
}

std::int64_t elements(const DmaAccess& access) {
  std::int64_t count = 1;
  for (int d = 0; d < access.rank; ++d) {
    count = saturating_product(count, access.dims[static_cast<std::size_t>(d)].extent);
  }
  return count;
}

std::int64_t contiguous_run(const DmaAccess& access) {
  const Breaks breaks = breaks_of(access);
  return breaks.count == 0 ? elements(access) : breaks.levels[0].period;
}

std::int64_t rows(const DmaAccess& source, const DmaAccess& destination) {
  const std::int64_t count = elements(source);
  if (count <= 0) {
    return 0;
  }
  const Breaks a = breaks_of(source);
  const Breaks b = breaks_of(destination);
  const auto any = [](const Breaks::Level&) { return true; };
  return 1 + boundaries(a, count) + boundaries(b, count) - common_boundaries(a, b, count, any);
}

std::int64_t double_jumps(const DmaAccess& source, const DmaAccess& destination) {
  const auto jumps = [](const Breaks::Level& level) { return level.jumps; };
  return common_boundaries(breaks_of(source), breaks_of(destination), elements(source), jumps);
}

ByteRange byte_range(const Access& access) {
  if (access.rank == 1 && access.dims[0].stride == 1) {  // by far the most frequent
    return {access.offset,
            access.offset + std::int64_t{access.dims[0].extent} * size_of(access.dtype)};
  }
  ByteRange touched;
  for (int d = 0; d < access.rank; ++d) {
    const AccessDim& dim = access.dims[static_cast<std::size_t>(d)];
    extend(touched, dim.stride, dim.extent);
  }
  return bytes_of(touched, access.offset, access.dtype);
}

ByteRange byte_range(const DmaAccess& access) {
  ByteRange touched;
  for (int d = 0; d < access.rank; ++d) {
    const DmaDim& dim = access.dims[static_cast<std::size_t>(d)];
    if (!dim.across) {
      extend(touched, dim.stride, dim.extent);
    }
  }
  return bytes_of(touched,
                  access.space == Space::hbm
                      ? saturating_product(access.offset, size_of(access.dtype))
                      : access.offset,
                  access.dtype);
}

PartitionRange partition_range(const DmaAccess& access) {
  if (access.space == Space::hbm) {
    return {};
  }
  ByteRange touched;
  for (int d = 0; d < access.rank; ++d) {
    const DmaDim& dim = access.dims[static_cast<std::size_t>(d)];
    if (dim.across) {
      extend(touched, dim.stride, dim.extent);
    }
  }
  return {saturating_sum(access.partition, touched.begin),
          saturating_sum(access.partition, saturating_sum(touched.end, 1))};
}

}  // namespace systole::isa
