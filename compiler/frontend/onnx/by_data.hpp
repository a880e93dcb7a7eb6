// Operators whose axes, starts, amounts or conditions depend on the values of a graph input, where the model states the shape
// of the result: the values stay in the graph as index arithmetic, nothing is evaluated here.
#pragma once

#include <vector>

#include "compiler/frontend/onnx/call.hpp"

namespace systole::frontend {

// Each fails by naming the operand when the model does not state the result's shape.
[[nodiscard]] Values slice_by_data(Call& call);
[[nodiscard]] Values pad_by_data(Call& call);
[[nodiscard]] Values non_zero_by_data(Call& call);
[[nodiscard]] Values compress_by_data(Call& call);
// `apply` reduces over given axes; the axes that fit the stated shape are tried, the right result selected.
[[nodiscard]] Values reduce_by_data(Call& call, TensorId (*apply)(Call&, TensorId,
                                                                  const std::vector<int>&, bool));

}  // namespace systole::frontend
