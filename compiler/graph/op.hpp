// The core operators: every model is brought to these by frontend/ and passes/ before layouts are
// chosen. A closed variant; each has one output. Shapes, index maps and values: graph/ops/*. ONNX's
// larger operators are decomposed.
//
// Conventions: axes count from 0 and are never negative here; broadcasting aligns shapes from the
// right (numpy).
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

namespace systole::graph {

// out[labels out] = sum over labels absent from out of lhs[labels lhs] * rhs[labels rhs]. Labels
// are small integers, one per axis, distinct within an operand; equal labels have equal extents.
// Classes: batch (lhs, rhs, out), m (lhs, out), n (rhs, out), k (lhs, rhs). A label in one operand
// only and not in out is not allowed (reduce first).
struct Contraction {
  std::vector<int> lhs;
  std::vector<int> rhs;
  std::vector<int> out;
  bool operator==(const Contraction&) const = default;
};

// x [N, C, spatial...], w [O, C/groups, kernel...] -> [N, O, spatial'...]; spatial rank 1 to 3. No
// bias (a Map adds it). spatial' = (spatial + low + high - ((kernel-1)*dilation+1)) / stride + 1,
// rounded down.
struct Convolution {
  std::vector<std::int64_t> strides, pads_low, pads_high, dilations;
  std::int64_t groups = 1;
  bool operator==(const Convolution&) const = default;
};

enum class MapFunction : std::uint8_t {
  // one operand
  cast,
  copy,
  negate,
  abs,
  sign,
  relu,
  exp,
  log,
  sqrt,
  rsqrt,
  reciprocal,
  square,
  sigmoid,
  tanh,
  erf,
  gelu,
  gelu_tanh,
  silu,
  softplus,
  mish,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  asinh,
  acosh,
  atanh,
  floor,
  ceil,
  round,
  logical_not,
  bitwise_not,
  is_nan,
  is_inf,
  clip,        // min(max(x, alpha), beta)
  leaky_relu,  // x < 0 ? alpha * x : x
  elu,         // x < 0 ? alpha * (exp(x) - 1) : x
  // two operands
  add,
  subtract,
  multiply,
  divide,
  max,
  min,
  power,
  modulo,
  remainder,  // modulo: sign of divisor; remainder: dividend
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  logical_and,
  logical_or,
  logical_xor,
  bitwise_and,
  bitwise_or,
  bitwise_xor,
  shift_left,
  shift_right,
  // three operands
  select  // condition ? a : b
};
[[nodiscard]] std::string_view name_of(MapFunction function);
[[nodiscard]] int operands_of(MapFunction function);

struct Map {
  MapFunction function = MapFunction::copy;
  double alpha = 0.0;
  double beta = 0.0;
  bool operator==(const Map&) const = default;
};

enum class ReduceFunction : std::uint8_t { sum, max, min, product, mean };
[[nodiscard]] std::string_view name_of(ReduceFunction function);

struct Reduce {
  ReduceFunction function = ReduceFunction::sum;
  std::vector<int> axes;  // ascending, not empty
  bool keep = false;      // reduced axes stay with extent 1
  bool operator==(const Reduce&) const = default;
};

struct ArgReduce {  // index of the largest (smallest) along axis; the first on ties unless last
  bool largest = true;
  int axis = 0;
  bool keep = false;
  bool last = false;
  bool operator==(const ArgReduce&) const = default;
};

// Pooling over the spatial axes of x [N, C, spatial...]: max (padding never wins) or sum (padding
// counts 0). Averages are a sum and a Map. Extents as for Convolution; pads_high may be larger than
// given by the model (ceil mode).
struct Window {
  ReduceFunction function = ReduceFunction::max;
  std::vector<std::int64_t> kernel, strides, pads_low, pads_high, dilations;
  bool operator==(const Window&) const = default;
};

struct Transpose {  // out axis i = input axis perm[i]
  std::vector<int> perm;
  bool operator==(const Transpose&) const = default;
};
struct Reshape {  // row-major order of elements kept; the target is the output tensor's shape
  bool operator==(const Reshape&) const = default;
};
struct Slice {  // out[i] = in[start + i * step] per axis; the extents are the output tensor's
                // shape; steps may be negative
  std::vector<std::int64_t> starts, steps;
  bool operator==(const Slice&) const = default;
};
struct Concat {
  int axis = 0;
  bool operator==(const Concat&) const = default;
};
struct Pad {  // low/high elements of value around, interior between neighbours, per axis; low and
              // high may be negative (crop)
  std::vector<std::int64_t> low, high, interior;
  double value = 0.0;
  bool operator==(const Pad&) const = default;
};
struct Expand {  // broadcast to the output tensor's shape
  bool operator==(const Expand&) const = default;
};
struct Gather {  // data, indices -> data with `axis` replaced by indices' axes; negative indices
                 // count from the end
  int axis = 0;
  bool operator==(const Gather&) const = default;
};
struct GatherElements {  // out[.., i, ..] = data[.., index[.., i, ..], ..] along axis; out has
                         // index's shape
  int axis = 0;
  bool operator==(const GatherElements&) const = default;
};
enum class ScatterMode : std::uint8_t { assign, add, multiply, max, min };
[[nodiscard]] std::string_view name_of(ScatterMode mode);
struct ScatterND {  // data, indices [..., r], updates -> data with slabs replaced (combined)
  ScatterMode mode = ScatterMode::assign;
  bool operator==(const ScatterND&) const = default;
};
struct Convert {  // same value in another layout; inserted by layout/apply
  bool operator==(const Convert&) const = default;
};

using Op =
    std::variant<Contraction, Convolution, Map, Reduce, ArgReduce, Window, Transpose, Reshape,
                 Slice, Concat, Pad, Expand, Gather, GatherElements, ScatterND, Convert>;
// The operator's kind; of a Map its function ("add"), of a Reduce just "reduce".
[[nodiscard]] std::string_view name_of(const Op& op);

}  // namespace systole::graph
