// Depthwise convolution on the vector engine: channels on the partitions, one multiply and add per
// kernel position with the position's weight as per-partition scalar. Sums in fp32.
//
// With several filters per channel the image is gathered with each channel repeated, so that every
// filter has its channel on its own partition.
#include <algorithm>

#include "compiler/lower/kernels/convolution.hpp"
#include "compiler/lower/kernels/convolution_blocks.hpp"

namespace systole::lower {
namespace {

using Position = std::vector<std::int64_t>;

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

class Kernel {
 public:
  Kernel(Builder& builder, const ConvSpace& space)
      : builder_(builder),
        space_(space),
        multiple_(space.filters / space.channels),
        positions_(space.kernel_positions()) {
    for (const int label : space.y.free_labels) {
      if (label != ConvSpace::filter) {
        labels_.push_back(label);
      }
    }
  }

  void run() {
    const std::int64_t pixels = pixels_per_block();
    for (const Span& filters : legal_parts(builder_.machine(), {0, space_.filters})) {
      const Tile weights = load_weights(filters);
      for (Ranges block : cut(space_.all_outputs(), labels_, pixels)) {
        block[ConvSpace::filter] = {0, 1};  // on the partitions
        run_block(filters, weights, block);
      }
    }
  }

 private:
  [[nodiscard]] Ranges inputs_of(const Ranges& outputs) const {
    Ranges inputs = outputs;
    for (int a = 0; a < space_.rank(); ++a) {
      inputs[at(space_.axis_label(a))] =
          needed_input(space_.axes[at(a)], outputs[at(space_.axis_label(a))]);
    }
    inputs[ConvSpace::channel] = {0, 1};
    return inputs;
  }

  // x, the sums and the staged result, twice.
  [[nodiscard]] std::int64_t pixels_per_block() const {
    const std::int64_t budget = builder_.staging_bytes() - space_.positions() * 8;
    const int bytes = isa::size_of(builder_.laid().storage[space_.x.tensor]);
    std::int64_t pixels = volume(space_.all_outputs(), labels_);
    while (pixels > 1) {
      const Ranges block = cut(space_.all_outputs(), labels_, pixels).front();
      const std::int64_t inputs = volume(inputs_of(block), space_.x.free_labels);
      if (2 * (inputs * bytes + volume(block, labels_) * 8) <= budget) {
        break;
      }
      pixels /= 2;
    }
    return pixels;
  }

  // One fp32 value per filter and position: per-partition scalars.
  [[nodiscard]] Tile load_weights(const Span& filters) {
    Builder::Walk walk;
    walk.begin.assign(at(2 + space_.rank()), 0);
    walk.begin[0] = filters.begin;
    walk.partitions = {{0, 1, filters.extent}};
    for (int a = 0; a < space_.rank(); ++a) {
      walk.free.push_back({2 + a, 1, space_.axes[at(a)].kernel});
    }
    return builder_.gather(space_.w.tensor, walk, {isa::DType::f32, false, -1}, start_of(filters));
  }

  [[nodiscard]] int start_of(const Span& filters) const {
    return static_cast<int>(filters.begin % builder_.machine().partitions);
  }

  [[nodiscard]] Tile load_image(const Span& filters, const Ranges& inputs) {
    if (multiple_ == 1) {
      return builder_.read(space_.x.tensor, region_of(space_.x, inputs, filters));
    }
    // Whole channels around the range, so that the repetition is regular; the range starts at a
    // multiple or alone.
    Builder::Walk walk;
    walk.begin.assign(at(2 + space_.rank()), 0);
    for (const int label : space_.x.free_labels) {
      const int logical = label == ConvSpace::image     ? 0
                          : label == ConvSpace::channel ? 1
                                                        : 2 + label - ConvSpace::first_axis;
      walk.begin[at(logical)] = inputs[at(label)].begin;
      walk.free.push_back({logical, 1, inputs[at(label)].extent});
    }
    std::vector<std::int64_t> extents;
    for (const Builder::Step& step : walk.free) {
      extents.push_back(step.extent);
    }
    const Tile tile = builder_.scratch(static_cast<int>(filters.extent), extents,
                                       builder_.laid().storage[space_.x.tensor], "repeated image",
                                       start_of(filters));
    for (std::int64_t done = 0; done < filters.extent;) {
      const std::int64_t filter = filters.begin + done;
      const std::int64_t left = filters.extent - done;
      const std::int64_t channels = filter % multiple_ == 0 ? left / multiple_ : 0;
      const std::int64_t repeats =
          channels > 0 ? multiple_ : std::min(left, multiple_ - filter % multiple_);
      walk.begin[1] = filter / multiple_;
      walk.partitions = {{1, 1, std::max<std::int64_t>(1, channels)}, {-1, 1, repeats}};
      const std::int64_t count = std::max<std::int64_t>(1, channels) * repeats;
      builder_.load(slice_partitions(tile, static_cast<int>(done), static_cast<int>(count)),
                    space_.x.tensor, walk);
      done += count;
    }
    return tile;
  }

  [[nodiscard]] Tile image_piece(const Tile& image, const Ranges& inputs, const Ranges& outputs,
                                 const Position& position) const {
    Tile out = image;
    std::vector<isa::Dim> dims(labels_.size());
    for (std::size_t d = 0; d < space_.x.free_labels.size(); ++d) {
      const int label = space_.x.free_labels[d];
      if (label == ConvSpace::channel) {
        continue;
      }
      const Span want = outputs[at(label)];
      std::int64_t begin = want.begin;
      std::int64_t step = 1;
      if (label >= ConvSpace::first_axis) {
        const SpatialAxis& axis = space_.axes[at(label - ConvSpace::first_axis)];
        begin = input_of(axis, want.begin, position[at(label - ConvSpace::first_axis)]);
        step = axis.stride;
      }
      out = slice(out, static_cast<int>(d), begin - inputs[at(label)].begin, want.extent, step);
      const auto place = std::find(labels_.begin(), labels_.end(), label);
      dims[static_cast<std::size_t>(place - labels_.begin())] = out.dims[d];
    }
    out.dims = dims;
    return out;
  }

  [[nodiscard]] static Tile weight_of(const Tile& weights, const Position& position) {
    Tile weight = weights;
    for (std::size_t a = 0; a < position.size(); ++a) {
      weight = slice(weight, static_cast<int>(a), position[a], 1);
    }
    return weight;
  }

  void run_block(const Span& filters, const Tile& weights, const Ranges& block) {
    const Ranges inputs = inputs_of(block);
    const Tile image = load_image(filters, inputs);
    const Region region = region_of(space_.y, block, filters);
    const Tile out = builder_.write(space_.y.tensor, region);
    std::vector<std::int64_t> extents;
    for (const int label : labels_) {
      extents.push_back(block[at(label)].extent);
    }
    const Tile sums = builder_.scratch(static_cast<int>(filters.extent), extents, isa::DType::f32,
                                       "sums", start_of(filters));
    bool started = false;
    for (const Position& position : positions_) {
      const Ranges outputs = valid_outputs(space_, block, position);
      if (misses_image(space_, outputs)) {
        continue;
      }
      const bool whole = volume(outputs, labels_) == volume(block, labels_);
      if (!started && !whole) {
        builder_.memset(sums, 0.0F);
        started = true;
      }
      Tile sum = sums;
      for (std::size_t d = 0; d < labels_.size(); ++d) {
        const Span want = outputs[at(labels_[d])];
        sum =
            slice(sum, static_cast<int>(d), want.begin - block[at(labels_[d])].begin, want.extent);
      }
      const Tile in = image_piece(image, inputs, outputs, position);
      const Tile weight = weight_of(weights, position);
      if (started) {
        builder_.scalar_tensor_tensor(sum, in, isa::AluOp::multiply, weight, isa::AluOp::add, sum);
      } else {
        builder_.tensor_scalar(sum, in, isa::AluOp::multiply, weight);
      }
      started = true;
    }
    if (!started) {
      builder_.memset(sums, 0.0F);  // nothing but padding
    }
    builder_.copy(in_label_order(out), sums);
    builder_.finish(space_.y.tensor, region, out);
  }

  // The result's tile without the filter's dim, which has one value when filters lie on the
  // partitions.
  [[nodiscard]] Tile in_label_order(const Tile& out) const {
    Tile view = out;
    view.dims.clear();
    for (std::size_t d = 0; d < space_.y.free_labels.size(); ++d) {
      if (space_.y.free_labels[d] != ConvSpace::filter) {
        view.dims.push_back(out.dims[d]);
      }
    }
    return view;
  }

  Builder& builder_;
  const ConvSpace& space_;
  std::int64_t multiple_;
  std::vector<Position> positions_;
  Labels labels_;  // pixel labels in the result's order
};

}  // namespace

void convolve_depthwise(Builder& builder, const ConvSpace& space) {
  Kernel(builder, space).run();
}

}  // namespace systole::lower
