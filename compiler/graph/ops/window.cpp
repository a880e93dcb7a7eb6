// Pooling: every output looks at the part of its window that lies inside the operand.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/graph/ops/combine.hpp"
#include "compiler/graph/ops/ops.hpp"
#include "compiler/graph/ops/spatial.hpp"
#include "compiler/graph/ops/values.hpp"

namespace systole::graph::ops {
namespace {

struct Taps {  // kernel positions begin .. end that touch the operand
  std::int64_t begin, end;
};

// One list per spatial axis, one entry per output position.
std::vector<Taps> taps_of(const Spatial& s, std::size_t axis) {
  std::vector<Taps> taps;
  for (std::int64_t o = 0; o < s.out[axis]; ++o) {
    const std::int64_t first = o * s.stride[axis] - s.low[axis];
    const std::int64_t dilation = s.dilation[axis];
    const std::int64_t begin = first >= 0 ? 0 : (-first + dilation - 1) / dilation;
    const std::int64_t room = s.in[axis] - 1 - first;
    const std::int64_t end = room < 0 ? 0 : std::min(s.kernel[axis], room / dilation + 1);
    taps.push_back({begin, end});
  }
  return taps;
}

template <class W>
Array pool(const Window& op, const Array& input, const Spatial& s, const TensorType& output) {
  const std::vector<W> values = load<W>(input);
  std::vector<W> result(static_cast<std::size_t>(elements(output.shape)),
                        identity_of<W>(op.function, input.type));
  const std::array<std::vector<Taps>, 3> taps{taps_of(s, 0), taps_of(s, 1), taps_of(s, 2)};
  const std::int64_t images = result.empty() ? 0 : input.shape[0] * input.shape[1];
  std::size_t at = 0;
  const auto first = [&](std::size_t axis, std::int64_t o) {
    return o * s.stride[axis] - s.low[axis];
  };
  for (std::int64_t image = 0; image < images; ++image) {
    const W* channel = values.data() + image * s.in_elements();
    for (std::int64_t oz = 0; oz < s.out[0]; ++oz) {
      for (std::int64_t oy = 0; oy < s.out[1]; ++oy) {
        for (std::int64_t ox = 0; ox < s.out[2]; ++ox, ++at) {
          const Taps tz = taps[0][static_cast<std::size_t>(oz)];
          const Taps ty = taps[1][static_cast<std::size_t>(oy)];
          const Taps tx = taps[2][static_cast<std::size_t>(ox)];
          for (std::int64_t z = tz.begin; z < tz.end; ++z) {
            const std::int64_t plane = (first(0, oz) + z * s.dilation[0]) * s.in[1];
            for (std::int64_t y = ty.begin; y < ty.end; ++y) {
              const std::int64_t row =
                  (plane + first(1, oy) + y * s.dilation[1]) * s.in[2] + first(2, ox);
              for (std::int64_t x = tx.begin; x < tx.end; ++x) {
                result[at] = combine(op.function, result[at], channel[row + x * s.dilation[2]]);
              }
            }
          }
        }
      }
    }
  }
  return store(output, result);
}

WindowAttributes attributes_of(const Window& op) {
  return {op.kernel, op.strides, op.pads_low, op.pads_high, op.dilations};
}

}  // namespace

TensorType infer(const Window& op, const InferCall& call) {
  require_operands(call, "window", 1);
  const TensorType& input = call.inputs[0];
  if (op.function != ReduceFunction::max && op.function != ReduceFunction::sum) {
    refuse(call, "window", fmt::format("{} is not pooled", name_of(op.function)),
           "use max or sum; an average is a sum and a division, a minimum a negated maximum");
  }
  if (input.type == ElementType::boolean) {
    refuse(call, "window", "booleans are not numbers", "cast the operand first");
  }
  const Shape extents = spatial_extents(call, "window", input.shape, attributes_of(op));
  TensorType result{input.type, {input.shape[0], input.shape[1]}};
  result.shape.insert(result.shape.end(), extents.begin(), extents.end());
  return result;
}

Array compute(const Window& op, const ComputeCall& call) {
  const Array& input = *call.inputs[0];
  const Spatial spatial = spatial_of(input.shape, call.output.shape, attributes_of(op));
  return in_domain(call.output.type, [&](auto zero) {
    return pool<decltype(zero)>(op, input, spatial, call.output);
  });
}

}  // namespace systole::graph::ops
