#include "compiler/lower/kernels/convolution_blocks.hpp"

#include <algorithm>

namespace systole::lower {
namespace {

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

Span block_partitions(const Builder& builder, std::int64_t block, std::int64_t all) {
  const std::int64_t partitions = builder.machine().partitions;
  return {block * partitions, std::min(partitions, all - block * partitions)};
}

// The kernel labels but the folded one, then the filters: dims of weights that are put together
// here.
Labels weight_dims(const ConvSpace& space, bool folded) {
  Labels dims;
  for (int a = folded ? 1 : 0; a < space.rank(); ++a) {
    dims.push_back(space.kernel_label(a));
  }
  dims.push_back(ConvSpace::filter);
  return dims;
}

std::vector<Builder::Step> weight_steps(const ConvSpace& space, bool folded, std::int64_t filters) {
  std::vector<Builder::Step> steps;
  for (int a = folded ? 1 : 0; a < space.rank(); ++a) {
    steps.push_back({2 + a, 1, space.axes[at(a)].kernel});
  }
  steps.push_back({0, 1, filters});
  return steps;
}

}  // namespace

FoldedRows::FoldedRows(const isa::Machine& machine, const ConvSpace& space)
    : channels_(space.channels),
      rows_(space.channels * space.axes[0].kernel),
      distance_(machine.array_rows / rows_) {}

int FoldedRows::partitions() const {
  return static_cast<int>((rows_ - 1) * distance_ + 1);
}

int FoldedRows::partition(std::int64_t k, std::int64_t channel) const {
  return static_cast<int>((k * channels_ + channel) * distance_);
}

bool FoldedRows::have_gaps() const {
  return partitions() > rows_;
}

std::int64_t FoldedRows::together() const {
  return distance_ == 1 ? channels_ : 1;
}

Tile piece_of(const LabelledTile& from, const Ranges& box, const Labels& labels) {
  return piece(from.tile, from.dims, from.held, box, labels);
}

// ---- the image

ImageBlocks::ImageBlocks(Builder& builder, const ConvSpace& space, isa::DType dtype, bool folded)
    : builder_(builder),
      space_(space),
      dtype_(dtype),
      folded_(folded),
      outputs_(space.all_outputs()) {}

void ImageBlocks::begin(const Ranges& outputs) {
  const bool same =
      std::all_of(space_.x.free_labels.begin(), space_.x.free_labels.end(), [&](int label) {
        return outputs_[at(label)].begin == outputs[at(label)].begin &&
               outputs_[at(label)].extent == outputs[at(label)].extent;
      });
  if (!same) {
    loaded_.clear();
    outputs_ = outputs;
  }
}

Ranges ImageBlocks::inputs_of(const Ranges& outputs) const {
  Ranges inputs = outputs;
  for (int a = folded_ ? 1 : 0; a < space_.rank(); ++a) {
    inputs[at(space_.axis_label(a))] =
        needed_input(space_.axes[at(a)], outputs[at(space_.axis_label(a))]);
  }
  inputs[ConvSpace::channel] = {0, 1};
  return inputs;
}

std::int64_t ImageBlocks::bytes(const Ranges& outputs) const {
  return volume(inputs_of(outputs), space_.x.free_labels) * isa::size_of(dtype_);
}

LabelledTile ImageBlocks::load(std::int64_t partition_block) {
  const Ranges inputs = inputs_of(outputs_);
  const Region region =
      region_of(space_.x, inputs, block_partitions(builder_, partition_block, space_.x.partitions));
  return {builder_.read(space_.x.tensor, region, {dtype_, false, -1}), space_.x, inputs};
}

LabelledTile ImageBlocks::load_folded() {
  const Ranges inputs = inputs_of(outputs_);
  std::vector<std::int64_t> extents;
  for (const int label : space_.x.free_labels) {
    extents.push_back(inputs[at(label)].extent);
  }
  const FoldedRows rows(builder_.machine(), space_);
  const Tile tile = builder_.scratch(rows.partitions(), extents, dtype_, "folded image");
  const auto place =
      std::find(space_.x.free_labels.begin(), space_.x.free_labels.end(), space_.axis_label(0));
  const auto row_dim = static_cast<int>(place - space_.x.free_labels.begin());
  clear_padding(tile, row_dim);
  for (std::int64_t k = 0; k < space_.axes[0].kernel; ++k) {
    for (std::int64_t c = 0; c < space_.channels; c += rows.together()) {
      const Tile part =
          slice_partitions(tile, rows.partition(k, c), static_cast<int>(rows.together()));
      load_position(part, row_dim, inputs, k, c);
    }
  }
  return {tile, space_.x, inputs};
}

// Rows that lie in the padding for some position are zeroed for all; they are then loaded for the
// positions that have them. Rows of the array between those in use must hold numbers, too.
void ImageBlocks::clear_padding(const Tile& tile, int row_dim) {
  const Span all = outputs_[at(space_.axis_label(0))];
  if (FoldedRows(builder_.machine(), space_).have_gaps()) {
    builder_.memset(tile, 0.0F);
    return;
  }
  Span common = all;
  for (std::int64_t k = 0; k < space_.axes[0].kernel; ++k) {
    common = valid_output(space_.axes[0], common, k);
  }
  const std::int64_t before = common.extent == 0 ? all.extent : common.begin - all.begin;
  const std::int64_t after = all.extent - before - common.extent;
  if (before > 0) {
    builder_.memset(slice(tile, row_dim, 0, before), 0.0F);
  }
  if (after > 0) {
    builder_.memset(slice(tile, row_dim, before + common.extent, after), 0.0F);
  }
}

// The rows of x that kernel position `k` of the first axis sees, for the channels from `channel`
// on.
void ImageBlocks::load_position(const Tile& part, int row_dim, const Ranges& inputs, std::int64_t k,
                                std::int64_t channel) {
  const SpatialAxis& axis = space_.axes[0];
  const Span all = outputs_[at(space_.axis_label(0))];
  const Span valid = valid_output(axis, all, k);
  if (valid.extent == 0) {
    return;
  }
  Builder::Walk walk;
  walk.begin.assign(at(2 + space_.rank()), 0);
  walk.begin[1] = channel;
  walk.partitions = {{1, 1, part.partitions}};
  for (const int label : space_.x.free_labels) {
    if (label == ConvSpace::channel) {
      walk.free.push_back({1, 1, 1});
    } else if (label == space_.axis_label(0)) {
      walk.begin[2] = input_of(axis, valid.begin, k);
      walk.free.push_back({2, axis.stride, valid.extent});
    } else {
      const int logical = label == ConvSpace::image ? 0 : 2 + label - ConvSpace::first_axis;
      walk.begin[at(logical)] = inputs[at(label)].begin;
      walk.free.push_back({logical, 1, inputs[at(label)].extent});
    }
  }
  builder_.load(slice(part, row_dim, valid.begin - all.begin, valid.extent), space_.x.tensor, walk);
}

Tile ImageBlocks::piece(std::int64_t partition_block, const Ranges& outputs,
                        const std::vector<std::int64_t>& position, const Labels& labels) {
  auto found = loaded_.find(partition_block);
  if (found == loaded_.end()) {
    found = loaded_.emplace(partition_block, folded_ ? load_folded() : load(partition_block)).first;
  }
  const LabelledTile& from = found->second;
  Tile out = from.tile;
  for (std::size_t d = 0; d < from.dims.free_labels.size(); ++d) {
    const int label = from.dims.free_labels[d];
    const Span want = outputs[at(label)];
    std::int64_t begin = want.begin;
    std::int64_t step = 1;
    if (label == ConvSpace::channel) {
      begin = 0;
    } else if (label >= ConvSpace::first_axis && !(folded_ && label == space_.axis_label(0))) {
      const auto axis = at(label - ConvSpace::first_axis);
      begin = input_of(space_.axes[axis], want.begin, position[axis]);
      step = space_.axes[axis].stride;
    }
    const std::int64_t extent = label == ConvSpace::channel ? 1 : want.extent;
    out = slice(out, static_cast<int>(d), begin - from.held[at(label)].begin, extent, step);
  }
  std::vector<isa::Dim> dims;
  for (const int label : labels) {
    const auto place = std::find(from.dims.free_labels.begin(), from.dims.free_labels.end(), label);
    dims.push_back(out.dims[static_cast<std::size_t>(place - from.dims.free_labels.begin())]);
  }
  out.dims = dims;
  return out;
}

// ---- the filters

FilterBlocks::FilterBlocks(Builder& builder, const ConvSpace& space, isa::DType dtype, bool folded)
    : builder_(builder), space_(space), dtype_(dtype), folded_(folded) {}

void FilterBlocks::begin(const Span& filters) {
  if (filters.begin != filters_.begin || filters.extent != filters_.extent) {
    loaded_.clear();
    filters_ = filters;
  }
}

std::int64_t FilterBlocks::bytes(std::int64_t filters) const {
  const std::int64_t folded = folded_ ? space_.axes[0].kernel : 1;
  return space_.positions() / folded * filters * isa::size_of(dtype_);
}

LabelledTile FilterBlocks::load(std::int64_t partition_block) {
  Ranges box = space_.all_outputs();
  box[ConvSpace::filter] = filters_;
  box[ConvSpace::channel] = {0, 1};
  const Region region =
      region_of(space_.w, box, block_partitions(builder_, partition_block, space_.w.partitions));
  return {builder_.read(space_.w.tensor, region, {dtype_, false, -1}), space_.w, box};
}

LabelledTile FilterBlocks::load_folded() {
  const FoldedRows rows(builder_.machine(), space_);
  Ranges box = space_.all_outputs();
  box[ConvSpace::filter] = filters_;
  Placed dims;
  dims.free_labels = weight_dims(space_, true);
  std::vector<std::int64_t> extents;
  for (const int label : dims.free_labels) {
    extents.push_back(box[at(label)].extent);
  }
  const Tile tile = builder_.scratch(rows.partitions(), extents, dtype_, "folded weights");
  if (rows.have_gaps()) {
    builder_.memset(tile, 0.0F);  // rows between the loaded ones
  }
  Builder::Walk walk;
  walk.begin.assign(at(2 + space_.rank()), 0);
  walk.begin[0] = filters_.begin;
  walk.free = weight_steps(space_, true, filters_.extent);
  for (std::int64_t k = 0; k < space_.axes[0].kernel; ++k) {
    for (std::int64_t c = 0; c < space_.channels; c += rows.together()) {
      walk.begin[1] = c;
      walk.begin[2] = k;
      walk.partitions = {{1, 1, rows.together()}};
      builder_.load(slice_partitions(tile, rows.partition(k, c), static_cast<int>(rows.together())),
                    space_.w.tensor, walk);
    }
  }
  return {tile, dims, box};
}

LabelledTile FilterBlocks::load_grouped(std::int64_t partition_block) {
  const std::int64_t per_group = space_.channels / space_.groups;
  const std::int64_t filters_per_group = space_.filters / space_.groups;
  const Span rows = block_partitions(builder_, partition_block, space_.channels);
  Ranges box = space_.all_outputs();
  box[ConvSpace::filter] = filters_;
  Placed dims;
  dims.free_labels = weight_dims(space_, false);
  std::vector<std::int64_t> extents;
  for (const int label : dims.free_labels) {
    extents.push_back(box[at(label)].extent);
  }
  const Tile tile =
      builder_.scratch(static_cast<int>(rows.extent), extents, dtype_, "grouped weights");
  builder_.memset(tile, 0.0F);
  for (std::int64_t group = rows.begin / per_group; group * per_group < rows.begin + rows.extent;
       ++group) {
    const std::int64_t first_row = std::max(rows.begin, group * per_group);
    const std::int64_t end_row = std::min(rows.begin + rows.extent, (group + 1) * per_group);
    const std::int64_t first = std::max(filters_.begin, group * filters_per_group);
    const std::int64_t end =
        std::min(filters_.begin + filters_.extent, (group + 1) * filters_per_group);
    if (first >= end) {
      continue;
    }
    Builder::Walk walk;
    walk.begin.assign(at(2 + space_.rank()), 0);
    walk.begin[0] = first;
    walk.begin[1] = first_row - group * per_group;
    walk.partitions = {{1, 1, end_row - first_row}};
    walk.free = weight_steps(space_, false, end - first);
    const Tile part = slice_partitions(tile, static_cast<int>(first_row - rows.begin),
                                       static_cast<int>(end_row - first_row));
    builder_.load(slice(part, space_.rank(), first - filters_.begin, end - first), space_.w.tensor,
                  walk);
  }
  return {tile, dims, box};
}

Tile FilterBlocks::piece(std::int64_t partition_block, const Span& filters,
                         const std::vector<std::int64_t>& position) {
  auto found = loaded_.find(partition_block);
  if (found == loaded_.end()) {
    const LabelledTile tile = folded_             ? load_folded()
                              : space_.groups > 1 ? load_grouped(partition_block)
                                                  : load(partition_block);
    found = loaded_.emplace(partition_block, tile).first;
  }
  Ranges box = found->second.held;
  box[ConvSpace::filter] = filters;
  box[ConvSpace::channel].extent = 1;
  for (int a = folded_ ? 1 : 0; a < space_.rank(); ++a) {
    box[at(space_.kernel_label(a))] = {position[at(a)], 1};
  }
  return piece_of(found->second, box, {ConvSpace::filter});
}

}  // namespace systole::lower
