#include <cstdint>

#include "compiler/lower/builder.hpp"
#include "compiler/lower/pieces.hpp"
#include "isa/base/error.hpp"

namespace systole::lower {
namespace {

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

}  // namespace

isa::Dim make_dim(std::int64_t stride, std::int64_t extent) {
  constexpr std::int64_t limit = 0x7fffffff;
  check(extent >= 0 && extent <= limit && stride <= limit && stride >= -limit,
        "tile dimension out of range");
  return {static_cast<std::int32_t>(stride), static_cast<std::int32_t>(extent)};
}

Tile slice(const Tile& tile, int dim, std::int64_t begin, std::int64_t extent, std::int64_t step) {
  check(dim >= 0 && at(dim) < tile.dims.size(), "slice of a dim that the tile has not");
  Tile out = tile;
  isa::Dim& d = out.dims[at(dim)];
  check(extent == 0 || (begin >= 0 && begin < d.extent && begin + (extent - 1) * step >= 0 &&
                        begin + (extent - 1) * step < d.extent),
        "slice outside the tile");
  out.offset += begin * d.stride * isa::size_of(tile.dtype);
  d = make_dim(d.stride * step, extent);
  return out;
}

Tile slice_partitions(const Tile& tile, int begin, int count) {
  check(begin >= 0 && count >= 0 && begin + count <= tile.partitions,
        "partitions outside the tile");
  Tile out = tile;
  out.partition += begin;
  out.partitions = count;
  return out;
}

Tile permute(const Tile& tile, const std::vector<int>& order) {
  check(order.size() == tile.dims.size(), "permutation of another rank");
  Tile out = tile;
  for (std::size_t i = 0; i < order.size(); ++i) {
    out.dims[i] = tile.dims[at(order[i])];
  }
  return out;
}

Tile broadcast_dim(const Tile& tile, int position, std::int64_t extent) {
  Tile out = tile;
  out.dims.insert(out.dims.begin() + position, make_dim(0, extent));
  return out;
}

Tile drop_dim(const Tile& tile, int dim, std::int64_t index) {
  Tile out = slice(tile, dim, index, 1);
  out.dims.erase(out.dims.begin() + dim);
  return out;
}

Tile split_dim(const Tile& tile, int dim, std::int64_t inner) {
  const isa::Dim d = tile.dims[at(dim)];
  check(inner > 0 && d.extent % inner == 0, "a dim is split into whole parts");
  Tile out = tile;
  out.dims[at(dim)] = make_dim(d.stride * inner, d.extent / inner);
  out.dims.insert(out.dims.begin() + dim + 1, make_dim(d.stride, inner));
  return out;
}

Tile reinterpret(const Tile& tile, isa::DType dtype) {
  check(isa::size_of(dtype) == isa::size_of(tile.dtype), "reinterpretation changes the size");
  Tile out = tile;
  out.dtype = dtype;
  return out;
}

std::int64_t free_elements(const Tile& tile) {
  std::int64_t count = 1;
  for (const isa::Dim& dim : tile.dims) {
    count *= dim.extent;
  }
  return count;
}

std::vector<isa::Dim> merged(const std::vector<isa::Dim>& dims) {
  std::vector<isa::Dim> out;
  for (const isa::Dim& dim : dims) {
    if (dim.extent == 1) {
      continue;
    }
    if (!out.empty() && out.back().stride == static_cast<std::int64_t>(dim.stride) * dim.extent) {
      out.back() = make_dim(dim.stride, static_cast<std::int64_t>(out.back().extent) * dim.extent);
    } else {
      out.push_back(dim);
    }
  }
  return out;
}

int merged_rank(const Tile& tile) {
  return static_cast<int>(merged(tile.dims).size());
}

isa::Access access_of(const Tile& tile, const std::vector<isa::Dim>& dims) {
  check(dims.size() <= isa::Access::max_rank, "an access pattern has at most four dims");
  isa::Access out;
  out.space = tile.space;
  out.dtype = tile.dtype;
  out.partition = static_cast<std::int16_t>(tile.partition);
  out.partitions = static_cast<std::int16_t>(tile.partitions);
  out.rank = static_cast<std::int8_t>(dims.size());
  out.offset = static_cast<std::int32_t>(tile.offset);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    out.dims[i] = dims[i];
  }
  return out;
}

isa::Access access(const Tile& tile) {
  return access_of(tile, merged(tile.dims));
}

}  // namespace systole::lower
