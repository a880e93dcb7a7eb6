// Convolution with pixels as weights: one spatial axis (or the images) lies on the partitions of
// the result.
//
// For each value of the other pixel axes, the weights are a row of x, [input channels, outputs
// along that axis], and the filters [input channels, filters] stream through; kernel positions and
// channel blocks add up in PSUM. An output on the partitions cannot be left out of a pass, so x is
// staged with its padding along that axis as zeros; along the other axes a position that misses the
// image is skipped.
#include <algorithm>
#include <map>

#include "compiler/lower/kernels/convolution.hpp"
#include "compiler/lower/kernels/convolution_blocks.hpp"
#include "compiler/lower/pieces.hpp"

namespace systole::lower {
namespace {

using Position = std::vector<std::int64_t>;

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

class Kernel {
 public:
  Kernel(Builder& builder, const ConvSpace& space, isa::DType dtype)
      : builder_(builder),
        machine_(builder.machine()),
        space_(space),
        dtype_(dtype),
        row_label_(row_label()),
        filters_(builder, space, dtype, false),
        positions_(space.kernel_positions()),
        blocks_((space.channels + machine_.partitions - 1) / machine_.partitions) {
    for (const int label : space.y.free_labels) {
      if (label != ConvSpace::filter && label != row_label_) {
        other_labels_.push_back(label);
      }
    }
    plan();
  }

  void run() {
    const Ranges all = space_.all_outputs();
    for (std::int64_t f = 0; f < space_.filters; f += filters_per_block_) {
      const Span filters{f, std::min(filters_per_block_, space_.filters - f)};
      filters_.begin(filters);
      for (Ranges block : cut(all, other_labels_, pixels_per_block_)) {
        block[ConvSpace::filter] = filters;
        rows_.clear();
        block_ = block;
        for (const Span& part : column_parts(machine_, all[at(row_label_)])) {
          run_part(block, part);
        }
      }
    }
  }

 private:
  // The label on the result's partitions that has more than one value; the images if there is none.
  [[nodiscard]] int row_label() const {
    const Ranges all = space_.all_outputs();
    for (const int label : space_.y.partition_labels) {
      if (all[at(label)].extent > 1) {
        return label;
      }
    }
    return ConvSpace::image;
  }

  [[nodiscard]] bool spatial_rows() const { return row_label_ >= ConvSpace::first_axis; }
  [[nodiscard]] const SpatialAxis& row_axis() const {
    return space_.axes[at(row_label_ - ConvSpace::first_axis)];
  }

  // Input coordinates along the row axis that some position of some output asks for, padding
  // included.
  [[nodiscard]] Span row_inputs() const {
    if (!spatial_rows()) {
      return {0, space_.images};
    }
    const SpatialAxis& axis = row_axis();
    const std::int64_t first = input_of(axis, 0, 0);
    return {first, input_of(axis, axis.output - 1, axis.kernel - 1) - first + 1};
  }

  [[nodiscard]] bool padded() const {
    return spatial_rows() &&
           (row_inputs().begin < 0 || row_inputs().begin + row_inputs().extent > row_axis().input);
  }

  // What a block of x holds: all rows (with padding), of the other axes what the block's outputs
  // need.
  [[nodiscard]] Ranges inputs_of(const Ranges& outputs) const {
    Ranges inputs = outputs;
    for (int a = 0; a < space_.rank(); ++a) {
      inputs[at(space_.axis_label(a))] =
          needed_input(space_.axes[at(a)], outputs[at(space_.axis_label(a))]);
    }
    inputs[ConvSpace::channel] = {0, 1};
    inputs[at(row_label_)] = row_inputs();
    return inputs;
  }

  void plan() {
    const std::int64_t budget = builder_.staging_bytes();
    filters_per_block_ = space_.filters;
    while (filters_per_block_ > machine_.moving_max &&
           blocks_ * filters_.bytes(filters_per_block_) * 2 > budget / 2) {
      filters_per_block_ = (filters_per_block_ + 1) / 2;
    }
    const std::int64_t left = budget -
                              blocks_ * filters_.bytes(filters_per_block_) *
                                  (filters_per_block_ < space_.filters ? 2 : 1) -
                              4 * filters_per_block_ * 4;
    pixels_per_block_ = volume(space_.all_outputs(), other_labels_);
    while (pixels_per_block_ > 1) {
      const Ranges block = cut(space_.all_outputs(), other_labels_, pixels_per_block_).front();
      const std::int64_t bytes =
          volume(inputs_of(block), space_.x.free_labels) * isa::size_of(dtype_);
      if (2 * blocks_ * bytes <= left) {
        break;
      }
      pixels_per_block_ /= 2;
    }
  }

  [[nodiscard]] Span block_partitions(std::int64_t block) const {
    const std::int64_t first = block * machine_.partitions;
    return {first, std::min<std::int64_t>(machine_.partitions, space_.x.partitions - first)};
  }

  const LabelledTile& rows(std::int64_t block) {
    auto found = rows_.find(block);
    if (found == rows_.end()) {
      const Ranges inputs = inputs_of(block_);
      const Span partitions = block_partitions(block);
      const Tile tile =
          padded() ? load_padded(inputs, partitions)
                   : builder_.read(space_.x.tensor, region_of(space_.x, inputs, partitions),
                                   {dtype_, false, -1});
      found = rows_.emplace(block, LabelledTile{tile, space_.x, inputs}).first;
    }
    return found->second;
  }

  [[nodiscard]] Tile load_padded(const Ranges& inputs, const Span& partitions) {
    std::vector<std::int64_t> extents;
    for (const int label : space_.x.free_labels) {
      extents.push_back(inputs[at(label)].extent);
    }
    const Tile tile =
        builder_.scratch(static_cast<int>(partitions.extent), extents, dtype_, "padded image");
    const Span wanted = inputs[at(row_label_)];
    const Span inside{std::max<std::int64_t>(0, wanted.begin),
                      std::min(row_axis().input, wanted.begin + wanted.extent) -
                          std::max<std::int64_t>(0, wanted.begin)};
    const auto place =
        std::find(space_.x.free_labels.begin(), space_.x.free_labels.end(), row_label_);
    const auto dim = static_cast<int>(place - space_.x.free_labels.begin());
    const std::int64_t before = inside.begin - wanted.begin;
    const std::int64_t after = wanted.extent - before - inside.extent;
    if (before > 0) {
      builder_.memset(slice(tile, dim, 0, before), 0.0F);
    }
    if (after > 0) {
      builder_.memset(slice(tile, dim, before + inside.extent, after), 0.0F);
    }
    if (inside.extent > 0) {
      Ranges stored = inputs;
      stored[at(row_label_)] = inside;
      Builder::Walk walk;
      walk.begin.assign(at(2 + space_.rank()), 0);
      walk.begin[1] = partitions.begin;
      walk.partitions = {{1, 1, partitions.extent}};
      for (const int label : space_.x.free_labels) {
        const int logical = label == ConvSpace::image     ? 0
                            : label == ConvSpace::channel ? 1
                                                          : 2 + label - ConvSpace::first_axis;
        walk.begin[at(logical)] += label == ConvSpace::channel ? 0 : stored[at(label)].begin;
        walk.free.push_back({logical, 1, stored[at(label)].extent});
      }
      builder_.load(slice(tile, dim, before, inside.extent), space_.x.tensor, walk);
    }
    return tile;
  }

  // The weights for the outputs `part` at one value of the other axes, through one position.
  [[nodiscard]] Tile weights(std::int64_t block, const Span& part, const Ranges& pixel,
                             const Position& position) {
    const LabelledTile& from = rows(block);
    Tile out = from.tile;
    isa::Dim columns{0, 1};
    for (std::size_t d = 0; d < from.dims.free_labels.size(); ++d) {
      const int label = from.dims.free_labels[d];
      const bool row = label == row_label_;
      std::int64_t begin = label == ConvSpace::channel ? 0
                           : row                       ? part.begin
                                                       : pixel[at(label)].begin;
      std::int64_t step = 1;
      if (label >= ConvSpace::first_axis) {
        const std::size_t axis = at(label - ConvSpace::first_axis);
        begin = input_of(space_.axes[axis], begin, position[axis]);
        step = row ? space_.axes[axis].stride : 1;
      }
      out = slice(out, static_cast<int>(d), begin - from.held[at(label)].begin,
                  row ? part.extent : 1, step);
      columns = row ? out.dims[d] : columns;
    }
    out.dims = {columns};
    return addressable(out);
  }

  [[nodiscard]] Tile addressable(const Tile& tile) {
    if (fits_access(machine_, tile)) {
      return tile;
    }
    const Tile dense = builder_.scratch(tile.partitions, {tile.dims[0].extent}, tile.dtype,
                                        "pixels", tile.partition);
    builder_.copy(dense, tile);
    return dense;
  }

  void run_part(const Ranges& block, const Span& part) {
    const std::int64_t banks = std::max(1, machine_.psum_banks / 2);
    const std::int64_t filters_at_once = banks * machine_.moving_max;
    for (const Ranges& pixel : cut(block, other_labels_, 1)) {
      for (std::int64_t f = 0; f < block[ConvSpace::filter].extent; f += filters_at_once) {
        Ranges outputs = pixel;
        outputs[ConvSpace::filter] = {
            block[ConvSpace::filter].begin + f,
            std::min(filters_at_once, block[ConvSpace::filter].extent - f)};
        outputs[at(row_label_)] = part;
        run_pixel(outputs);
      }
    }
  }

  void run_pixel(const Ranges& outputs) {
    const Span part = outputs[at(row_label_)];
    const std::vector<Ranges> chunks = cut(outputs, {ConvSpace::filter}, machine_.moving_max);
    std::vector<Tile> sums;
    for (const Ranges& chunk : chunks) {
      sums.push_back(
          builder_.psum(static_cast<int>(part.extent), {chunk[ConvSpace::filter].extent}, "sums"));
    }
    bool started = false;
    for (std::int64_t block = 0; block < blocks_; ++block) {
      for (const Position& position : positions_) {
        Ranges valid = valid_outputs(space_, outputs, position);
        valid[at(row_label_)] = part;  // padded with zeros
        if (misses_image(space_, valid)) {
          continue;
        }
        builder_.load_stationary(weights(block, part, outputs, position), 0);
        for (std::size_t c = 0; c < chunks.size(); ++c) {
          builder_.multiply(filters_.piece(block, chunks[c][ConvSpace::filter], position), sums[c],
                            started);
        }
        started = true;
      }
    }
    evict(outputs, chunks, sums, started);
  }

  void evict(const Ranges& outputs, const std::vector<Ranges>& chunks,
             const std::vector<Tile>& sums, bool started) {
    const Region region = region_of(space_.y, outputs, outputs[at(row_label_)]);
    const Tile out = builder_.write(space_.y.tensor, region);
    for (std::size_t c = 0; c < chunks.size(); ++c) {
      Ranges chunk = chunks[c];
      Ranges held = outputs;
      chunk[at(row_label_)] = held[at(row_label_)] = {0, 1};
      const Tile to = piece(out, space_.y, held, chunk, {ConvSpace::filter});
      if (started) {
        builder_.copy(to, sums[c]);
      } else {
        builder_.memset(to, 0.0F);  // nothing but padding
      }
    }
    builder_.finish(space_.y.tensor, region, out);
  }

  Builder& builder_;
  const isa::Machine& machine_;
  const ConvSpace& space_;
  isa::DType dtype_;
  int row_label_;
  FilterBlocks filters_;
  std::vector<Position> positions_;
  std::int64_t blocks_;
  Labels other_labels_;  // pixel labels but the row label, in the result's order
  std::int64_t filters_per_block_ = 1;
  std::int64_t pixels_per_block_ = 1;
  Ranges block_;
  std::map<std::int64_t, LabelledTile> rows_;  // by partition block
};

}  // namespace

void convolve_with_pixels(Builder& builder, const ConvSpace& space, isa::DType dtype) {
  Kernel(builder, space, dtype).run();
}

}  // namespace systole::lower
