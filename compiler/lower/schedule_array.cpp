#include "compiler/lower/schedule_array.hpp"

#include <algorithm>

namespace systole::lower {

ArrayTiles::ArrayTiles(const isa::Machine& machine)
    : tile_(std::max(1, machine.row_tile_min)),
      grid_rows_((machine.array_rows + tile_ - 1) / tile_),
      grid_columns_((machine.array_columns + tile_ - 1) / tile_),
      tiles_(static_cast<std::size_t>(grid_rows_ * grid_columns_)) {}

std::int64_t ArrayTiles::start(const isa::Operation& operation, std::int64_t elements,
                               std::int64_t now) {
  const auto* load = operation.get_if<isa::LoadStationary>();
  const auto* multiply = operation.get_if<isa::Multiply>();
  const isa::Access& rows = load != nullptr ? load->stationary : multiply->moving;
  const int column = load != nullptr ? load->column : multiply->out.partition;
  const int columns =
      load != nullptr ? static_cast<int>(isa::columns_of(*load)) : multiply->out.partitions;
  std::int64_t begin = load != nullptr ? std::max(now, loader_free_) : now;
  const auto for_each_tile = [&](const auto& f) {
    const int row_end =
        std::min(grid_rows_, (rows.partition + rows.partitions + tile_ - 1) / tile_);
    const int column_end = std::min(grid_columns_, (column + columns + tile_ - 1) / tile_);
    for (int r = rows.partition / tile_; r < row_end; ++r) {
      for (int c = column / tile_; c < column_end; ++c) {
        f(tiles_[static_cast<std::size_t>(r * grid_columns_ + c)]);
      }
    }
  };
  if (load != nullptr) {
    loader_free_ = begin + elements;
    for_each_tile([&](Tile& tile) { tile.loaded = loader_free_; });
    return begin;
  }
  for_each_tile([&](const Tile& tile) { begin = std::max({begin, tile.free, tile.loaded}); });
  for_each_tile([&](Tile& tile) { tile.free = begin + elements; });
  return begin;
}

}  // namespace systole::lower
