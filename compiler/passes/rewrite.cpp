#include "compiler/passes/rewrite.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "isa/base/error.hpp"

namespace systole::passes {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Tensor;
using graph::TensorId;
using graph::TensorKind;

const Node* Rewriter::made_by_map(TensorId id, graph::MapFunction function) const {
  const Node* node = made_by<graph::Map>(id);
  return node != nullptr && std::get<graph::Map>(node->op).function == function ? node : nullptr;
}

bool Rewriter::single_use(TensorId id) const {
  return id.index() < use_counts_.size() && use_counts_[id.index()] <= 1;
}

void Rewriter::count_uses(TensorId id, int more) {
  if (use_counts_.size() <= id.index()) {
    use_counts_.resize(id.index() + 1, 0);
  }
  use_counts_[id.index()] += more;
}

namespace {

struct Liveness {
  IdVector<NodeId, char> nodes;
  IdVector<TensorId, int> uses;  // by live nodes and as outputs
};

Liveness find_live(const Graph& graph) {
  Liveness live{IdVector<NodeId, char>(graph.nodes.size(), 0),
                IdVector<TensorId, int>(graph.tensors.size(), 0)};
  for (const TensorId output : graph.outputs) {
    ++live.uses[output];
  }
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[NodeId(i)];
    if (live.uses[node.output] == 0) {
      continue;
    }
    live.nodes[NodeId(i)] = 1;
    for (const TensorId input : node.inputs) {
      ++live.uses[input];
    }
  }
  return live;
}

TensorId append_node(Rewriter& rewriter, Node node, Tensor made) {
  made.producer = NodeId(rewriter.graph.nodes.size());
  node.output = rewriter.graph.tensors.add(std::move(made));
  const TensorId id = node.output;
  rewriter.graph.nodes.add(std::move(node));
  return id;
}

}  // namespace

std::int64_t rewrite(Graph& old,
                     const std::function<Verdict(Rewriter&, Node&, const Tensor&)>& visit) {
  const Liveness live = find_live(old);
  IdVector<TensorId, TensorId> now(old.tensors.size());
  Rewriter rewriter;
  Graph& graph = rewriter.graph;
  graph.name = old.name;
  graph.output_names = old.output_names;
  graph.tensor_names = std::move(old.tensor_names);  // new names avoid all old ones
  graph.node_names = std::move(old.node_names);
  const auto keep_tensor = [&](TensorId id) {
    now[id] = graph.tensors.add(std::move(old.tensors[id]));
    rewriter.count_uses(now[id], live.uses[id]);
  };
  for (const TensorId id : old.inputs) {
    keep_tensor(id);
    graph.inputs.push_back(now[id]);
  }
  for (const TensorId id : old.tensors.ids()) {
    if (old.tensors[id].kind == TensorKind::constant && live.uses[id] > 0) {
      keep_tensor(id);
    }
  }
  std::int64_t rewrites = 0;
  for (const NodeId id : old.nodes.ids()) {
    if (live.nodes[id] == 0) {
      continue;
    }
    Node node = std::move(old.nodes[id]);
    const TensorId output = node.output;
    for (TensorId& input : node.inputs) {
      input = now[input];
    }
    const Verdict verdict = visit(rewriter, node, old.tensors[output]);
    rewrites += verdict.changed ? 1 : 0;
    now[output] = verdict.replacement.valid()
                      ? verdict.replacement
                      : append_node(rewriter, std::move(node), std::move(old.tensors[output]));
    rewriter.count_uses(now[output], live.uses[output]);
  }
  for (const TensorId id : old.outputs) {
    graph.outputs.push_back(now[id]);
  }
  old = std::move(graph);
  return rewrites;
}

std::string join_origins(const std::string& first, const std::string& second) {
  const std::string part = "+" + second + "+";
  if (second.empty() || ("+" + first + "+").find(part) != std::string::npos) {
    return first;
  }
  return first.empty() ? second : first + "+" + second;
}

std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

std::optional<double> splat_value(const Tensor& tensor) {
  if (tensor.data == nullptr || tensor.data->data.empty()) {
    return std::nullopt;
  }
  const std::vector<std::byte>& bytes = tensor.data->data;
  const auto size = static_cast<std::size_t>(graph::size_of(tensor.type));
  if (!std::equal(bytes.begin() + static_cast<std::ptrdiff_t>(size), bytes.end(), bytes.begin())) {
    return std::nullopt;
  }
  return graph::get(*tensor.data, 0);
}

}  // namespace systole::passes
