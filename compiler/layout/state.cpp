#include "compiler/layout/state.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "compiler/layout/hints.hpp"

namespace systole::layout {

namespace {

using graph::NodeId;
using graph::TensorId;

// The problem file wants names without spaces, and distinct ones.
class Names {
 public:
  std::string word(const std::string& name) {
    std::string result = name.empty() ? "_" : name;
    for (char& c : result) {
      const bool printable = c > ' ' && c < 127 && c != '#';
      c = printable ? c : '_';
    }
    if (result == "->") {
      result = "to";
    }
    std::string unique = result;
    for (int i = 1; !taken_.insert(unique).second; ++i) {
      unique = result + "." + std::to_string(i);
    }
    return unique;
  }

 private:
  std::set<std::string> taken_;
};

std::string word_of(const Layout& layout) {
  std::string text = to_string(layout);
  std::ranges::replace(text, ' ', ',');
  return text;
}

std::string_view family_of(const graph::Op& op) {
  struct Visitor {
    std::string_view operator()(const graph::Contraction&) const { return "contraction"; }
    std::string_view operator()(const graph::Convolution&) const { return "convolution"; }
    std::string_view operator()(const graph::Map&) const { return "map"; }
    std::string_view operator()(const graph::Reduce&) const { return "reduce"; }
    std::string_view operator()(const graph::ArgReduce&) const { return "reduce"; }
    std::string_view operator()(const graph::Window&) const { return "reduce"; }
    std::string_view operator()(const graph::Transpose&) const { return "movement"; }
    std::string_view operator()(const graph::Reshape&) const { return "movement"; }
    std::string_view operator()(const graph::Slice&) const { return "movement"; }
    std::string_view operator()(const graph::Concat&) const { return "movement"; }
    std::string_view operator()(const graph::Pad&) const { return "movement"; }
    std::string_view operator()(const graph::Expand&) const { return "movement"; }
    std::string_view operator()(const graph::Gather&) const { return "movement"; }
    std::string_view operator()(const graph::GatherElements&) const { return "movement"; }
    std::string_view operator()(const graph::ScatterND&) const { return "movement"; }
    std::string_view operator()(const graph::Convert&) const { return "movement"; }
  };
  return std::visit(Visitor{}, op);
}

using Rows = std::shared_ptr<const std::vector<RowMeaning>>;
using Key = std::vector<std::int64_t>;

void append(Key& key, const graph::Shape& shape) {
  key.push_back(static_cast<std::int64_t>(shape.size()));
  key.insert(key.end(), shape.begin(), shape.end());
}

void append(Key& key, const std::vector<Layout>& layouts) {
  key.push_back(static_cast<std::int64_t>(layouts.size()));
  for (const Layout& layout : layouts) {
    key.push_back(layout.split);
    key.push_back(layout.padding);
    key.insert(key.end(), layout.order.begin(), layout.order.end());
  }
}

class Stating {
 public:
  Stating(const graph::Graph& graph, Statement& statement, const StateOptions& options)
      : graph_(graph),
        s_(statement),
        domains_(domains(graph, statement.machine, options.domain)),
        groups_(dimension_groups(graph)) {
    s_.of_tensor.resize(graph.tensors.size());
    s_.of_node.resize(graph.nodes.size());
  }

  void run() {
    for (const TensorId input : graph_.inputs) {
      add_tensor(input);
      add_source(input);
    }
    for (const NodeId node : graph_.nodes.ids()) {
      add_tensor(graph_.nodes[node].output);
      add_node(node);
    }
    std::set<TensorId> done;
    for (const TensorId output : graph_.outputs) {
      if (s_.of_tensor[output].valid() && done.insert(output).second) {
        add_sink(output);
      }
    }
  }

 private:
  void add_tensor(TensorId id) {
    const graph::Tensor& tensor = graph_.tensors[id];
    const std::vector<Layout>& layouts = domains_[id];
    solver::Tensor stated;
    stated.name = tensor_names_.word(tensor.name);
    stated.layouts = static_cast<int>(layouts.size());
    stated.conversion = conversions_of(id);
    for (const Layout& layout : layouts) {
      stated.layout_names.push_back(word_of(layout));
      stated.groups.push_back(group_of(layout, groups_[id]));
    }
    s_.of_tensor[id] = s_.problem.tensors.add(std::move(stated));
    s_.tensors.add({id, layouts});
  }

  // Many tensors are alike: layers repeat.
  const std::vector<solver::Cost>& conversions_of(TensorId id) {
    const graph::Shape& shape = graph_.tensors[id].shape;
    const std::vector<Layout>& layouts = domains_[id];
    Key key{static_cast<std::int64_t>(s_.storage[id]),
            static_cast<std::int64_t>(s_.standing[id].boundary)};
    append(key, shape);
    append(key, layouts);
    const auto [entry, fresh] = conversions_.try_emplace(std::move(key));
    if (fresh) {
      for (const Layout& from : layouts) {
        for (const Layout& to : layouts) {
          entry->second.push_back(conversion_of(s_, graph_, id, from, to).price.total);
        }
      }
    }
    return entry->second;
  }

  int index_in(TensorId tensor, const Layout& layout) const {
    const std::vector<Layout>& layouts = domains_[tensor];
    const auto found = std::ranges::find(layouts, layout);
    check(found != layouts.end(), "a configuration's layouts are in the domains");
    return static_cast<int>(found - layouts.begin());
  }

  void add_source(TensorId tensor) {
    solver::Operator op;
    op.name = operator_names_.word("input:" + graph_.tensors[tensor].name);
    op.output = s_.of_tensor[tensor];
    op.family = "source";
    auto meanings = std::make_shared<std::vector<RowMeaning>>();
    for (const Layout& layout : row_major_layouts(tensor)) {
      op.rows.push_back({{index_in(tensor, layout)}, 0});
      meanings->push_back({{{}, layout, Mechanism::alias}, {}});
    }
    s_.problem.operators.add(std::move(op));
    s_.operators.add({OperatorKind::source, NodeId(), tensor, std::move(meanings)});
  }

  void add_sink(TensorId tensor) {
    solver::Operator op;
    op.name = operator_names_.word("output:" + graph_.tensors[tensor].name);
    op.inputs = {s_.of_tensor[tensor]};
    solver::Tensor done;
    done.name = tensor_names_.word("output:" + graph_.tensors[tensor].name);
    done.layouts = 1;
    done.layout_names = {"done"};
    done.conversion = {0};
    op.output = s_.problem.tensors.add(std::move(done));
    s_.tensors.add({});
    op.family = "sink";
    auto meanings = std::make_shared<std::vector<RowMeaning>>();
    for (const Layout& layout : row_major_layouts(tensor)) {
      op.rows.push_back({{index_in(tensor, layout), 0}, 0});
      meanings->push_back({{{layout}, {}, Mechanism::alias}, {}});
    }
    s_.problem.operators.add(std::move(op));
    s_.operators.add({OperatorKind::sink, NodeId(), tensor, std::move(meanings)});
  }

  [[nodiscard]] std::vector<Layout> row_major_layouts(TensorId tensor) const {
    std::vector<Layout> layouts;
    for (const Layout& layout : domains_[tensor]) {
      if (identity_order(layout, graph_.tensors[tensor].shape)) {
        layouts.push_back(layout);
      }
    }
    check(!layouts.empty(), "boundary tensors have a row-major layout");
    return layouts;
  }

  void add_node(NodeId id) {
    const graph::Node& node = graph_.nodes[id];
    solver::Operator op;
    op.name = operator_names_.word(node.name);
    op.output = s_.of_tensor[node.output];
    op.family = family_of(node.op);
    std::vector<std::size_t> variable;  // arguments that are tensors of the problem
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (s_.of_tensor[node.inputs[i]].valid()) {
        op.inputs.push_back(s_.of_tensor[node.inputs[i]]);
        variable.push_back(i);
      }
    }
    const Rows rows = rows_of(id, variable);
    for (const RowMeaning& row : *rows) {
      solver::Row stated;
      for (const std::size_t i : variable) {
        stated.layouts.push_back(index_in(node.inputs[i], row.configuration.inputs[i]));
      }
      stated.layouts.push_back(index_in(node.output, row.configuration.output));
      stated.cost = row.price.total;
      op.rows.push_back(std::move(stated));
    }
    s_.of_node[id] = s_.problem.operators.add(std::move(op));
    s_.operators.add({OperatorKind::node, id, TensorId(), rows});
  }

  Key key_of(const graph::Node& node) const {
    Key key{static_cast<std::int64_t>(node.op.index())};
    const auto add = [&](TensorId tensor) {
      key.push_back(static_cast<std::int64_t>(graph_.tensors[tensor].kind));
      key.push_back(static_cast<std::int64_t>(s_.storage[tensor]));
      key.push_back(static_cast<std::int64_t>(s_.standing[tensor].boundary));
      key.push_back(s_.standing[tensor].siblings);
      key.push_back(s_.standing[tensor].folds ? 1 : 0);
      key.push_back(s_.standing[tensor].sums_from);
      key.push_back(s_.standing[tensor].reduced);
      append(key, graph_.tensors[tensor].shape);
      append(key, domains_[tensor]);
    };
    for (const TensorId input : node.inputs) {
      add(input);
    }
    add(node.output);
    return key;
  }

  Rows rows_of(NodeId id, const std::vector<std::size_t>& variable) {
    const graph::Node& node = graph_.nodes[id];
    auto& known = rows_[key_of(node)];
    for (const auto& [op, rows] : known) {
      if (op == node.op) {
        return rows;
      }
    }
    known.emplace_back(node.op, make_rows(id, variable));
    return known.back().second;
  }

  Rows make_rows(NodeId id, const std::vector<std::size_t>& variable) const {
    const NodePricer pricer(graph_, s_.storage, s_.standing, id, s_.costs, s_.machine);
    std::vector<RowMeaning> rows;
    std::map<std::vector<Layout>, std::size_t> seen;
    for (Configuration& configuration : configurations(graph_, id, domains_, s_.machine)) {
      std::vector<Layout> layouts;
      for (const std::size_t i : variable) {
        layouts.push_back(configuration.inputs[i]);
      }
      layouts.push_back(configuration.output);
      const Price price = pricer.price(configuration);
      const auto [entry, fresh] = seen.try_emplace(std::move(layouts), rows.size());
      if (fresh) {
        rows.push_back({std::move(configuration), price});
      } else if (price.total < rows[entry->second].price.total) {
        rows[entry->second] = {std::move(configuration), price};
      }
    }
    check(!rows.empty(), "every node has a configuration: " + graph_.nodes[id].name);
    return std::make_shared<const std::vector<RowMeaning>>(std::move(rows));
  }

  const graph::Graph& graph_;
  Statement& s_;
  Domains domains_;
  IdVector<TensorId, std::vector<int>> groups_;
  Names tensor_names_;
  Names operator_names_;
  std::map<Key, std::vector<solver::Cost>> conversions_;
  std::map<Key, std::vector<std::pair<graph::Op, Rows>>> rows_;
};

}  // namespace

isa::Machine least_plan(const isa::Machine& machine) {
  constexpr std::int64_t least_ratio = 11;  // of SBUF to PSUM, on trn1
  const std::int64_t least = least_ratio * machine.psum_banks * machine.psum_bank_bytes;
  isa::Machine out = machine;
  while (out.sbuf_bytes / 2 >= least) {
    out.sbuf_bytes /= 2;
  }
  return out;
}

Statement state_problem(const graph::Graph& graph, const IdVector<TensorId, isa::DType>& storage,
                        const isa::Machine& machine, const CostModel& costs,
                        const StateOptions& options) {
  if (costs.machine != machine.name) {
    throw Error(
        "costs",
        "the cost file is for machine \"" + costs.machine + "\", not \"" + machine.name + "\"",
        "choose the cost file of the machine with --costs");
  }
  Statement statement;
  statement.storage = storage;
  statement.standing = standings(graph);
  statement.costs = costs;
  statement.machine = least_plan(machine);
  Stating(graph, statement, options).run();
  return statement;
}

Conversion conversion_of(const Statement& statement, const graph::Graph& graph, TensorId tensor,
                         const Layout& from, const Layout& to) {
  return price_conversion(graph.tensors[tensor].shape, statement.storage[tensor], from, to,
                          statement.standing[tensor].boundary, statement.costs, statement.machine);
}

}  // namespace systole::layout
