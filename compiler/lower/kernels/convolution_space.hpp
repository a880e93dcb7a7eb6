// The index space of a convolution as its kernels see it.
//
// Labels: 0 image, 1 input channel, 2 output channel, then the spatial axes, then the kernel axes.
// Spatial labels stand for output coordinates in ranges of the result and for input coordinates in
// ranges of x: input = output * stride + kernel position * dilation - pad.
#pragma once

#include "compiler/lower/kernels/contraction_space.hpp"

namespace systole::lower {

struct SpatialAxis {
  std::int64_t input = 1;  // extents
  std::int64_t output = 1;
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t pad = 0;  // low side
};

// The input coordinates that a range of outputs needs over all kernel positions, clipped to the
// input.
[[nodiscard]] Span needed_input(const SpatialAxis& axis, const Span& output);
// The outputs of the range for which kernel position `k` lies inside the input; extent 0 if none.
[[nodiscard]] Span valid_output(const SpatialAxis& axis, const Span& output, std::int64_t k);
[[nodiscard]] std::int64_t input_of(const SpatialAxis& axis, std::int64_t output, std::int64_t k);

struct ConvSpace {
  static constexpr int image = 0;
  static constexpr int channel = 1;
  static constexpr int filter = 2;  // output channel
  static constexpr int first_axis = 3;

  Placed x, w, y;
  std::int64_t images = 1, channels = 1, filters = 1, groups = 1;
  std::vector<SpatialAxis> axes;

  [[nodiscard]] int rank() const { return static_cast<int>(axes.size()); }
  [[nodiscard]] int axis_label(int axis) const { return first_axis + axis; }
  [[nodiscard]] int kernel_label(int axis) const { return first_axis + rank() + axis; }
  [[nodiscard]] std::int64_t positions() const;  // of the kernel
  [[nodiscard]] Labels kernel_labels() const;
  [[nodiscard]] Ranges all_outputs() const;  // filters, images, output coordinates, kernel in full
  // Every kernel position, one whose outputs are all inside the input first if there is one.
  [[nodiscard]] std::vector<std::vector<std::int64_t>> kernel_positions() const;
};

[[nodiscard]] ConvSpace conv_space_of(const layout::LaidGraph& laid, const graph::Node& node,
                                      const graph::Convolution& op);

// The part of an output box for which this kernel position lies inside the input; misses_image if
// there is none.
[[nodiscard]] Ranges valid_outputs(const ConvSpace& space, const Ranges& outputs,
                                   const std::vector<std::int64_t>& position);
[[nodiscard]] bool misses_image(const ConvSpace& space, const Ranges& outputs);

}  // namespace systole::lower
