// Convolution: blocks of output pixels are unfolded into a panel [C/groups * kernel, pixels] that
// Eigen multiplies with the weights of one group. Blocks bound the panel to 16 MB. Floats are
// multiplied and accumulated in double.
#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>

#include "compiler/graph/ops/ops.hpp"
#include "compiler/graph/ops/spatial.hpp"
#include "compiler/graph/ops/values.hpp"

namespace systole::graph::ops {
namespace {

template <class W>
using Panel = Eigen::Matrix<W, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Fills one panel row: one channel at one kernel position, output pixels first .. first + count.
template <class W>
void unfold_row(W* to, const W* channel, const Spatial& s, std::array<std::int64_t, 3> kernel,
                std::int64_t first, std::int64_t count) {
  std::int64_t x = first % s.out[2];
  std::int64_t y = first / s.out[2] % s.out[1];
  std::int64_t z = first / s.out[2] / s.out[1];
  std::int64_t done = 0;
  while (done < count) {
    const std::int64_t row = std::min(s.out[2] - x, count - done);
    const std::int64_t in_z = z * s.stride[0] + kernel[0] * s.dilation[0] - s.low[0];
    const std::int64_t in_y = y * s.stride[1] + kernel[1] * s.dilation[1] - s.low[1];
    const bool inside = in_z >= 0 && in_z < s.in[0] && in_y >= 0 && in_y < s.in[1];
    for (std::int64_t i = 0; i < row; ++i) {
      const std::int64_t in_x = (x + i) * s.stride[2] + kernel[2] * s.dilation[2] - s.low[2];
      to[done + i] = inside && in_x >= 0 && in_x < s.in[2]
                         ? channel[(in_z * s.in[1] + in_y) * s.in[2] + in_x]
                         : W(0);
    }
    done += row;
    x = 0;
    if (++y == s.out[1]) {
      y = 0;
      ++z;
    }
  }
}

template <class W>
void unfold(Panel<W>& panel, const std::vector<W>& image, std::int64_t channels, const Spatial& s,
            std::int64_t first, std::int64_t count) {
  panel.resize(channels * s.kernel_elements(), count);
  std::int64_t row = 0;
  for (std::int64_t c = 0; c < channels; ++c) {
    const W* channel = image.data() + c * s.in_elements();
    for (std::int64_t z = 0; z < s.kernel[0]; ++z) {
      for (std::int64_t y = 0; y < s.kernel[1]; ++y) {
        for (std::int64_t x = 0; x < s.kernel[2]; ++x) {
          unfold_row(panel.data() + row * count, channel, s, {z, y, x}, first, count);
          ++row;
        }
      }
    }
  }
}

template <class W>
Array convolve(const Array& input, const Array& weights, std::int64_t groups, const Spatial& s,
               const TensorType& output) {
  Array out = make_array(output.type, output.shape);
  if (elements(output.shape) == 0) {
    return out;
  }
  const std::int64_t channels = input.shape[1] / groups;
  const std::int64_t features = output.shape[1] / groups;
  const std::int64_t depth = channels * s.kernel_elements();
  const std::int64_t pixels = s.out_elements();
  const std::int64_t block =
      std::clamp<std::int64_t>((std::int64_t{1} << 21) / std::max<std::int64_t>(depth, 1), 16,
                               std::min<std::int64_t>(pixels, 8192));
  Panel<W> panel;
  Panel<W> result;
  for (std::int64_t g = 0; g < groups; ++g) {
    const std::vector<W> kernel = load_range<W>(weights, g * features * depth, features * depth);
    const Eigen::Map<const Panel<W>> kernel_panel(kernel.data(), features, depth);
    for (std::int64_t n = 0; n < input.shape[0]; ++n) {
      const std::vector<W> image = load_range<W>(
          input, (n * groups + g) * channels * s.in_elements(), channels * s.in_elements());
      const std::int64_t base = (n * groups + g) * features * pixels;
      for (std::int64_t first = 0; first < pixels; first += block) {
        const std::int64_t count = std::min(block, pixels - first);
        unfold(panel, image, channels, s, first, count);
        result.setZero(features, count);  // sums start from +0, also those of a single product
        result.noalias() += kernel_panel * panel;
        with_element(out.type, [&](auto* tag) {
          using T = std::remove_pointer_t<decltype(tag)>;
          for (std::int64_t f = 0; f < features; ++f) {
            T* to = data_of<T>(out) + base + f * pixels + first;
            for (std::int64_t i = 0; i < count; ++i) {
              to[i] = element_cast<T>(result(f, i));
            }
          }
        });
      }
    }
  }
  return out;
}

}  // namespace

TensorType infer(const Convolution& op, const InferCall& call) {
  require_operands(call, "convolution", 2);
  require_same_type(call, "convolution");
  const Shape& x = call.inputs[0].shape;
  const Shape& w = call.inputs[1].shape;
  if (call.inputs[0].type == ElementType::boolean) {
    refuse(call, "convolution", "booleans are not numbers", "cast the operands first");
  }
  if (x.size() < 3 || w.size() != x.size()) {
    refuse(call, "convolution", "operand and weights need one rank of at least 3",
           "give x [N, C, spatial...] and w [O, C/groups, kernel...]");
  }
  if (op.groups < 1 || x[1] % op.groups != 0 || w[0] % op.groups != 0 || w[1] != x[1] / op.groups) {
    refuse(call, "convolution",
           fmt::format("{} groups do not fit {} channels and these weights", op.groups, x[1]),
           "groups divides C and O, and the weights have C/groups channels");
  }
  const std::vector<std::int64_t> kernel(w.begin() + 2, w.end());
  TensorType result{call.inputs[0].type, {x[0], w[0]}};
  for (const std::int64_t extent : spatial_extents(
           call, "convolution", x, {kernel, op.strides, op.pads_low, op.pads_high, op.dilations})) {
    result.shape.push_back(extent);
  }
  return result;
}

Array compute(const Convolution& op, const ComputeCall& call) {
  const Array& input = *call.inputs[0];
  const Array& weights = *call.inputs[1];
  const std::vector<std::int64_t> kernel(weights.shape.begin() + 2, weights.shape.end());
  const Spatial spatial = spatial_of(input.shape, call.output.shape,
                                     {kernel, op.strides, op.pads_low, op.pads_high, op.dilations});
  return is_float(call.output.type)
             ? convolve<double>(input, weights, op.groups, spatial, call.output)
             : convolve<std::uint64_t>(input, weights, op.groups, spatial, call.output);
}

}  // namespace systole::graph::ops
