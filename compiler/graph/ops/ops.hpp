// Inside compiler/graph only: one pair of functions per operator.
//
// infer:   output type and shape from the operands' (and, for some, from what was requested);
// throws Error. compute: the output's values. Operands have been accepted by infer, and
// `call.output` is its answer.
//
// A new operator is a struct in op.hpp, a pair here and a file beside this one; dispatch.cpp does
// not compile without.
#pragma once

#include <string>
#include <vector>

#include "compiler/graph/graph.hpp"

namespace systole::graph::ops {

struct InferCall {
  const std::string& origin;  // for messages
  const std::vector<TensorType>& inputs;
  const TensorType& requested;
};

struct ComputeCall {
  const std::string& origin;
  const std::vector<const Array*>& inputs;
  const TensorType& output;
};

// Throws Error{origin, "<op> of [2,3] and [4]: <what>", remedy}.
[[noreturn]] void refuse(const InferCall& call, std::string_view op, const std::string& what,
                         const std::string& remedy);
// Exactly `count` operands.
void require_operands(const InferCall& call, std::string_view op, std::size_t count);
// All operands of one element type.
void require_same_type(const InferCall& call, std::string_view op);
void require_axis(const InferCall& call, std::string_view op, int axis, std::size_t rank);
// One entry per axis (or spatial axis).
void require_size(const InferCall& call, std::string_view op, std::string_view list,
                  std::size_t have, std::size_t want);

TensorType infer(const Contraction& op, const InferCall& call);
TensorType infer(const Convolution& op, const InferCall& call);
TensorType infer(const Map& op, const InferCall& call);
TensorType infer(const Reduce& op, const InferCall& call);
TensorType infer(const ArgReduce& op, const InferCall& call);
TensorType infer(const Window& op, const InferCall& call);
TensorType infer(const Transpose& op, const InferCall& call);
TensorType infer(const Reshape& op, const InferCall& call);
TensorType infer(const Slice& op, const InferCall& call);
TensorType infer(const Concat& op, const InferCall& call);
TensorType infer(const Pad& op, const InferCall& call);
TensorType infer(const Expand& op, const InferCall& call);
TensorType infer(const Gather& op, const InferCall& call);
TensorType infer(const GatherElements& op, const InferCall& call);
TensorType infer(const ScatterND& op, const InferCall& call);
TensorType infer(const Convert& op, const InferCall& call);

Array compute(const Contraction& op, const ComputeCall& call);
Array compute(const Convolution& op, const ComputeCall& call);
Array compute(const Map& op, const ComputeCall& call);
Array compute(const Reduce& op, const ComputeCall& call);
Array compute(const ArgReduce& op, const ComputeCall& call);
Array compute(const Window& op, const ComputeCall& call);
Array compute(const Transpose& op, const ComputeCall& call);
Array compute(const Reshape& op, const ComputeCall& call);
Array compute(const Slice& op, const ComputeCall& call);
Array compute(const Concat& op, const ComputeCall& call);
Array compute(const Pad& op, const ComputeCall& call);
Array compute(const Expand& op, const ComputeCall& call);
Array compute(const Gather& op, const ComputeCall& call);
Array compute(const GatherElements& op, const ComputeCall& call);
Array compute(const ScatterND& op, const ComputeCall& call);
Array compute(const Convert& op, const ComputeCall& call);

// Dispatch over the variant (other names than the overloads: a missing overload must not convert
// back to Op).
TensorType infer_any(const Op& op, const InferCall& call);
Array compute_any(const Op& op, const ComputeCall& call);

}  // namespace systole::graph::ops
