#include <algorithm>

#include "compiler/graph/evaluate.hpp"
#include "compiler/graph/facts.hpp"
#include "compiler/passes/passes.hpp"
#include "compiler/passes/rewrite.hpp"

namespace systole::passes {
namespace {

using graph::Array;
using graph::Graph;
using graph::Node;
using graph::Tensor;
using graph::TensorId;
using graph::TensorKind;

// An operator's cost on constants: flops of the node as it will stand in the new graph.
bool is_affordable(const Rewriter& rewriter, const Node& node, const Tensor& output,
                   const Options& options) {
  Graph probe;  // facts read shapes only
  Node copy = node;
  for (TensorId& input : copy.inputs) {
    Tensor operand = rewriter.tensor(input);
    operand.data.reset();
    input = probe.tensors.add(std::move(operand));
  }
  copy.output = probe.tensors.add(output);
  return graph::flops(probe, copy) <= options.fold_products;
}

}  // namespace

std::int64_t constant_elements(const Graph& graph) {
  std::int64_t total = 0;
  for (const Tensor& tensor : graph.tensors) {
    if (tensor.kind == TensorKind::constant) {
      total = saturating_add(total, graph::elements(tensor.shape));
    }
  }
  return total;
}

std::int64_t fold_constants(Graph& graph, const Options& options) {
  const std::int64_t total = constant_elements(graph);
  std::int64_t room =
      options.fold_total > 0 ? options.fold_total - total : std::max(total, options.fold_growth);
  return rewrite(graph, [&](Rewriter& rewriter, Node& node, const Tensor& output) {
    if (std::holds_alternative<graph::Convert>(node.op)) {
      return keep();
    }
    bool present = true;
    std::vector<const Array*> operands;
    for (const TensorId input : node.inputs) {
      const Tensor& tensor = rewriter.tensor(input);
      if (tensor.kind != TensorKind::constant) {
        return keep();
      }
      present = present && tensor.data != nullptr;
      operands.push_back(tensor.data.get());
    }
    const std::int64_t size = graph::elements(output.shape);
    if (size > options.fold_always) {
      if (size > room) {
        return keep();
      }
      room -= size;
    }
    if (!present) {
      return replaced(graph::add_weight(rewriter.graph, output.name, output.type, output.shape));
    }
    if (!is_affordable(rewriter, node, output, options)) {
      return keep();
    }
    return replaced(graph::add_constant(
        rewriter.graph, output.name,
        graph::evaluate(node.op, node.origin, operands, {output.type, output.shape})));
  });
}

}  // namespace systole::passes
