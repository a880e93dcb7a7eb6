// The convolution that a node's attributes describe, on operands given by the caller.
#pragma once

#include "compiler/frontend/onnx/call.hpp"

namespace systole::frontend {

[[nodiscard]] TensorId convolve(Call& call, TensorId x, TensorId w);

}  // namespace systole::frontend
