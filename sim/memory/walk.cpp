#include "sim/memory/walk.hpp"

#include <cstring>

namespace systole::sim {
namespace {

template <class T, bool into_pattern>
void copy_line(std::byte* pattern, std::byte* dense, std::int64_t stride, std::int64_t extent) {
  for (std::int64_t i = 0; i < extent; ++i) {
    if constexpr (into_pattern) {
      std::memcpy(pattern + i * stride, dense + i * std::int64_t{sizeof(T)}, sizeof(T));
    } else {
      std::memcpy(dense + i * std::int64_t{sizeof(T)}, pattern + i * stride, sizeof(T));
    }
  }
}

template <bool into_pattern>
void copy_innermost(const Walk& walk, std::byte* pattern, std::byte* dense) {
  const std::int64_t extent =
      walk.rank == 0 ? 1 : walk.extent[static_cast<std::size_t>(walk.rank - 1)];
  const std::int64_t stride =
      walk.rank == 0 ? walk.element_size : walk.stride[static_cast<std::size_t>(walk.rank - 1)];
  if (stride == walk.element_size) {
    const auto bytes = static_cast<std::size_t>(extent * walk.element_size);
    std::memcpy(into_pattern ? pattern : dense, into_pattern ? dense : pattern, bytes);
  } else if (walk.element_size == 4) {
    copy_line<std::uint32_t, into_pattern>(pattern, dense, stride, extent);
  } else if (walk.element_size == 2) {
    copy_line<std::uint16_t, into_pattern>(pattern, dense, stride, extent);
  } else {
    copy_line<std::uint8_t, into_pattern>(pattern, dense, stride, extent);
  }
}

// Lines of the innermost dim, in order.
template <bool into_pattern>
void copy_pattern(const Walk& walk, std::byte* base, std::byte* dense) {
  std::byte* pattern = base + walk.offset;
  if (walk.rank <= 1) {
    copy_innermost<into_pattern>(walk, pattern, dense);
    return;
  }
  const auto inner = static_cast<std::size_t>(walk.rank - 1);
  const std::int64_t line = walk.extent[inner] * walk.element_size;
  std::array<std::int64_t, isa::Access::max_rank> index{};
  for (;;) {
    copy_innermost<into_pattern>(walk, pattern, dense);
    dense += line;
    std::size_t d = inner;
    for (;;) {
      if (d == 0) {
        return;
      }
      --d;
      pattern += walk.stride[d];
      if (++index[d] < walk.extent[d]) {
        break;
      }
      pattern -= walk.stride[d] * walk.extent[d];
      index[d] = 0;
    }
  }
}

}  // namespace

Walk walk_of(const isa::Access& access) {
  Walk walk;
  walk.offset = access.offset;
  walk.element_size = isa::size_of(access.dtype);
  for (int i = 0; i < access.rank; ++i) {
    const isa::Dim& dim = access.dims[static_cast<std::size_t>(i)];
    walk.elements *= dim.extent;
    if (dim.extent == 1) {
      continue;
    }
    const std::int64_t stride = std::int64_t{dim.stride} * walk.element_size;
    if (walk.rank > 0) {
      const auto last = static_cast<std::size_t>(walk.rank - 1);
      if (walk.stride[last] ==
          stride * dim.extent) {  // the outer dim continues where this one ends
        walk.stride[last] = stride;
        walk.extent[last] *= dim.extent;
        continue;
      }
    }
    walk.stride[static_cast<std::size_t>(walk.rank)] = stride;
    walk.extent[static_cast<std::size_t>(walk.rank)] = dim.extent;
    ++walk.rank;
  }
  return walk;
}

void gather(const Walk& walk, const std::byte* base, std::byte* to) {
  if (walk.elements > 0) {
    copy_pattern<false>(walk, const_cast<std::byte*>(base), to);  // only read in this direction
  }
}

void scatter(const Walk& walk, const std::byte* from, std::byte* base) {
  if (walk.elements > 0) {
    copy_pattern<true>(walk, base, const_cast<std::byte*>(from));
  }
}

}  // namespace systole::sim
