// Convolution with the filters as weights: the result has output channels on its partitions.
//
// For every kernel position the array multiplies weights [input channels, filters] with the image
// shifted by the position, and the positions add up in PSUM. The shift is only an access pattern on
// x as it lies in SBUF, with the stride as element stride. Padding is never stored: a position
// writes only those outputs whose input exists; the first multiply of a tile must cover it, so a
// position that covers everything goes first, and where none does the tile is started by a product
// with zeros.
//
// Few channels use few rows of the array. If the channels times the first kernel axis fit the rows,
// that axis is folded into them (convolution_blocks); the same shifted rows are then in SBUF
// several times, but each pass does the work of all of that axis. Folding a second axis would save
// further passes and load the image as many times again.
//
// Few filters use few columns of the array: then several pixel tiles are worked on side by side,
// each by its own copy of the weights.
//
// Groups become block-diagonal weights over whole partition blocks: wasteful in multiplies by zero,
// but any group size works, and narrow groups share one pass.
#include <algorithm>

#include "compiler/lower/kernels/convolution.hpp"
#include "compiler/lower/kernels/convolution_blocks.hpp"
#include "compiler/lower/pieces.hpp"

namespace systole::lower {
namespace {

using Position = std::vector<std::int64_t>;

struct Plan {
  std::int64_t pixels = 1;        // outputs of a block, per filter
  std::int64_t filters = 1;       // of a block
  std::int64_t filter_tiles = 1;  // of a group of accumulators
  std::int64_t pixel_tiles = 1;
};

std::int64_t parts(std::int64_t total, std::int64_t size) {
  return (total + size - 1) / size;
}

// Loads of one partition block larger than this bring nothing but a later start; folded images come
// in many short rows.
constexpr std::int64_t block_bytes_max = 16384;
constexpr std::int64_t folded_block_bytes_max = 8192;

class Kernel {
 public:
  Kernel(Builder& builder, const ConvSpace& space, isa::DType dtype, bool folded)
      : builder_(builder),
        machine_(builder.machine()),
        space_(space),
        folded_(folded),
        image_(builder, space, dtype, folded),
        filters_(builder, space, dtype, folded),
        dtype_(dtype),
        positions_(positions()),
        blocks_(folded ? 1 : parts(space.channels, machine_.partitions)) {
    for (const int label : space.x.free_labels) {
      if (label != ConvSpace::channel &&
          space.all_outputs()[static_cast<std::size_t>(label)].extent > 1) {
        pixel_labels_.push_back(label);
      }
    }
    plan_ = plan();
  }

  void run() {
    const Ranges all = space_.all_outputs();
    for (std::int64_t f = 0; f < space_.filters; f += plan_.filters) {
      const Span filters{f, std::min(plan_.filters, space_.filters - f)};
      filters_.begin(filters);
      for (Ranges block : cut(all, pixel_labels_, plan_.pixels)) {
        block[ConvSpace::filter] = filters;
        image_.begin(block);
        run_block(block);
      }
    }
  }

 private:
  // The folded axis has one position left.
  [[nodiscard]] std::vector<Position> positions() const {
    std::vector<Position> all = space_.kernel_positions();
    if (folded_) {
      std::erase_if(all, [](const Position& position) { return position[0] != 0; });
    }
    return all;
  }

  [[nodiscard]] Ranges valid(const Ranges& outputs, const Position& position) const {
    Ranges box = valid_outputs(space_, outputs, position);
    if (folded_) {
      const auto rows = static_cast<std::size_t>(space_.axis_label(0));
      box[rows] = outputs[rows];
    }
    return box;
  }

  [[nodiscard]] Plan plan() const {
    const std::int64_t budget = builder_.staging_bytes();
    const isa::DType x_storage = builder_.laid().storage[space_.x.tensor];
    const bool image_in_place =
        !folded_ && x_storage == dtype_ && builder_.is_resident(space_.x.tensor);
    Plan plan;
    plan.filters = space_.filters;
    while (plan.filters > machine_.array_columns &&
           blocks_ * filters_.bytes(plan.filters) * (plan.filters < space_.filters ? 2 : 1) >
               budget / 2) {
      plan.filters = parts(plan.filters / 2, machine_.array_columns) * machine_.array_columns;
    }
    // One bank per filter tile: the sooner a group ends, the sooner others go on with its outputs.
    const std::int64_t banks = std::max(1, machine_.psum_banks / 2);
    const std::int64_t all_pixels = volume(space_.all_outputs(), pixel_labels_);
    const std::int64_t beside =
        column_tiles(machine_, std::min<std::int64_t>(plan.filters, machine_.array_columns)).count;
    plan.pixel_tiles = std::clamp<std::int64_t>(parts(all_pixels, machine_.moving_max), 1, beside);
    plan.filter_tiles =
        space_.groups > 1
            ? 1
            : std::clamp<std::int64_t>(parts(plan.filters, machine_.array_columns), 1, banks);
    std::int64_t left =
        budget - blocks_ * filters_.bytes(plan.filters) * (plan.filters < space_.filters ? 2 : 1);
    if (!builder_.is_resident(space_.y.tensor)) {
      left -= 2 * plan.filter_tiles * plan.pixel_tiles * machine_.moving_max * 4;
    }
    plan.pixels = all_pixels;
    while (!image_in_place && plan.pixels > 1) {
      const std::int64_t bytes =
          image_.bytes(cut(space_.all_outputs(), pixel_labels_, plan.pixels).front());
      if (bytes <= (folded_ ? folded_block_bytes_max : block_bytes_max) &&
          bytes * blocks_ * (plan.pixels < all_pixels ? 2 : 1) <= left) {
        break;
      }
      plan.pixels = plan.pixels / 2;
    }
    return plan;
  }

  void run_block(const Ranges& block) {
    const std::vector<Span> tiles = column_parts(machine_, block[ConvSpace::filter]);
    const std::vector<Ranges> spans =
        cut_for_tiles(block, pixel_labels_, machine_.moving_max, plan_.pixel_tiles);
    const auto group = static_cast<std::size_t>(plan_.filter_tiles);
    for (std::size_t tile = 0; tile < tiles.size(); tile += group) {
      const std::vector<Span> together(
          tiles.begin() + static_cast<std::ptrdiff_t>(tile),
          tiles.begin() + static_cast<std::ptrdiff_t>(std::min(tile + group, tiles.size())));
      for (const Ranges& span : spans) {
        run_group(together, span);
      }
    }
  }

  struct Sum {
    Ranges outputs;
    Tile tile;
    bool started = false;
  };

  void run_group(const std::vector<Span>& tiles, const Ranges& span) {
    std::vector<std::vector<Sum>> sums(tiles.size());
    const std::vector<Ranges> chunks = cut(span, pixel_labels_, machine_.moving_max);
    for (std::size_t t = 0; t < tiles.size(); ++t) {
      sums[t] = room_for_sums(tiles[t], chunks);
    }
    const Span blocks = blocks_of(tiles);
    for (std::int64_t block = blocks.begin; block < blocks.begin + blocks.extent; ++block) {
      for (const Position& position : positions_) {
        step(block, position, tiles, chunks, sums);
      }
    }
    for (std::size_t t = 0; t < tiles.size(); ++t) {
      evict(tiles[t], span, sums[t]);
    }
  }

  // One bank takes as many chunks as the array works on side by side.
  [[nodiscard]] std::vector<Sum> room_for_sums(const Span& filters,
                                               const std::vector<Ranges>& chunks) {
    const ColumnTiles beside = column_tiles(machine_, filters.extent);
    std::vector<Sum> sums;
    Tile bank;
    for (std::size_t c = 0; c < chunks.size(); ++c) {
      const auto place = static_cast<std::int64_t>(c) % beside.count;
      if (place == 0) {
        const auto left = static_cast<std::int64_t>(chunks.size() - c);
        const std::int64_t partitions =
            (std::min(beside.count, left) - 1) * beside.distance + filters.extent;
        bank = builder_.psum(static_cast<int>(partitions), extents_of(chunks[c]), "sums");
      }
      Tile tile = slice_partitions(bank, static_cast<int>(place * beside.distance),
                                   static_cast<int>(filters.extent));
      std::int64_t stride = 1;
      const std::vector<std::int64_t> extents = extents_of(chunks[c]);
      for (std::size_t d = extents.size(); d-- > 0;) {
        tile.dims[d] = make_dim(stride, extents[d]);
        stride *= extents[d];
      }
      sums.push_back({chunks[c], tile, false});
    }
    return sums;
  }

  // The partition blocks of x that these filters see.
  [[nodiscard]] Span blocks_of(const std::vector<Span>& tiles) const {
    if (space_.groups == 1) {
      return {0, blocks_};
    }
    const std::int64_t per_group = space_.channels / space_.groups;
    const std::int64_t filters_per_group = space_.filters / space_.groups;
    const std::int64_t first = tiles.front().begin / filters_per_group * per_group;
    const std::int64_t last =
        ((tiles.back().begin + tiles.back().extent - 1) / filters_per_group + 1) * per_group - 1;
    return {first / machine_.partitions,
            last / machine_.partitions - first / machine_.partitions + 1};
  }

  void step(std::int64_t block, const Position& position, const std::vector<Span>& tiles,
            const std::vector<Ranges>& chunks, std::vector<std::vector<Sum>>& sums) {
    struct Moving {
      std::size_t chunk = 0;
      Ranges outputs;
      Tile tile;
    };
    std::vector<Moving> moving;
    for (std::size_t c = 0; c < chunks.size(); ++c) {
      const Ranges outputs = valid(chunks[c], position);
      if (!misses_image(space_, outputs)) {
        moving.push_back({c, outputs, image_.piece(block, outputs, position, pixel_labels_)});
      }
    }
    if (moving.empty()) {
      return;
    }
    for (std::size_t t = 0; t < tiles.size(); ++t) {
      const ColumnTiles beside = column_tiles(machine_, tiles[t].extent);
      const auto column = [&beside](const Moving& item) {
        return static_cast<std::int64_t>(item.chunk) % beside.count * beside.distance;
      };
      const Tile weights = filters_.piece(block, tiles[t], position);
      std::vector<std::int64_t> loaded;
      for (const Moving& item : moving) {
        if (std::find(loaded.begin(), loaded.end(), column(item)) == loaded.end()) {
          loaded.push_back(column(item));
          builder_.load_stationary(weights, static_cast<int>(loaded.back()));
        }
      }
      for (const Moving& item : moving) {
        Sum& sum = sums[t][item.chunk];
        const bool whole =
            volume(item.outputs, pixel_labels_) == volume(sum.outputs, pixel_labels_);
        if (!sum.started && !whole) {
          start_with_zeros(sum.tile, item.tile.partitions);
          sum.started = true;
        }
        multiply_in_parts(builder_, item.tile, part_of(sum, item.outputs), sum.started);
        sum.started = true;
      }
    }
  }

  void start_with_zeros(const Tile& sum, int rows) {
    const Tile zeros = slice_partitions(builder_.zeros(dtype_), 0, rows);
    builder_.multiply(slice(zeros, 0, 0, free_elements(sum)), sum, false);
  }

  [[nodiscard]] Tile part_of(const Sum& sum, const Ranges& outputs) const {
    Tile part = sum.tile;
    for (std::size_t d = 0; d < pixel_labels_.size(); ++d) {
      const auto label = static_cast<std::size_t>(pixel_labels_[d]);
      part = slice(part, static_cast<int>(d), outputs[label].begin - sum.outputs[label].begin,
                   outputs[label].extent);
    }
    return part;
  }

  [[nodiscard]] std::vector<std::int64_t> extents_of(const Ranges& box) const {
    std::vector<std::int64_t> extents;
    for (const int label : pixel_labels_) {
      extents.push_back(box[static_cast<std::size_t>(label)].extent);
    }
    return extents;
  }

  void evict(const Span& filters, const Ranges& span, const std::vector<Sum>& sums) {
    Ranges held = span;
    held[ConvSpace::filter] = filters;
    const Region region = region_of(space_.y, held, filters);
    const Tile out = builder_.write(space_.y.tensor, region);
    held[ConvSpace::filter].extent = 1;
    for (const Sum& sum : sums) {
      Ranges outputs = sum.outputs;
      outputs[ConvSpace::filter] = held[ConvSpace::filter];
      const Tile to = piece(out, space_.y, held, outputs, pixel_labels_);
      if (sum.started) {
        builder_.copy(to, sum.tile);
      } else {
        builder_.memset(to, 0.0F);  // nothing but padding
      }
    }
    builder_.finish(space_.y.tensor, region, out);
  }

  Builder& builder_;
  const isa::Machine& machine_;
  const ConvSpace& space_;
  bool folded_;
  ImageBlocks image_;
  FilterBlocks filters_;
  isa::DType dtype_;
  std::vector<Position> positions_;
  std::int64_t blocks_;
  Labels pixel_labels_;  // of more than one value
  Plan plan_;
};

}  // namespace

void convolve_with_filters(Builder& builder, const ConvSpace& space, isa::DType dtype) {
  const std::int64_t kernel = space.axes[0].kernel;
  const std::int64_t rows = builder.machine().array_rows;
  const bool folded = space.groups == 1 && kernel > 1 && space.channels * kernel <= rows &&
                      space.channels * 4 <= rows;
  Kernel(builder, space, dtype, folded).run();
}

}  // namespace systole::lower
