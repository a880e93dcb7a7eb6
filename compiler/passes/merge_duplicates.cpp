#include <fmt/format.h>

#include <algorithm>
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

// Type, shape and the first bytes: constants that may be equal. The rest is compared, which ends at
// the first difference.
std::string outline_of(const graph::Array& array) {
  constexpr std::size_t prefix = 64;
  std::string key = fmt::format("{}{}:", graph::name_of(array.type), graph::to_string(array.shape));
  for (std::size_t i = 0; i < std::min(prefix, array.data.size()); ++i) {
    key += static_cast<char>(array.data[i]);
  }
  return key;
}

// Lets every use of a constant read the first constant with the same bytes. Constants without data
// stay apart: they may turn out to be different weights.
std::int64_t merge_constants(Graph& graph) {
  std::map<std::string, std::vector<TensorId>> seen;
  IdVector<TensorId, TensorId> now(graph.tensors.size());
  for (const TensorId id : graph.tensors.ids()) {
    now[id] = id;
    const Tensor& tensor = graph.tensors[id];
    if (tensor.kind != TensorKind::constant || tensor.data == nullptr) {
      continue;
    }
    std::vector<TensorId>& bucket = seen[outline_of(*tensor.data)];
    for (const TensorId other : bucket) {
      if (*graph.tensors[other].data == *tensor.data) {
        now[id] = other;
        break;
      }
    }
    if (now[id] == id) {
      bucket.push_back(id);
    }
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
