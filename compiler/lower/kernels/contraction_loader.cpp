#include "compiler/lower/kernels/contraction_loader.hpp"

#include <algorithm>

namespace systole::lower {

Loader::Loader(Builder& builder, const Space& space, const Placed& placed, isa::DType dtype,
               bool whole)
    : builder_(builder),
      space_(space),
      placed_(placed),
      dtype_(dtype),
      whole_(whole),
      block_(space.all()) {}

void Loader::begin_block(const Ranges& box) {
  const bool same =
      std::all_of(placed_.free_labels.begin(), placed_.free_labels.end(), [&](int label) {
        const Span& a = block_[static_cast<std::size_t>(label)];
        const Span& b = box[static_cast<std::size_t>(label)];
        return a.begin == b.begin && a.extent == b.extent;
      });
  if (!same && !whole_) {
    loaded_.clear();
  }
  block_ = box;
}

void Loader::forget() {
  if (!whole_) {
    loaded_.clear();
  }
}

// The block's ranges, but of a free k label that the block leaves open the wanted value alone.
Ranges Loader::load_box(const Ranges& box) const {
  if (whole_) {
    return space_.all();
  }
  Ranges out = block_;
  for (const int label : placed_.free_labels) {
    const auto at = static_cast<std::size_t>(label);
    if (out[at].extent == 0) {
      out[at] = box[at];
    }
  }
  return out;
}

Tile Loader::load(std::int64_t block, const Ranges& box) {
  Key key{block};
  for (const int label : placed_.free_labels) {
    key.push_back(box[static_cast<std::size_t>(label)].begin);
    key.push_back(box[static_cast<std::size_t>(label)].extent);
  }
  const auto found = loaded_.find(key);
  if (found != loaded_.end()) {
    return found->second;
  }
  const std::int64_t first = block * builder_.machine().partitions;
  const Span partitions{
      first, std::min<std::int64_t>(builder_.machine().partitions, placed_.partitions - first)};
  const Tile tile =
      builder_.read(placed_.tensor, region_of(placed_, box, partitions), {dtype_, false, -1});
  loaded_.emplace(std::move(key), tile);
  return tile;
}

Tile Loader::get(const Span& partitions, const Ranges& box, const Labels& labels) {
  const std::int64_t block = partitions.begin / builder_.machine().partitions;
  const Ranges held = load_box(box);
  const Tile tile = piece(load(block, held), placed_, held, box, labels);
  return slice_partitions(tile, static_cast<int>(partitions.begin % builder_.machine().partitions),
                          static_cast<int>(partitions.extent));
}

}  // namespace systole::lower
