// Elementwise functions with broadcasting: which types each accepts and gives, and the loops around
// single values.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compiler/graph/ops/map_functions.hpp"
#include "compiler/graph/ops/ops.hpp"
#include "compiler/graph/ops/values.hpp"
#include "compiler/graph/ops/walk.hpp"
#include "isa/base/error.hpp"

namespace systole::graph::ops {
namespace {

using enum MapFunction;

bool is_logical(MapFunction f) {
  return f == logical_and || f == logical_or || f == logical_xor || f == logical_not;
}
bool gives_boolean(MapFunction f) {
  return find_predicate<double>(f) != nullptr;
}

bool is_defined(MapFunction f, ElementType type) {
  if (f == cast || f == copy || f == equal || f == not_equal) {
    return true;
  }
  if (type == ElementType::boolean || is_logical(f)) {
    return type == ElementType::boolean && is_logical(f);
  }
  return in_domain(type, [&](auto zero) {
    using W = decltype(zero);
    return find_unary<W>(f) != nullptr || find_binary<W>(f) != nullptr ||
           find_predicate<W>(f) != nullptr;
  });
}

void require_types(MapFunction f, const InferCall& call) {
  const std::string_view name = name_of(f);
  const ElementType type = call.inputs[0].type;
  if (f == select) {
    if (type != ElementType::boolean || call.inputs[1].type != call.inputs[2].type) {
      refuse(call, name, "needs a boolean condition and two values of one type", "insert casts");
    }
    return;
  }
  if (f == power) {
    if (type == ElementType::boolean || call.inputs[1].type == ElementType::boolean) {
      refuse(call, name, "booleans are not numbers", "cast the operands first");
    }
    return;
  }
  require_same_type(call, name);
  if (!is_defined(f, type)) {
    refuse(call, name, fmt::format("is not defined on {}", name_of(type)),
           is_logical(f) ? "cast the operands to bool" : "cast the operands to another type");
  }
}

Shape broadcast(const InferCall& call, std::string_view name) {
  Shape result;
  for (const TensorType& input : call.inputs) {
    if (input.shape.size() > result.size()) {
      result.insert(result.begin(), input.shape.size() - result.size(), 1);
    }
    const std::size_t shift = result.size() - input.shape.size();
    for (std::size_t i = 0; i < input.shape.size(); ++i) {
      std::int64_t& extent = result[shift + i];
      if (extent == 1) {
        extent = input.shape[i];
      } else if (input.shape[i] != 1 && input.shape[i] != extent) {
        refuse(call, name, "the shapes do not broadcast",
               "aligned from the right, extents must be equal or 1");
      }
    }
  }
  return result;
}

// result[i] = function of the operands' elements, all read as if broadcast to `shape`.
template <class R, class A, class B, class F>
std::vector<R> zip(const Shape& shape, const Array& a, const std::vector<A>& a_values,
                   const Array& b, const std::vector<B>& b_values, F&& function) {
  std::vector<R> result(static_cast<std::size_t>(elements(shape)));
  for_each_row<3>(
      shape,
      {strides_of(shape), broadcast_strides(a.shape, shape), broadcast_strides(b.shape, shape)},
      {0, 0, 0}, [&](const auto& offsets, std::int64_t length, const auto& steps) {
        for (std::int64_t i = 0; i < length; ++i) {
          result[static_cast<std::size_t>(offsets[0] + i * steps[0])] =
              function(a_values[static_cast<std::size_t>(offsets[1] + i * steps[1])],
                       b_values[static_cast<std::size_t>(offsets[2] + i * steps[2])]);
        }
      });
  return result;
}

Array compute_select(const ComputeCall& call) {
  const Shape& shape = call.output.shape;
  const std::vector<std::int64_t> condition = load<std::int64_t>(*call.inputs[0]);
  const Array& a = *call.inputs[1];
  const Array& b = *call.inputs[2];
  return in_domain(a.type, [&](auto zero) {
    using W = decltype(zero);
    const std::vector<W> a_values = load<W>(a);
    const std::vector<W> b_values = load<W>(b);
    std::vector<W> result(static_cast<std::size_t>(elements(shape)));
    for_each_row<4>(shape,
                    {strides_of(shape), broadcast_strides(call.inputs[0]->shape, shape),
                     broadcast_strides(a.shape, shape), broadcast_strides(b.shape, shape)},
                    {0, 0, 0, 0}, [&](const auto& offsets, std::int64_t length, const auto& steps) {
                      const auto at = [&](std::size_t operand, std::int64_t i) {
                        return static_cast<std::size_t>(offsets[operand] + i * steps[operand]);
                      };
                      for (std::int64_t i = 0; i < length; ++i) {
                        result[at(0, i)] =
                            condition[at(1, i)] != 0 ? a_values[at(2, i)] : b_values[at(3, i)];
                      }
                    });
    return store(call.output, result);
  });
}

Array compute_power(const ComputeCall& call) {
  const Array& a = *call.inputs[0];
  const Array& b = *call.inputs[1];
  const Shape& shape = call.output.shape;
  if (is_float(a.type) || is_float(b.type)) {
    return store(call.output, zip<double>(shape, a, load<double>(a), b, load<double>(b),
                                          [](double x, double y) { return std::pow(x, y); }));
  }
  return store(
      call.output,
      zip<std::int64_t>(shape, a, load<std::int64_t>(a), b, load<std::int64_t>(b),
                        [](std::int64_t x, std::int64_t y) { return integer_power(x, y); }));
}

// One operand stands in for the missing second one of is_nan, is_inf and logical_not.
Array compute_predicate(const Map& op, const ComputeCall& call) {
  const Array& a = *call.inputs.front();
  const Array& b = *call.inputs.back();
  return in_domain(a.type, [&](auto zero) {
    using W = decltype(zero);
    const Predicate<W> predicate = find_predicate<W>(op.function);
    return store(call.output,
                 zip<std::int64_t>(call.output.shape, a, load<W>(a), b, load<W>(b), [&](W x, W y) {
                   return std::int64_t{predicate(x, y) ? 1 : 0};
                 }));
  });
}

template <class W>
Array compute_unary(const Map& op, const ComputeCall& call) {
  const Unary<W> function = find_unary<W>(op.function);
  std::vector<W> values = load<W>(*call.inputs[0]);
  for (W& value : values) {
    value = function(op, value);
  }
  return store(call.output, values);
}

template <class W>
Array compute_binary(const Map& op, const ComputeCall& call) {
  const Binary<W> function = find_binary<W>(op.function);
  const Array& a = *call.inputs[0];
  const Array& b = *call.inputs[1];
  const std::vector<W> second = load<W>(b);
  const bool divides = op.function == divide || op.function == modulo || op.function == remainder;
  if (!std::is_floating_point_v<W> && divides && elements(call.output.shape) > 0 &&
      std::find(second.begin(), second.end(), W(0)) != second.end()) {
    throw Error(call.origin, fmt::format("{}: an integer is divided by zero", name_of(op.function)),
                "keep zeros out of the divisor");
  }
  return store(call.output, zip<W>(call.output.shape, a, load<W>(a), b, second,
                                   [&](W x, W y) { return function(op, x, y); }));
}

}  // namespace

TensorType infer(const Map& op, const InferCall& call) {
  const std::string_view name = name_of(op.function);
  require_operands(call, name, static_cast<std::size_t>(operands_of(op.function)));
  require_types(op.function, call);
  TensorType result{call.inputs[0].type, broadcast(call, name)};
  if (op.function == cast) {
    result.type = call.requested.type;
  } else if (op.function == select) {
    result.type = call.inputs[1].type;
  } else if (gives_boolean(op.function)) {
    result.type = ElementType::boolean;
  }
  return result;
}

Array compute(const Map& op, const ComputeCall& call) {
  if (op.function == cast || op.function == copy) {
    return convert(*call.inputs[0], call.output.type);
  }
  if (op.function == select) {
    return compute_select(call);
  }
  if (op.function == power) {
    return compute_power(call);
  }
  if (gives_boolean(op.function)) {
    return compute_predicate(op, call);
  }
  return in_domain(call.output.type, [&](auto zero) {
    using W = decltype(zero);
    return call.inputs.size() == 1 ? compute_unary<W>(op, call) : compute_binary<W>(op, call);
  });
}

}  // namespace systole::graph::ops
