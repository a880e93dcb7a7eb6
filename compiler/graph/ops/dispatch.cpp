#include <fmt/format.h>

#include "compiler/graph/ops/ops.hpp"
#include "isa/base/error.hpp"

namespace systole::graph::ops {

void refuse(const InferCall& call, std::string_view op, const std::string& what,
            const std::string& remedy) {
  std::string operands;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    operands += fmt::format("{}{}{}", i > 0 ? ", " : "", name_of(call.inputs[i].type),
                            to_string(call.inputs[i].shape));
  }
  throw Error(call.origin,
              fmt::format("{} of {}: {}", op, operands.empty() ? "nothing" : operands, what),
              remedy);
}

void require_operands(const InferCall& call, std::string_view op, std::size_t count) {
  if (call.inputs.size() != count) {
    refuse(call, op, fmt::format("needs {} operands, has {}", count, call.inputs.size()),
           "give the missing operands or leave out the surplus ones");
  }
}

void require_same_type(const InferCall& call, std::string_view op) {
  for (const TensorType& input : call.inputs) {
    if (input.type != call.inputs.front().type) {
      refuse(call, op, "operands differ in element type", "cast them to one type first");
    }
  }
}

void require_axis(const InferCall& call, std::string_view op, int axis, std::size_t rank) {
  if (axis < 0 || static_cast<std::size_t>(axis) >= rank) {
    refuse(call, op, fmt::format("axis {} is outside rank {}", axis, rank),
           rank == 0 ? "a value of rank 0 has no axis"
                     : fmt::format("use an axis from 0 to {}", rank - 1));
  }
}

void require_size(const InferCall& call, std::string_view op, std::string_view list,
                  std::size_t have, std::size_t want) {
  if (have != want) {
    refuse(call, op, fmt::format("{} has {} entries for {} axes", list, have, want),
           "give one entry per axis");
  }
}

TensorType infer_any(const Op& op, const InferCall& call) {
  return std::visit([&](const auto& each) { return infer(each, call); }, op);
}

Array compute_any(const Op& op, const ComputeCall& call) {
  return std::visit([&](const auto& each) { return compute(each, call); }, op);
}

}  // namespace systole::graph::ops
