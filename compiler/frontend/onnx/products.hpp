// Matrix products on the core contraction.
#pragma once

#include "compiler/frontend/builder.hpp"

namespace systole::frontend {

// NumPy's matmul: the last two axes multiply, the leading ones broadcast; vectors gain and lose an axis. An extent-1 batch
// axis of one operand is dropped, so that broadcasting needs no copies. Throws when the extents do not fit.
[[nodiscard]] TensorId matmul(Builder& build, TensorId a, TensorId b);

}  // namespace systole::frontend
