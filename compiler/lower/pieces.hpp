// Cutting tiles into pieces that one instruction can take: at most four dims after merging, extents
// and strides within the access pattern's limits.
//
// Given tiles that enumerate the same elements (equal free_elements). If every tile fits as it is,
// one piece; otherwise the tiles must have equal extents dim by dim, and outer dims are looped
// over, inner ones cut.
#pragma once

#include <functional>
#include <vector>

#include "compiler/lower/builder.hpp"

namespace systole::lower {

[[nodiscard]] isa::Dim make_dim(std::int64_t stride, std::int64_t extent);  // check()s the range
// Dims without extents of 1, neighbours joined where the outer one continues the inner one.
[[nodiscard]] std::vector<isa::Dim> merged(const std::vector<isa::Dim>& dims);
[[nodiscard]] isa::Access access_of(const Tile& tile, const std::vector<isa::Dim>& dims);

// Calls f with one piece of each tile, in order of enumeration; not at all if there are no
// elements.
void for_each_piece(const isa::Machine& machine, const std::vector<Tile>& tiles,
                    const std::function<void(const std::vector<Tile>&)>& f);

// Whether the tile is one operand as it is.
[[nodiscard]] bool fits_access(const isa::Machine& machine, const Tile& tile);

}  // namespace systole::lower
