#include "compiler/lower/strip.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "compiler/layout/apply.hpp"
#include "compiler/layout/state.hpp"
#include "compiler/lower/hoist.hpp"
#include "compiler/passes/passes.hpp"
#include "compiler/solver/strategy.hpp"
#include "isa/base/random.hpp"
#include "tests/compiler/lower/kernel_harness.hpp"
#include "tests/support/random_graph.hpp"

namespace systole::test {
namespace {

using graph::Map;
using graph::MapFunction;
using graph::ReduceFunction;
using graph::TensorId;

struct Named {
  graph::Graph graph;
  TensorId output;
};

TensorId softmax(graph::Graph& g, TensorId x) {
  const int last = static_cast<int>(g.tensors[x].shape.size()) - 1;
  const TensorId largest =
      graph::add_node(g, "largest", graph::Reduce{ReduceFunction::max, {last}, true}, {x});
  const TensorId shifted = graph::add_node(g, "shifted", Map{MapFunction::subtract}, {x, largest});
  const TensorId e = graph::add_node(g, "e", Map{MapFunction::exp}, {shifted});
  const TensorId sum =
      graph::add_node(g, "sum", graph::Reduce{ReduceFunction::sum, {last}, true}, {e});
  return graph::add_node(g, "shares", Map{MapFunction::divide}, {e, sum});
}

// q k^T / 2 by heads.
TensorId scaled_scores(graph::Graph& g, TensorId q, TensorId k) {
  graph::Array half = graph::make_array(graph::ElementType::f32, {});
  graph::set(half, 0, 0.5);
  const TensorId factor = graph::add_constant(g, "half", std::move(half));
  const TensorId scores =
      graph::add_node(g, "scores", graph::Contraction{{0, 1, 3}, {0, 2, 3}, {0, 1, 2}}, {q, k});
  return graph::add_node(g, "scaled", Map{MapFunction::multiply}, {scores, factor});
}

// The graph whose output is the values mixed by heads.
graph::Graph mixed(graph::Graph& g, TensorId shares, TensorId values) {
  g.outputs = {graph::add_node(g, "mixed", graph::Contraction{{0, 1, 2}, {0, 2, 3}, {0, 1, 3}},
                               {shares, values})};
  g.output_names = {"y"};
  return passes::canonicalize(std::move(g));
}

// softmax(q k^T / 2) v, `heads` times.
graph::Graph attention(std::int64_t heads, std::int64_t tokens, std::int64_t keys, std::int64_t d) {
  graph::Graph g;
  g.name = "attention";
  const auto input = [&](const std::string& name, std::int64_t n) {
    return graph::add_input(g, name, graph::ElementType::f32, {heads, n, d});
  };
  const TensorId q = input("q", tokens);
  const TensorId k = input("k", keys);
  const TensorId v = input("v", keys);
  return mixed(g, softmax(g, scaled_scores(g, q, k)), v);
}

// softmax(q k^T / 2 + mask) (c w), `heads` times.
graph::Graph masked_attention(std::int64_t heads, std::int64_t tokens, std::int64_t keys,
                              std::int64_t d) {
  graph::Graph g;
  g.name = "masked attention";
  const auto input = [&](const std::string& name, const graph::Shape& shape) {
    return graph::add_input(g, name, graph::ElementType::f32, shape);
  };
  const TensorId q =
      graph::add_node(g, "q", Map{MapFunction::tanh}, {input("x", {heads, tokens, d})});
  const TensorId scaled = scaled_scores(g, q, input("k", {heads, keys, d}));
  const TensorId masked =
      graph::add_node(g, "masked", Map{MapFunction::add}, {scaled, input("mask", {keys})});
  const TensorId shares = softmax(g, masked);
  const TensorId v =
      graph::add_node(g, "values", graph::Contraction{{0, 1, 3}, {0, 3, 2}, {0, 1, 2}},
                      {input("c", {heads, keys, d}), input("w", {heads, d, d})});
  return mixed(g, shares, v);
}

// softmax(q k^T) v by heads, where q, k and v are products of tanh(x) with matrices, plus biases.
graph::Graph projected_attention(std::int64_t heads, std::int64_t tokens, std::int64_t d,
                                 std::int64_t width) {
  graph::Graph g;
  g.name = "projected attention";
  const auto input = [&](const std::string& name, const graph::Shape& shape) {
    return graph::add_input(g, name, graph::ElementType::f32, shape);
  };
  const TensorId x =
      graph::add_node(g, "active", Map{MapFunction::tanh}, {input("x", {tokens, width})});
  const auto projected = [&](const std::string& name) {
    const TensorId product = graph::add_node(g, name, graph::Contraction{{0, 2}, {2, 1}, {0, 1}},
                                             {x, input(name + " matrix", {width, heads * d})});
    const TensorId moved = graph::add_node(g, name + " moved", Map{MapFunction::add},
                                           {product, input(name + " bias", {heads * d})});
    const TensorId parts = graph::add_reshape(g, name + " parts", moved, {tokens, heads, d});
    return graph::add_node(g, name + " heads", graph::Transpose{{1, 0, 2}}, {parts});
  };
  const TensorId scores =
      graph::add_node(g, "scores", graph::Contraction{{0, 1, 3}, {0, 2, 3}, {0, 1, 2}},
                      {projected("query"), projected("key")});
  const TensorId shares = softmax(g, scores);
  const TensorId y =
      graph::add_node(g, "mixed", graph::Contraction{{0, 1, 2}, {0, 2, 3}, {0, 1, 3}},
                      {shares, projected("value")});
  g.outputs = {y};
  g.output_names = {"y"};
  return passes::canonicalize(std::move(g));
}

// gelu(x a) b
graph::Graph feed_forward(std::int64_t tokens, std::int64_t width, std::int64_t inner) {
  graph::Graph g;
  g.name = "feed_forward";
  const TensorId x = graph::add_input(g, "x", graph::ElementType::f32, {tokens, width});
  const TensorId a = graph::add_input(g, "a", graph::ElementType::f32, {width, inner});
  const TensorId b = graph::add_input(g, "b", graph::ElementType::f32, {inner, width});
  const graph::Contraction product{{0, 2}, {2, 1}, {0, 1}};
  const TensorId h = graph::add_node(g, "hidden", product, {x, a});
  const TensorId active = graph::add_node(g, "active", Map{MapFunction::gelu}, {h});
  const TensorId y = graph::add_node(g, "y", product, {active, b});
  g.outputs = {y};
  g.output_names = {"y"};
  return g;
}

// The rows of x a, less their mean and over their deviation, times gain, times b; what is multiplied by b goes on as well.
graph::Graph normalised(std::int64_t tokens, std::int64_t width, std::int64_t columns) {
  graph::Graph g;
  g.name = "normalised";
  const TensorId x = graph::add_input(g, "x", graph::ElementType::f32, {tokens, width});
  const TensorId a = graph::add_input(g, "a", graph::ElementType::f32, {width, width});
  const TensorId b = graph::add_input(g, "b", graph::ElementType::f32, {width, columns});
  const TensorId gain = graph::add_input(g, "gain", graph::ElementType::f32, {width});
  const graph::Contraction product{{0, 2}, {2, 1}, {0, 1}};
  const graph::Reduce mean{ReduceFunction::mean, {1}, true};
  const TensorId h = graph::add_node(g, "h", product, {x, a});
  const TensorId shifted = graph::add_node(g, "shifted", Map{MapFunction::subtract},
                                           {h, graph::add_node(g, "mean", mean, {h})});
  const TensorId square = graph::add_node(g, "square", Map{MapFunction::square}, {shifted});
  const TensorId root = graph::add_node(g, "root", Map{MapFunction::rsqrt},
                                        {graph::add_node(g, "variance", mean, {square})});
  const TensorId scaled = graph::add_node(g, "scaled", Map{MapFunction::multiply}, {shifted, root});
  const TensorId y = graph::add_node(g, "y", Map{MapFunction::multiply}, {scaled, gain});
  const TensorId z = graph::add_node(g, "z", product, {y, b});
  g.outputs = {z, graph::add_node(g, "more", Map{MapFunction::add}, {y, x})};
  g.output_names = {"z", "more"};
  return g;
}

solver::Assignment random_assignment(const solver::Problem& problem, Random& random) {
  solver::Assignment out;
  for (const solver::Operator& op : problem.operators) {
    out.row.add(static_cast<int>(random.integer(0, static_cast<std::int64_t>(op.rows.size()) - 1)));
  }
  return out;
}

struct Counts {
  int compared = 0;
  int stripped = 0;
  int in_rows = 0;
  int with_makers = 0;  // of them, lowered so and compared once more
};

// The program that strips with products before them become, even if another one is estimated to end earlier.
std::string fault_with_makers(const layout::LaidGraph& laid, const layout::LaidGraph& strips,
                              const isa::Machine& machine,
                              const std::map<std::string, graph::Array>& inputs,
                              const Tolerance& tolerance, Counts& counts) {
  std::optional<isa::Program> program;
  try {
    program = lower::allocate_and_schedule(
                  lower::tile(strips, lower::plan_residency(strips, machine), machine), machine)
                  .program;
  } catch (const Error&) {
    return {};  // no room for it: the compiler plans otherwise
  }
  ++counts.with_makers;
  return fault_of(*program, laid, inputs, machine, tolerance);
}

// Random legal layouts of the graph, or those that strategies choose; values against the reference.
void compare(const graph::Graph& graph, const std::string& machine_name, int assignments,
             layout::Precision precision, const Tolerance& tolerance, Counts& counts,
             std::uint64_t seed = 1, const std::vector<std::string>& strategies = {}) {
  const isa::Machine machine = isa::read_machine(machine_name);
  const layout::CostModel costs = layout::read_cost_model(machine_name + ".analytic");
  const auto inputs = random_inputs(graph, seed);
  const layout::Statement statement =
      layout::state_problem(graph, layout::storage_types(graph, precision), machine, costs);
  std::vector<solver::Assignment> chosen;
  for (const std::string& strategy : strategies) {
    chosen.push_back(
        solver::solve(*solver::find_strategy(strategy), statement.problem, {}).assignment);
  }
  Random random(seed);
  for (int i = 0; i < assignments; ++i) {
    chosen.push_back(random_assignment(statement.problem, random));
  }
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (solver::evaluate(statement.problem, chosen[i]) >= solver::infinity) {
      continue;
    }
    const layout::LaidGraph laid = layout::apply(graph, statement, chosen[i]);
    const layout::LaidGraph strips = lower::strip_mine(laid, machine);
    const std::string fault = fault_of(laid, inputs, machine, tolerance);
    CHECK_MESSAGE(fault.empty(), fmt::format("{} on {} seed {} assignment {}: {}", graph.name,
                                             machine_name, seed, i, fault));
    for (const int share : {60, 40, 26, 17}) {
      const layout::LaidGraph made = lower::strip_mine(laid, machine, share);
      if (made.graph.nodes.size() !=
          lower::strip_mine(laid, machine, share, {false, true}).graph.nodes.size()) {
        const std::string other = fault_with_makers(laid, made, machine, inputs, tolerance, counts);
        CHECK_MESSAGE(other.empty(), fmt::format("{} on {} seed {} assignment {} with makers: {}",
                                                 graph.name, machine_name, seed, i, other));
        break;
      }
    }
    ++counts.compared;
    counts.stripped += strips.graph.nodes.size() > laid.graph.nodes.size() ? 1 : 0;
    counts.in_rows += std::ranges::any_of(strips.graph.nodes, lower::is_row_strip) ? 1 : 0;
  }
}

}  // namespace

TEST_CASE("composites in strips give the reference's values in every layout") {
  Counts counts;
  for (const auto& [tokens, keys] :
       {std::pair<std::int64_t, std::int64_t>{200, 64}, {129, 40}, {31, 100}}) {
    compare(attention(1, tokens, keys, 8), "toy", 40, layout::Precision::fp32, {2e-3, 1e-3},
            counts);
  }
  compare(attention(3, 90, 33, 8), "toy", 40, layout::Precision::fp32, {2e-3, 1e-3}, counts);
  compare(feed_forward(127, 16, 70), "toy", 40, layout::Precision::fp32, {2e-3, 1e-3}, counts);
  CHECK(counts.compared > 100);
  CHECK(counts.stripped > counts.compared / 4);
}

TEST_CASE(
    "attention with a mask and computed values gives the reference's values in every layout") {
  const std::vector<std::string> strategies{"greedy", "exact", "rule", "neocpu"};
  Counts counts;
  for (const auto& [heads, tokens, keys] :
       {std::array<std::int64_t, 3>{1, 120, 40}, {3, 50, 33}, {2, 40, 130}, {2, 24, 160}}) {
    compare(masked_attention(heads, tokens, keys, 8), "toy", 20, layout::Precision::fp32,
            {2e-3, 1e-3}, counts, 1, strategies);
  }
  for (const auto& [heads, tokens, keys] :
       {std::array<std::int64_t, 3>{3, 140, 130}, {2, 256, 256}}) {
    compare(masked_attention(heads, tokens, keys, 32), "trn1", 0, layout::Precision::fp32,
            {2e-3, 1e-3}, counts, 1, strategies);
  }
  CHECK(counts.compared > 60);
  CHECK(counts.stripped > 10);
}

TEST_CASE("what only later stages of strips read is made when the first strips are under way") {
  const graph::Graph graph = masked_attention(1, 200, 64, 8);
  const isa::Machine machine = isa::read_machine("toy");
  const layout::Statement statement =
      layout::state_problem(graph, layout::storage_types(graph, layout::Precision::fp32), machine,
                            layout::read_cost_model("toy.analytic"));
  const solver::Result result =
      solver::solve(*solver::find_strategy("greedy"), statement.problem, {});
  const layout::LaidGraph strips =
      lower::strip_mine(layout::apply(graph, statement, result.assignment), machine);
  const auto place = [&](const std::string& prefix) {
    const auto found = std::ranges::find_if(
        strips.graph.nodes, [&](const graph::Node& node) { return node.name.starts_with(prefix); });
    return found - strips.graph.nodes.begin();
  };
  CHECK(place("scores#1") < place("values"));
  CHECK(place("values") < place("mixed"));
  CHECK(place("mixed") < static_cast<std::ptrdiff_t>(strips.graph.nodes.size()));
}

TEST_CASE("operands of attention made by strips give the reference's values in every layout") {
  const std::vector<std::string> strategies{"greedy", "exact", "rule", "neocpu"};
  Counts counts;
  for (const auto& [heads, tokens, d, width] :
       {std::array<std::int64_t, 4>{4, 40, 4, 16}, {6, 33, 4, 9}, {3, 48, 8, 20}}) {
    compare(projected_attention(heads, tokens, d, width), "toy", 15, layout::Precision::fp32,
            {2e-3, 1e-3}, counts, 1, strategies);
  }
  for (const auto& [heads, tokens, d, width] : {std::array<std::int64_t, 4>{16, 384, 64, 256}}) {
    compare(projected_attention(heads, tokens, d, width), "trn1", 0, layout::Precision::fp32,
            {2e-3, 1e-3}, counts, 1, strategies);
  }
  CHECK(counts.compared > 40);
  CHECK(counts.with_makers > 10);
}

TEST_CASE("a computed row that all strips add is repeated over the partitions once") {
  graph::Graph g;
  g.name = "rows";
  const TensorId x = graph::add_input(g, "x", graph::ElementType::f32, {4, 40, 8});
  const TensorId w = graph::add_input(g, "w", graph::ElementType::f32, {4, 8, 40});
  const TensorId row =
      graph::add_node(g, "row", Map{MapFunction::tanh},
                      {graph::add_input(g, "given row", graph::ElementType::f32, {40})});
  const TensorId product =
      graph::add_node(g, "product", graph::Contraction{{0, 1, 3}, {0, 3, 2}, {0, 1, 2}}, {x, w});
  const TensorId first = graph::add_node(g, "first", Map{MapFunction::add}, {product, row});
  const TensorId active = graph::add_node(g, "active", Map{MapFunction::exp}, {first});
  g.outputs = {graph::add_node(g, "second", Map{MapFunction::multiply}, {active, row})};
  g.output_names = {"y"};
  const isa::Machine machine = isa::read_machine("toy");
  const layout::Statement statement =
      layout::state_problem(g, layout::storage_types(g, layout::Precision::fp32), machine,
                            layout::read_cost_model("toy.analytic"));
  Random random(1);
  const auto inputs = random_inputs(g, 1);
  int seen = 0;
  for (int i = 0; i < 200; ++i) {
    const solver::Assignment assignment = random_assignment(statement.problem, random);
    if (solver::evaluate(statement.problem, assignment) >= solver::infinity) {
      continue;
    }
    const layout::LaidGraph laid = layout::apply(g, statement, assignment);
    const lower::TileProgram program =
        lower::tile(laid, lower::plan_residency(laid, machine), machine);
    const auto repeated = std::ranges::count_if(
        program.buffers, [](const lower::Buffer& buffer) { return buffer.name == "repeated row"; });
    CHECK(repeated <= 1);
    if (repeated == 1) {
      ++seen;
      CHECK(fault_of(laid, inputs, machine, {2e-3, 1e-3}) == "");
    }
  }
  CHECK(seen > 0);
}

TEST_CASE("random graphs that outgrow SBUF give the reference's values in strips") {
  Counts counts;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    RandomGraphOptions options;
    options.seed = seed;
    options.nodes = 8;
    options.families = continuous_families();
    options.max_elements = 30000;
    options.max_products = 2000000;
    options.extents = {1, 3, 9, 33, 129, 200};
    compare(random_graph(options), "toy", 2, layout::Precision::fp32, {2e-3, 1e-3}, counts, seed);
  }
  CHECK(counts.stripped > 10);
}

TEST_CASE(
    "a normalisation between products goes by blocks of rows and gives the reference's values") {
  const std::vector<std::string> strategies{"greedy", "exact", "rule", "neocpu"};
  Counts counts;
  std::uint64_t seed = 0;
  for (const auto& [tokens, width, columns] :
       {std::array<std::int64_t, 3>{40, 16, 12}, {29, 9, 20}, {67, 30, 33}, {25, 8, 8}}) {
    compare(normalised(tokens, width, columns), "toy", 20, layout::Precision::fp32, {2e-3, 1e-3},
            counts, ++seed, strategies);
  }
  for (const auto& [tokens, width, columns] :
       {std::array<std::int64_t, 3>{300, 140, 130}, {384, 256, 128}, {130, 64, 600}}) {
    compare(normalised(tokens, width, columns), "trn1", 0, layout::Precision::fp32, {2e-3, 1e-3},
            counts, ++seed, strategies);
  }
  CHECK(counts.compared > 80);
  CHECK(counts.in_rows > 10);
}

TEST_CASE("what is hoisted stays behind what it reads, and behind readers of what it overwrites") {
  const auto access = [](int offset) {
    isa::Access out;
    out.offset = offset;
    return out;
  };
  const auto set = [&](std::size_t buffer, int offset) {
    lower::TileInstruction item;
    item.instruction.operation = isa::Memset{access(offset), 1.0F};
    item.buffers = {lower::BufferId(buffer)};
    return item;
  };
  const auto copy = [&](std::size_t from, int offset, std::size_t to) {
    lower::TileInstruction item;
    item.instruction.operation = isa::Copy{access(offset), access(0)};
    item.buffers = {lower::BufferId(from), lower::BufferId(to)};
    return item;
  };
  const auto places_of = [&](std::vector<lower::TileInstruction> all) {
    lower::hoist(all, all.size() - 1);
    std::vector<std::size_t> targets;
    for (const lower::TileInstruction& item : all) {
      targets.push_back(item.buffers.back().index());
    }
    return targets;
  };
  using Places = std::vector<std::size_t>;
  CHECK(places_of({set(0, 0), set(0, 4), set(1, 0), copy(0, 0, 2)}) == Places{0, 2, 0, 1});
  CHECK(places_of({set(0, 0), set(0, 4), set(1, 0), copy(0, 4, 2)}) == Places{0, 0, 2, 1});
  CHECK(places_of({set(0, 0), copy(2, 0, 3), set(1, 0), copy(0, 0, 2)}) == Places{0, 3, 2, 1});
  CHECK(places_of({set(0, 0), set(1, 0), copy(1, 0, 2)}) == Places{0, 1, 2});
}

TEST_CASE("scores in strips never reach HBM") {
  const graph::Graph graph = attention(1, 200, 64, 8);
  const isa::Machine machine = isa::read_machine("toy");
  const layout::Statement statement =
      layout::state_problem(graph, layout::storage_types(graph, layout::Precision::fp32), machine,
                            layout::read_cost_model("toy.analytic"));
  const solver::Result result =
      solver::solve(*solver::find_strategy("greedy"), statement.problem, {});
  const layout::LaidGraph laid = layout::apply(graph, statement, result.assignment);
  const auto stored = [&](const layout::LaidGraph& lowered) {
    std::int64_t bytes = 0;
    const lower::TileProgram program =
        lower::tile(lowered, lower::plan_residency(lowered, machine), machine);
    for (const isa::HbmTensor& tensor : program.tensors) {
      bytes += tensor.role == isa::Role::scratch ? isa::storage_bytes(tensor) : 0;
    }
    return bytes;
  };
  CHECK(stored(laid) >= 200 * 64 * 4);
  CHECK(stored(lower::strip_mine(laid, machine)) < 200 * 64 * 4);
}

}  // namespace systole::test
