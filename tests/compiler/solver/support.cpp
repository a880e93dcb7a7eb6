#include "support.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace systole::solver::test {

Problem random_problem(Random& random, const Shape& shape) {
  Problem problem;
  const auto chance = [&](int percent) { return random.integer(1, 100) <= percent; };
  for (int i = 0; i < shape.operators; ++i) {
    Tensor tensor;
    tensor.layouts = static_cast<int>(random.integer(1, shape.most_layouts));
    for (int from = 0; from < tensor.layouts; ++from) {
      for (int to = 0; to < tensor.layouts; ++to) {
        const bool impossible = from != to && chance(shape.impossible_percent);
        const Cost cost = from == to ? 0 : random.integer(0, shape.most_cost);
        tensor.conversion.push_back(impossible ? infinity : cost);
      }
    }
    Operator op;
    op.output = problem.tensors.add(tensor);
    const std::int64_t inputs = i == 0 ? 0 : random.integer(0, shape.most_inputs);
    for (std::int64_t k = 0; k < inputs; ++k) {
      op.inputs.emplace_back(static_cast<std::size_t>(random.integer(0, i - 1)));
    }
    const std::int64_t rows = random.integer(1, shape.most_rows);
    for (std::int64_t r = 0; r < rows; ++r) {
      Row row;
      for (const TensorId input : op.inputs) {
        row.layouts.push_back(
            static_cast<int>(random.integer(0, problem.tensors[input].layouts - 1)));
      }
      row.layouts.push_back(static_cast<int>(random.integer(0, tensor.layouts - 1)));
      row.cost = chance(shape.impossible_percent) ? infinity : random.integer(0, shape.most_cost);
      op.rows.push_back(std::move(row));
    }
    problem.operators.add(std::move(op));
  }
  return problem;
}

Problem grid_problem(Random& random, int width, int operators, int layouts, int rows) {
  Problem problem;
  for (int i = 0; i < operators; ++i) {
    Tensor tensor;
    tensor.layouts = layouts;
    for (int cell = 0; cell < layouts * layouts; ++cell) {
      tensor.conversion.push_back(cell % (layouts + 1) == 0 ? 0 : random.integer(5, 60));
    }
    Operator op;
    op.output = problem.tensors.add(std::move(tensor));
    if (i % width != 0) {
      op.inputs.emplace_back(static_cast<std::size_t>(i - 1));
    }
    if (i >= width) {
      op.inputs.emplace_back(static_cast<std::size_t>(i - width));
    }
    for (int r = 0; r < rows; ++r) {
      Row row;
      for (std::size_t s = 0; s <= op.inputs.size(); ++s) {
        row.layouts.push_back(static_cast<int>(random.integer(0, layouts - 1)));
      }
      row.cost = random.integer(0, 100);
      op.rows.push_back(std::move(row));
    }
    problem.operators.add(std::move(op));
  }
  return problem;
}

Tensor tensor_with(int layouts, Cost conversion) {
  Tensor tensor;
  tensor.layouts = layouts;
  for (int from = 0; from < layouts; ++from) {
    for (int to = 0; to < layouts; ++to) {
      tensor.conversion.push_back(from == to ? 0 : conversion);
    }
  }
  return tensor;
}

Operator source(TensorId output, std::vector<Cost> costs) {
  Operator op;
  op.output = output;
  for (std::size_t l = 0; l < costs.size(); ++l) {
    op.rows.push_back({{static_cast<int>(l)}, costs[l]});
  }
  return op;
}

Problem figure1(Cost strided, Cost transpose) {
  Problem problem;
  const auto tensor = [&](const char* name, Cost conversion) {
    Tensor made = tensor_with(2, conversion);
    made.name = name;
    made.layout_names = {"RM", "CM"};
    return problem.tensors.add(std::move(made));
  };
  const TensorId a = tensor("A", 30);
  const TensorId b = tensor("B", 30);
  const TensorId c = tensor("C", 30);
  const TensorId d = tensor("D", 30);
  const TensorId r = tensor("R", transpose);
  const TensorId out = tensor("out", 0);
  const auto op = [&](const char* name, std::vector<TensorId> inputs, TensorId output,
                      std::vector<Row> rows) {
    problem.operators.add({name, std::move(inputs), output, std::move(rows), "", -1});
  };
  op("a", {}, a, {{{0}, 0}, {{1}, 0}});
  op("b", {}, b, {{{0}, 0}, {{1}, 0}});
  op("matmul", {a, b}, c, {{{0, 0, 0}, 10}, {{1, 1, 1}, 10}});
  op("reduce", {c}, d, {{{0, 0}, strided}, {{1, 1}, 4}});
  op("add", {d, b}, r, {{{0, 0, 0}, 6}, {{1, 1, 1}, 6}});
  op("return", {r}, out, {{{0, 0}, 0}});  // the caller expects R row-major
  return problem;
}

Problem figure2(int branches) {
  Problem problem;
  const auto tensor = [&] {
    Tensor made = tensor_with(2, 5);
    made.layout_names = {"NHWC", "NCHW"};
    return problem.tensors.add(std::move(made));
  };
  const TensorId input = tensor();
  problem.operators.add({"input", {}, input, {{{0}, 0}, {{1}, 0}}, "source", -1});
  std::vector<TensorId> normalised;
  for (int i = 0; i < branches; ++i) {
    const TensorId convolved = tensor();
    problem.operators.add(
        {"", {input}, convolved, {{{0, 0}, 10}, {{1, 1}, 14}}, "convolution", -1});
    const TensorId out = tensor();
    problem.operators.add({"", {convolved}, out, {{{0, 0}, 3}, {{1, 1}, 2}}, "map", -1});
    normalised.push_back(out);
  }
  const TensorId sum = tensor();
  Operator add{"add", normalised, sum, {}, "map", -1};
  for (int layout = 0; layout < 2; ++layout) {
    add.rows.push_back({std::vector<int>(normalised.size() + 1, layout), 1});
  }
  problem.operators.add(std::move(add));
  return problem;
}

Problem three_sat(int variables, const std::vector<Clause>& clauses) {
  Problem problem;
  for (int v = 0; v < variables; ++v) {
    problem.operators.add(source(problem.tensors.add(tensor_with(2, 1)), {0, 0}));
  }
  for (const Clause& clause : clauses) {
    Operator op;
    for (const auto& [variable, sign] : clause) {
      op.inputs.emplace_back(static_cast<std::size_t>(variable));
    }
    op.output = problem.tensors.add(tensor_with(1, 0));
    for (unsigned bits = 0; bits < 1U << clause.size(); ++bits) {
      Row row;
      bool holds = false;
      for (std::size_t i = 0; i < clause.size(); ++i) {
        const bool value = (bits >> i & 1U) != 0;
        holds = holds || value == clause[i].second;
        row.layouts.push_back(value ? 1 : 0);
      }
      row.layouts.push_back(0);
      row.cost = holds ? 0 : 1;
      op.rows.push_back(std::move(row));
    }
    problem.operators.add(std::move(op));
  }
  return problem;
}

Problem odd_cycle_transversal(int vertices, const std::vector<std::pair<int, int>>& edges) {
  Problem problem;
  for (int v = 0; v < vertices; ++v) {
    problem.operators.add(source(problem.tensors.add(tensor_with(2, 1)), {0, 0}));
  }
  for (const auto& [u, v] : edges) {
    Operator op;
    op.inputs = {TensorId(static_cast<std::size_t>(u)), TensorId(static_cast<std::size_t>(v))};
    op.output = problem.tensors.add(tensor_with(1, 0));
    op.rows = {{{0, 1, 0}, 0}, {{1, 0, 0}, 0}};
    problem.operators.add(std::move(op));
  }
  return problem;
}

std::string shared_folder() {
  const char* given = std::getenv("SYSTOLE_SHARED");
  const std::string folder =
      given != nullptr ? given : std::string(SYSTOLE_SOURCE_DIR) + "/../shared";
  if (std::filesystem::exists(folder + "/solver_gen/gen.py")) {
    return folder;
  }
  std::fprintf(stderr, "SKIPPED: instances of %s are not there (set SYSTOLE_SHARED)\n",
               folder.c_str());
  return {};
}

}  // namespace systole::solver::test
