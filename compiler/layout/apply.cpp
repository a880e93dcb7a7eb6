#include "compiler/layout/apply.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace systole::layout {

namespace {

using graph::NodeId;
using graph::TensorId;

Layout default_layout(const graph::Shape& shape) {
  return canonical(row_major(static_cast<int>(shape.size()), 0), shape);
}

class Applying {
 public:
  Applying(const graph::Graph& graph, const Statement& statement,
           const solver::Assignment& assignment)
      : graph_(graph), statement_(statement), assignment_(assignment) {
    laid_.graph = graph;
    laid_.storage = statement.storage;
    laid_.layouts.resize(graph.tensors.size());
  }

  LaidGraph run() {
    fix_produced();
    for (const NodeId id : graph_.nodes.ids()) {
      add_node(id);
    }
    add_outputs();
    for (const TensorId id : graph_.tensors.ids()) {
      if (laid_.graph.tensors[id].kind == graph::TensorKind::constant && !constant_known(id)) {
        laid_.layouts[id] = default_layout(laid_.graph.tensors[id].shape);
      }
    }
    reorder();
    return std::move(laid_);
  }

 private:
  [[nodiscard]] const RowMeaning& row_of(solver::OperatorId op) const {
    const std::vector<RowMeaning>& rows = *statement_.operators[op].rows;
    const auto index = static_cast<std::size_t>(assignment_.row[op]);
    check(index < rows.size(), "an assignment names rows of the problem");
    return rows[index];
  }

  void fix_produced() {
    for (const solver::OperatorId op : statement_.operators.ids()) {
      const OperatorMeaning& meaning = statement_.operators[op];
      if (meaning.kind == OperatorKind::source) {
        laid_.layouts[meaning.tensor] = row_of(op).configuration.output;
      } else if (meaning.kind == OperatorKind::node) {
        laid_.layouts[graph_.nodes[meaning.node].output] = row_of(op).configuration.output;
      }
    }
  }

  void add_node(NodeId id) {
    const RowMeaning& row = row_of(statement_.of_node[id]);
    for (std::size_t i = 0; i < row.configuration.inputs.size(); ++i) {
      const TensorId tensor = graph_.nodes[id].inputs[i];
      laid_.graph.nodes[id].inputs[i] =
          in_layout(tensor, row.configuration.inputs[i], first_of_kernel(id, tensor));
    }
    order_.push_back({id, row.configuration.mechanism, row.price});
  }

  // The node in front of which a copy of this operand goes: maps run inside the kernel of the product, or of the first map,
  // that they follow, if their other operands are there before it starts. Not if that would have to wait for the operand,
  // and a copy as large as the result would be in the way for longer than its fusion is worth.
  [[nodiscard]] NodeId first_of_kernel(NodeId reader, TensorId operand) const {
    const NodeId maker = graph_.tensors[operand].producer;
    const graph::Shape& result = graph_.tensors[graph_.nodes[reader].output].shape;
    const bool small = graph::elements(graph_.tensors[operand].shape) < graph::elements(result);
    NodeId first = reader;
    NodeId before = last_maker(reader, operand);
    while (small && std::holds_alternative<graph::Map>(graph_.nodes[first].op) && before.valid() &&
           is_map_or_product(graph_.nodes[before].op) && !waits(before, maker)) {
      first = before;
      before = last_maker(first, operand);
    }
    return first;
  }

  // Of the operands but this one, the one made last; invalid: none is made by a node.
  [[nodiscard]] NodeId last_maker(NodeId reader, TensorId except) const {
    NodeId last;
    for (const TensorId input : graph_.nodes[reader].inputs) {
      const NodeId maker = graph_.tensors[input].producer;
      if (input != except && maker.valid() && (!last.valid() || last < maker)) {
        last = maker;
      }
    }
    return last;
  }

  // Whether what the node reads is all there before this maker has run.
  [[nodiscard]] bool waits(NodeId node, NodeId maker) const {
    const NodeId last = last_maker(node, TensorId());
    return maker.valid() && (!last.valid() || last <= maker);
  }

  [[nodiscard]] static bool is_map_or_product(const graph::Op& op) {
    return std::holds_alternative<graph::Map>(op) ||
           std::holds_alternative<graph::Contraction>(op) ||
           std::holds_alternative<graph::Convolution>(op);
  }

  [[nodiscard]] bool constant_known(TensorId id) const { return known_.contains(id); }

  // The tensor itself if it has the layout, otherwise its copy that does, made in front of `reader` at the latest (invalid:
  // behind all nodes).
  TensorId in_layout(TensorId tensor, const Layout& layout, NodeId reader) {
    const bool constant = graph_.tensors[tensor].kind == graph::TensorKind::constant;
    if (constant && known_.try_emplace(tensor, true).second) {
      laid_.layouts[tensor] = layout;
    }
    if (laid_.layouts[tensor] == layout) {
      return tensor;
    }
    const auto [entry, fresh] = copies_.try_emplace({tensor, layout});
    if (fresh) {
      entry->second = constant ? copy_constant(tensor, layout) : convert(tensor, layout, reader);
    }
    return entry->second;
  }

  std::string copy_name(TensorId tensor, const Layout& layout) const {
    return graph_.tensors[tensor].name + " as " + to_string(layout);
  }

  TensorId copy_constant(TensorId tensor, const Layout& layout) {
    const graph::Tensor original = laid_.graph.tensors[tensor];
    const TensorId id =
        graph::add_weight(laid_.graph, copy_name(tensor, layout), original.type, original.shape);
    laid_.graph.tensors[id].data = original.data;
    laid_.layouts.add(layout);
    laid_.storage.add(laid_.storage[tensor]);
    return id;
  }

  TensorId convert(TensorId tensor, const Layout& layout, NodeId reader) {
    const Conversion conversion =
        conversion_of(statement_, graph_, tensor, laid_.layouts[tensor], layout);
    const TensorId id =
        graph::add_node(laid_.graph, copy_name(tensor, layout), graph::Convert{}, {tensor});
    laid_.layouts.add(layout);
    laid_.storage.add(laid_.storage[tensor]);
    const Placed placed{laid_.graph.tensors[id].producer, conversion.mechanism, conversion.price};
    auto place = order_.end();  // if the reader has no place yet
    for (auto back = order_.rbegin(); back != order_.rend() && back->node >= reader; ++back) {
      if (back->node == reader) {
        place = std::prev(back.base());
      }
    }
    order_.insert(place, placed);
    return id;
  }

  void add_outputs() {
    std::map<TensorId, Layout> wanted;
    for (const solver::OperatorId op : statement_.operators.ids()) {
      const OperatorMeaning& meaning = statement_.operators[op];
      if (meaning.kind == OperatorKind::sink) {
        wanted[meaning.tensor] = row_of(op).configuration.inputs[0];
      }
    }
    for (TensorId& output : laid_.graph.outputs) {
      const auto found = wanted.find(output);
      output = in_layout(
          output,
          found != wanted.end() ? found->second : default_layout(graph_.tensors[output].shape),
          NodeId());
    }
  }

  // Conversions were added at the end of the node list; order_ says where they belong.
  void reorder() {
    IdVector<NodeId, graph::Node> nodes;
    nodes.reserve(order_.size());
    for (const Placed& placed : order_) {
      graph::Node& node = laid_.graph.nodes[placed.node];
      laid_.graph.tensors[node.output].producer = NodeId(nodes.size());
      nodes.add(std::move(node));
      laid_.mechanisms.add(placed.mechanism);
      laid_.predicted.add(placed.price);
    }
    laid_.graph.nodes = std::move(nodes);
  }

  const graph::Graph& graph_;
  const Statement& statement_;
  const solver::Assignment& assignment_;
  LaidGraph laid_;
  struct Placed {
    NodeId node;
    Mechanism mechanism = Mechanism::dma;
    Price price;
  };
  std::vector<Placed> order_;
  std::map<std::pair<TensorId, Layout>, TensorId> copies_;
  std::map<TensorId, bool> known_;  // constants whose own layout is fixed
};

}  // namespace

LaidGraph apply(const graph::Graph& graph, const Statement& statement,
                const solver::Assignment& assignment) {
  LaidGraph laid = Applying(graph, statement, assignment).run();
  const std::vector<std::string> faults = verify(laid, statement.machine);
  check(faults.empty(), faults.empty() ? "" : "a laid-out graph is sound: " + faults.front());
  return laid;
}

std::vector<ConversionRow> conversions(const LaidGraph& laid) {
  std::vector<ConversionRow> rows;
  for (const NodeId id : laid.graph.nodes.ids()) {
    const graph::Node& node = laid.graph.nodes[id];
    if (std::holds_alternative<graph::Convert>(node.op)) {
      const graph::Tensor& tensor = laid.graph.tensors[node.inputs[0]];
      rows.push_back({tensor.name, laid.layouts[node.inputs[0]], laid.layouts[node.output],
                      laid.mechanisms[id],
                      graph::elements(tensor.shape) * isa::size_of(laid.storage[node.inputs[0]]),
                      laid.predicted[id].total});
    }
  }
  return rows;
}

std::int64_t predicted_total(const LaidGraph& laid) {
  std::int64_t total = 0;
  for (const Price& price : laid.predicted) {
    total += price.total;
  }
  return total;
}

}  // namespace systole::layout
