#include <fmt/format.h>

#include <map>
#include <string>

#include "compiler/graph/text.hpp"
#include "compiler/passes/passes.hpp"
#include "compiler/passes/rewrite.hpp"

namespace systole::passes {
namespace {

using graph::Graph;
using graph::Node;
using graph::Tensor;
using graph::TensorId;
using graph::TensorKind;

std::string key_of(const graph::Array& array) {
  std::string key = fmt::format("{}{}:", graph::name_of(array.type), graph::to_string(array.shape));
  for (const std::byte byte : array.data) {
    key += static_cast<char>(byte);
  }
  return key;
}

// Single elements, and small tables of integers: shapes, indices, flags. Larger equal constants are
// weights and masks of different layers that happen to be equal (all of them in a model filled with
// one value): sharing one would tie the layouts of those layers together and misstate the bytes
// they load.
bool is_mergeable(const Tensor& tensor) {
  constexpr std::int64_t table_limit = 256;
  const std::int64_t count = graph::elements(tensor.shape);
  return count <= 1 || (!graph::is_float(tensor.type) && count <= table_limit);
}

// Lets every use of such a constant read the first one with the same bytes. Constants without data
// stay apart: they may turn out to be different.
std::int64_t merge_constants(Graph& graph) {
  std::map<std::string, TensorId> seen;
  IdVector<TensorId, TensorId> now(graph.tensors.size());
  for (const TensorId id : graph.tensors.ids()) {
    const Tensor& tensor = graph.tensors[id];
    const bool mergeable =
        tensor.kind == TensorKind::constant && tensor.data != nullptr && is_mergeable(tensor);
    now[id] = mergeable ? seen.try_emplace(key_of(*tensor.data), id).first->second : id;
  }
  std::int64_t merged = 0;
  const auto redirect = [&](TensorId& use) {
    merged += now[use] != use ? 1 : 0;
    use = now[use];
  };
  for (Node& node : graph.nodes) {
    for (TensorId& input : node.inputs) {
      redirect(input);
    }
  }
  for (TensorId& output : graph.outputs) {
    redirect(output);
  }
  return merged;
}

std::string key_of(const Node& node, const Tensor& output) {
  std::string key = fmt::format("{} {}{}", graph::to_string(node.op), graph::name_of(output.type),
                                graph::to_string(output.shape));
  for (const TensorId input : node.inputs) {
    key += fmt::format(" {}", input.index());
  }
  return key;
}

}  // namespace

std::int64_t merge_duplicates(Graph& graph, const Options&) {
  const std::int64_t constants = merge_constants(graph);
  std::map<std::string, TensorId> first;
  return constants + rewrite(graph, [&](Rewriter& rewriter, Node& node, const Tensor& output) {
           // The result's id will be the next one if the node is kept.
           const auto [place, fresh] =
               first.try_emplace(key_of(node, output), TensorId(rewriter.graph.tensors.size()));
           return fresh ? keep() : replaced(place->second);
         });
}

}  // namespace systole::passes
