#include "compiler/lower/kernels/contraction_loader.hpp"

#include <algorithm>

namespace systole::lower {

Loader::Loader(Builder& builder, const Space& space, const Placed& placed, isa::DType dtype,
               bool whole, std::int64_t k_steps)
    : builder_(builder),
      space_(space),
      placed_(placed),
      dtype_(dtype),
      turner_(Turner::of(builder, space, placed, dtype, k_steps)),
      whole_(whole),
      block_(space.all()) {}

void Loader::begin_block(const Ranges& box) {
  const bool same =
      std::all_of(placed_.free_labels.begin(), placed_.free_labels.end(), [&](int label) {
        const Span& a = block_[static_cast<std::size_t>(label)];
        const Span& b = box[static_cast<std::size_t>(label)];
        return a.begin == b.begin && a.extent == b.extent;
      });
  if (!same) {
    forget();
  }
  block_ = box;
}

void Loader::forget() {
  if (!whole_) {
    loaded_.clear();
  }
  if (turner_) {
    turner_->forget();
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
  Key key{digit_, block};
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
  const Region region = region_of(placed_, box, partitions);
  const Tile tile =
      digits_ == 1 ? builder_.read(placed_.tensor, region, {dtype_, false, -1})
                   : digit_of(builder_.read(placed_.tensor, region, {isa::DType::i32, false, -1}));
  loaded_.emplace(std::move(key), tile);
  return tile;
}

void Loader::select_digit(int digit, int digits) {
  digit_ = digit;
  digits_ = digits;
}

// Rounding towards zero: x / 256^d - 256 * (x / 256^(d+1)), all in i32.
Tile Loader::digit_of(const Tile& numbers) {
  std::vector<std::int64_t> extents;
  for (const isa::Dim& dim : numbers.dims) {
    extents.push_back(dim.extent);
  }
  const auto fresh = [&](isa::DType dtype) {
    return builder_.scratch(numbers.partitions, extents, dtype, "digit", numbers.partition);
  };
  const auto shifted = [&](int digit) {
    if (digit == 0) {
      return numbers;
    }
    const Tile out = fresh(isa::DType::i32);
    builder_.tensor_scalar(out, numbers, isa::AluOp::divide,
                           static_cast<float>(std::int64_t{1} << (8 * digit)));
    return out;
  };
  Tile digit = shifted(digit_);
  if (digit_ + 1 < digits_) {
    const Tile rest = fresh(isa::DType::i32);
    builder_.scalar_tensor_tensor(rest, shifted(digit_ + 1), isa::AluOp::multiply, -256.0F,
                                  isa::AluOp::add, digit);
    digit = rest;
  }
  const Tile out = fresh(dtype_);
  builder_.copy(out, digit);
  return out;
}

void Loader::prepare(const Span& partitions, const Ranges& box) {
  if (turner_) {
    turner_->prepare(partitions.begin / builder_.machine().partitions, box);
  }
}

Tile Loader::get(const Span& partitions, const Ranges& box, const Labels& labels) {
  const std::int64_t block = partitions.begin / builder_.machine().partitions;
  const Ranges held = load_box(box);
  const Tile tile = turner_ ? turner_->get(block, box, labels)
                            : piece(load(block, held), placed_, held, box, labels);
  return slice_partitions(tile, static_cast<int>(partitions.begin % builder_.machine().partitions),
                          static_cast<int>(partitions.extent));
}

}  // namespace systole::lower
