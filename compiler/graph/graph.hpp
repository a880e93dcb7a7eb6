// The dataflow graph: nodes and tensors by typed ids, no pointers. Nodes stand in topological
// order. Every node has one output; every tensor is a graph input, a constant, or the output of one
// node. Plain values: copy, compare, print.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/graph/array.hpp"
#include "compiler/graph/op.hpp"
#include "isa/base/id.hpp"

namespace systole::graph {

struct NodeTag;
struct TensorTag;
using NodeId = Id<NodeTag>;
using TensorId = Id<TensorTag>;

enum class TensorKind : std::uint8_t { input, constant, intermediate };

struct Tensor {
  std::string name;  // unique
  ElementType type = ElementType::f32;
  Shape shape;  // extents >= 0; 0 = empty tensor
  TensorKind kind = TensorKind::intermediate;
  NodeId producer;  // intermediates only
  std::shared_ptr<const Array>
      data;  // constants; null = weights absent from the file (shapes and timing only)
};

struct Node {
  std::string name;    // unique
  std::string origin;  // the model's own node(s) it came from; survives to instructions
  Op op;
  std::vector<TensorId> inputs;
  TensorId output;
};

struct Graph {
  std::string name;
  IdVector<TensorId, Tensor> tensors;
  IdVector<NodeId, Node> nodes;
  std::vector<TensorId> inputs;           // in the model's order
  std::vector<TensorId> outputs;          // may repeat, may be inputs or constants
  std::vector<std::string> output_names;  // the model's names of `outputs`
  // Names given out by the functions below, with the next suffix to try. Not part of the graph's
  // meaning.
  std::map<std::string, std::int64_t> tensor_names, node_names;
};

// What is known of a value without computing it.
struct TensorType {
  ElementType type = ElementType::f32;
  Shape shape;
  bool operator==(const TensorType&) const = default;
};
[[nodiscard]] TensorType type_of(const Tensor& tensor);

// Shape and element type of an operator's output. `requested` counts where the output is part of
// the request: the type of a cast; the shape of Reshape, Expand and Slice. Throws Error naming
// `origin`, the operator, the shapes and what to change. The product of the result's extents fits
// into 62 bits.
[[nodiscard]] TensorType infer(const Op& op, const std::string& origin,
                               const std::vector<TensorType>& inputs, const TensorType& requested);

// Building. Names are made unique by suffixing. add_node infers the output's shape and element type
// (graph/ops) and throws Error naming `origin` when operands do not fit; `type` overrides the
// element type (cast).
TensorId add_input(Graph& graph, std::string name, ElementType type, Shape shape);
TensorId add_constant(Graph& graph, std::string name, Array value);
TensorId add_weight(Graph& graph, std::string name, ElementType type,
                    Shape shape);  // constant without data
TensorId add_node(Graph& graph, std::string origin, Op op, std::vector<TensorId> inputs);
TensorId add_node(Graph& graph, std::string origin, Op op, std::vector<TensorId> inputs,
                  const TensorType& requested);
TensorId add_cast(Graph& graph, std::string origin, TensorId input, ElementType type);
// Operators whose output shape is part of the request.
TensorId add_reshape(Graph& graph, std::string origin, TensorId input, Shape shape);
TensorId add_expand(Graph& graph, std::string origin, TensorId input, Shape shape);
TensorId add_slice(Graph& graph, std::string origin, TensorId input,
                   std::vector<std::int64_t> starts, std::vector<std::int64_t> steps, Shape shape);
// Gives a tensor another name (made unique by suffixing); node and tensor names are separate.
void rename(Graph& graph, TensorId tensor, std::string name);

struct Use {
  NodeId node;
  int argument = 0;
  bool operator==(const Use&) const = default;
};
[[nodiscard]] IdVector<TensorId, std::vector<Use>> uses(const Graph& graph);  // in node order

// All structural faults: dangling ids, order, duplicate names, shapes that inference does not
// confirm.
[[nodiscard]] std::vector<std::string> verify(const Graph& graph);

}  // namespace systole::graph
