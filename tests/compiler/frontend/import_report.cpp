// Imports model files and prints one line each: operators, constants, seconds; with --evaluate also the range of every output
// under seeded inputs and weights. A tool for figures, not a test.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "compiler/frontend/model.hpp"
#include "compiler/graph/evaluate.hpp"
#include "isa/base/error.hpp"

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void evaluate(const systole::graph::Graph& graph) {
  const auto start = std::chrono::steady_clock::now();
  std::map<std::string, systole::graph::Array> inputs;
  for (const auto id : graph.inputs) {
    inputs[graph.tensors[id].name] = systole::graph::random_array(graph.tensors[id], 1, false);
  }
  const auto outputs = systole::graph::evaluate(graph, inputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    double low = INFINITY;
    double high = -INFINITY;
    bool finite = true;
    for (std::int64_t k = 0; k < systole::graph::elements(outputs[i].shape); ++k) {
      const double value = systole::graph::get(outputs[i], k);
      low = std::min(low, value);
      high = std::max(high, value);
      finite = finite && std::isfinite(value);
    }
    fmt::print("    {} {} in [{:.4g}, {:.4g}]{}\n", graph.output_names[i],
               systole::graph::to_string(outputs[i].shape), low, high, finite ? "" : " NOT FINITE");
  }
  fmt::print("    evaluated in {:.2f} s\n", seconds_since(start));
}

void report(const std::string& path, const systole::frontend::Options& options, bool values) {
  const auto start = std::chrono::steady_clock::now();
  const systole::graph::Graph graph = systole::frontend::read_model(path, options);
  const double seconds = seconds_since(start);
  std::int64_t constants = 0;
  std::int64_t parameters = 0;
  for (const auto& tensor : graph.tensors) {
    if (tensor.kind == systole::graph::TensorKind::constant) {
      ++constants;
      parameters += systole::graph::elements(tensor.shape);
    }
  }
  const auto faults = systole::graph::verify(graph);
  fmt::print("{}: {} operators, {} constants of {} elements, {} inputs, {} outputs, {:.3f} s{}\n",
             graph.name, graph.nodes.size(), constants, parameters, graph.inputs.size(),
             graph.outputs.size(), seconds, faults.empty() ? "" : " FAULTY: " + faults[0]);
  if (values) {
    evaluate(graph);
  }
}

}  // namespace

int main(int argc, char** argv) {
  systole::frontend::Options options;
  bool values = false;
  for (const std::string& word : std::vector<std::string>(argv + 1, argv + argc)) {
    if (word == "--evaluate") {
      values = true;
      options.random_weights = 1;
    } else if (word.rfind("--dim=", 0) == 0) {
      const auto equals = word.rfind('=');
      options.dims[word.substr(6, equals - 6)] = std::atoll(word.c_str() + equals + 1);
    } else {
      try {
        report(word, options, values);
      } catch (const systole::Error& error) {
        fmt::print("{}: REFUSED {}\n", word, error.what());
      }
    }
  }
  return 0;
}
