#include "compiler/layout/text.hpp"

#include <fmt/format.h>

#include "compiler/graph/text.hpp"
#include "compiler/solver/text.hpp"

namespace systole::layout {

namespace {

std::string describe(const RowMeaning& row) {
  std::string text;
  for (const Layout& input : row.configuration.inputs) {
    text += to_string(input) + " ";
  }
  return fmt::format("{}-> {} {}: {}", text, to_string(row.configuration.output),
                     name_of(row.configuration.mechanism), to_string(row.price));
}

}  // namespace

std::string to_string(const Price& price) {
  std::string text;
  for (std::size_t i = 0; i < feature_count; ++i) {
    if (price.terms[i] != 0) {
      text += fmt::format("{} {}, ", name_of(static_cast<Feature>(i)), price.terms[i]);
    }
  }
  return text + fmt::format("total {}", price.total);
}

std::string to_text(const Statement& statement, const graph::Graph& graph) {
  std::string text = solver::print_problem(statement.problem);
  text += fmt::format(
      "\n# Rows with the layouts of constants, the way of computing, and what their price is made "
      "of.\n");
  for (const solver::OperatorId op : statement.operators.ids()) {
    const OperatorMeaning& meaning = statement.operators[op];
    if (meaning.kind != OperatorKind::node) {
      continue;
    }
    const graph::Node& node = graph.nodes[meaning.node];
    text +=
        fmt::format("# {} ({})\n", statement.problem.operators[op].name, graph::name_of(node.op));
    for (std::size_t i = 0; i < meaning.rows->size(); ++i) {
      text += fmt::format("#   {}: {}\n", i, describe((*meaning.rows)[i]));
    }
  }
  return text;
}

namespace {

graph::PrintOptions with_layouts(const LaidGraph& laid) {
  graph::PrintOptions options;
  options.note = [&laid](graph::TensorId id) {
    std::string note =
        fmt::format("{} {}", to_string(laid.layouts[id]), isa::name_of(laid.storage[id]));
    const graph::Tensor& tensor = laid.graph.tensors[id];
    if (tensor.kind == graph::TensorKind::intermediate) {
      note += fmt::format(" {} {}", name_of(laid.mechanisms[tensor.producer]),
                          laid.predicted[tensor.producer].total);
    }
    return note;
  };
  return options;
}

}  // namespace

std::string to_text(const LaidGraph& laid) {
  return graph::print(laid.graph, with_layouts(laid));
}

std::string to_dot(const LaidGraph& laid) {
  return graph::print_dot(laid.graph, with_layouts(laid));
}

}  // namespace systole::layout
