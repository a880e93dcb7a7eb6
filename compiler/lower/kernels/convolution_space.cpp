#include "compiler/lower/kernels/convolution_space.hpp"

#include <algorithm>

namespace systole::lower {
namespace {

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return a >= 0 ? (a + b - 1) / b : -(-a / b);
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  return a >= 0 ? a / b : -((-a + b - 1) / b);
}

}  // namespace

std::int64_t input_of(const SpatialAxis& axis, std::int64_t output, std::int64_t k) {
  return output * axis.stride + k * axis.dilation - axis.pad;
}

Span needed_input(const SpatialAxis& axis, const Span& output) {
  const std::int64_t low = std::max<std::int64_t>(0, input_of(axis, output.begin, 0));
  const std::int64_t high =
      std::min(axis.input - 1, input_of(axis, output.begin + output.extent - 1, axis.kernel - 1));
  if (high < low) {  // only padding: any element stands for it
    return {std::clamp<std::int64_t>(low, 0, axis.input - 1), 1};
  }
  return {low, high - low + 1};
}

Span valid_output(const SpatialAxis& axis, const Span& output, std::int64_t k) {
  const std::int64_t shift = axis.pad - k * axis.dilation;  // input = output * stride - shift
  const std::int64_t first = std::max(output.begin, ceil_div(shift, axis.stride));
  const std::int64_t last =
      std::min(output.begin + output.extent - 1, floor_div(axis.input - 1 + shift, axis.stride));
  return {first, std::max<std::int64_t>(0, last - first + 1)};
}

std::int64_t ConvSpace::positions() const {
  std::int64_t product = 1;
  for (const SpatialAxis& axis : axes) {
    product *= axis.kernel;
  }
  return product;
}

Labels ConvSpace::kernel_labels() const {
  Labels labels;
  for (int a = 0; a < rank(); ++a) {
    labels.push_back(kernel_label(a));
  }
  return labels;
}

Ranges ConvSpace::all_outputs() const {
  Ranges box(at(first_axis + 2 * rank()));
  box[image] = {0, images};
  box[channel] = {0, channels};
  box[filter] = {0, filters};
  for (int a = 0; a < rank(); ++a) {
    box[at(axis_label(a))] = {0, axes[at(a)].output};
    box[at(kernel_label(a))] = {0, axes[at(a)].kernel};
  }
  return box;
}

std::vector<std::vector<std::int64_t>> ConvSpace::kernel_positions() const {
  std::vector<std::vector<std::int64_t>> all{{}};
  for (const SpatialAxis& axis : axes) {
    std::vector<std::vector<std::int64_t>> next;
    for (const auto& outer : all) {
      for (std::int64_t k = 0; k < axis.kernel; ++k) {
        next.push_back(outer);
        next.back().push_back(k);
      }
    }
    all = std::move(next);
  }
  const auto covers_all = [this](const std::vector<std::int64_t>& position) {
    for (std::size_t a = 0; a < axes.size(); ++a) {
      if (valid_output(axes[a], {0, axes[a].output}, position[a]).extent != axes[a].output) {
        return false;
      }
    }
    return true;
  };
  std::stable_partition(all.begin(), all.end(), covers_all);
  return all;
}

ConvSpace conv_space_of(const layout::LaidGraph& laid, const graph::Node& node,
                        const graph::Convolution& op) {
  const auto& tensors = laid.graph.tensors;
  const graph::Shape& x = tensors[node.inputs[0]].shape;
  const graph::Shape& w = tensors[node.inputs[1]].shape;
  const graph::Shape& y = tensors[node.output].shape;
  ConvSpace space;
  space.images = x[0];
  space.channels = x[1];
  space.filters = w[0];
  space.groups = op.groups;
  for (std::size_t a = 0; a + 2 < x.size(); ++a) {
    space.axes.push_back(
        {x[a + 2], y[a + 2], w[a + 2], op.strides[a], op.dilations[a], op.pads_low[a]});
  }
  Labels x_labels{ConvSpace::image, ConvSpace::channel};
  Labels w_labels{ConvSpace::filter, ConvSpace::channel};
  Labels y_labels{ConvSpace::image, ConvSpace::filter};
  for (int a = 0; a < space.rank(); ++a) {
    x_labels.push_back(space.axis_label(a));
    y_labels.push_back(space.axis_label(a));
    w_labels.push_back(space.kernel_label(a));
  }
  const std::size_t count = at(ConvSpace::first_axis + 2 * space.rank());
  space.x = place_labels(laid, node.inputs[0], x_labels, count);
  space.w = place_labels(laid, node.inputs[1], w_labels, count);
  space.y = place_labels(laid, node.output, y_labels, count);
  return space;
}

Ranges valid_outputs(const ConvSpace& space, const Ranges& outputs,
                     const std::vector<std::int64_t>& position) {
  Ranges box = outputs;
  for (int a = 0; a < space.rank(); ++a) {
    Span& span = box[at(space.axis_label(a))];
    span = valid_output(space.axes[at(a)], span, position[at(a)]);
  }
  return box;
}

bool misses_image(const ConvSpace& space, const Ranges& outputs) {
  for (int a = 0; a < space.rank(); ++a) {
    if (outputs[at(space.axis_label(a))].extent == 0) {
      return true;
    }
  }
  return false;
}

}  // namespace systole::lower
