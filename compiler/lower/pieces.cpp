#include "compiler/lower/pieces.hpp"

#include <algorithm>

#include "isa/base/error.hpp"

namespace systole::lower {
namespace {

using Pieces = std::vector<Tile>;

bool fits_dims(const isa::Machine& machine, const std::vector<isa::Dim>& dims) {
  std::int64_t count = 1;
  for (const isa::Dim& dim : dims) {
    const std::int64_t stride = dim.stride < 0 ? -std::int64_t{dim.stride} : dim.stride;
    if (dim.extent > machine.access_extent_max || stride > machine.access_stride_max) {
      return false;
    }
    count *= dim.extent;
  }
  return dims.size() <= isa::Access::max_rank && count <= machine.access_extent_max;
}

// Joins dims that continue one another in every tile, drops those of extent 1.
Pieces joined(const Pieces& tiles) {
  Pieces out = tiles;
  for (Tile& tile : out) {
    tile.dims.clear();
  }
  for (std::size_t d = 0; d < tiles[0].dims.size(); ++d) {
    const std::int64_t extent = tiles[0].dims[d].extent;
    if (extent == 1) {
      continue;
    }
    const bool joins = !out[0].dims.empty() && std::ranges::all_of(out, [&](const Tile& tile) {
      const isa::Dim& inner = tiles[static_cast<std::size_t>(&tile - out.data())].dims[d];
      return tile.dims.back().stride == inner.stride * extent;
    });
    for (std::size_t t = 0; t < tiles.size(); ++t) {
      const isa::Dim& inner = tiles[t].dims[d];
      if (joins) {
        out[t].dims.back() = make_dim(inner.stride, out[t].dims.back().extent * extent);
      } else {
        out[t].dims.push_back(inner);
      }
    }
  }
  return out;
}

// The dim to be cut so that the tiles come nearer to the limits.
std::size_t dim_to_cut(const isa::Machine& machine, const Pieces& tiles) {
  for (std::size_t d = 0; d < tiles[0].dims.size(); ++d) {
    for (const Tile& tile : tiles) {
      const std::int64_t stride = tile.dims[d].stride;
      if (std::max(stride, -stride) > machine.access_stride_max) {
        return d;
      }
    }
  }
  return 0;
}

void cut(const isa::Machine& machine, const Pieces& tiles,
         const std::function<void(const Pieces&)>& f) {
  const bool fits = std::ranges::all_of(
      tiles, [&](const Tile& tile) { return fits_dims(machine, merged(tile.dims)); });
  if (fits) {
    f(tiles);
    return;
  }
  check(!tiles[0].dims.empty(), "one element fits every limit");
  const std::size_t d = dim_to_cut(machine, tiles);
  const std::int64_t extent = tiles[0].dims[d].extent;
  std::int64_t inner = 1;
  for (std::size_t i = d + 1; i < tiles[0].dims.size(); ++i) {
    inner *= tiles[0].dims[i].extent;
  }
  std::int64_t step = 1;
  const bool long_only = tiles[0].dims.size() <= isa::Access::max_rank && d == 0;
  if (long_only && inner < machine.access_extent_max) {
    step = std::max<std::int64_t>(1, machine.access_extent_max / inner);
    // A stride that is too long leaves only single steps.
    for (const Tile& tile : tiles) {
      const std::int64_t stride = tile.dims[d].stride;
      step = std::max(stride, -stride) > machine.access_stride_max ? 1 : step;
    }
    step = step >= extent ? 1 : step;
  }
  for (std::int64_t begin = 0; begin < extent; begin += step) {
    Pieces pieces;
    pieces.reserve(tiles.size());
    for (const Tile& tile : tiles) {
      pieces.push_back(slice(tile, static_cast<int>(d), begin, std::min(step, extent - begin)));
    }
    cut(machine, step == 1 ? joined(pieces) : pieces, f);
  }
}

}  // namespace

bool fits_access(const isa::Machine& machine, const Tile& tile) {
  return fits_dims(machine, merged(tile.dims));
}

void for_each_piece(const isa::Machine& machine, const std::vector<Tile>& tiles,
                    const std::function<void(const std::vector<Tile>&)>& f) {
  check(!tiles.empty(), "an instruction has operands");
  const std::int64_t count = free_elements(tiles[0]);
  for (const Tile& tile : tiles) {
    check(free_elements(tile) == count, "operands of one instruction differ in elements");
    check(tile.partitions == tiles[0].partitions,
          "operands of one instruction differ in partitions");
  }
  if (count == 0 || tiles[0].partitions == 0) {
    return;
  }
  if (std::ranges::all_of(tiles, [&](const Tile& tile) { return fits_access(machine, tile); })) {
    f(tiles);
    return;
  }
  for (const Tile& tile : tiles) {
    check(std::ranges::equal(tile.dims, tiles[0].dims, {}, &isa::Dim::extent, &isa::Dim::extent),
          "operands that must be cut differ in extents");
  }
  cut(machine, joined(tiles), f);
}

}  // namespace systole::lower
