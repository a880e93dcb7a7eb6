// Imports model files and prints one line each: operators, constants, seconds; with --evaluate also the range of every output
// under seeded inputs and weights; with --compare=FOLDER (in_I.npy, out_I.npy, as scripts/onnxruntime_compare writes them) whether
// the outputs agree. A tool for figures, not a test.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "compiler/frontend/model.hpp"
#include "compiler/graph/evaluate.hpp"
#include "isa/base/error.hpp"
#include "tests/compiler/frontend/onnx_cases.hpp"

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

void compare(const std::string& model, const std::string& folder,
             const systole::frontend::Options& options) {
  systole::test::OnnxCase item;
  item.name = model;
  item.model = model;
  item.rtol = 1e-3;
  item.atol = 1e-6;
  for (const auto& [stem, files] :
       {std::pair{"in", &item.inputs}, std::pair{"out", &item.outputs}}) {
    for (int i = 0; std::filesystem::exists(fmt::format("{}/{}_{}.npy", folder, stem, i)); ++i) {
      files->push_back(fmt::format("{}/{}_{}.npy", folder, stem, i));
    }
  }
  const auto result =
      systole::test::run_case(item, options, [](const auto& graph, const auto& inputs) {
        return systole::graph::evaluate(graph, inputs);
      });
  const bool passed = result.verdict == systole::test::Verdict::passed;
  fmt::print("    {} {}\n", passed ? "agrees with" : "DIFFERS from",
             folder + (passed ? "" : ": " + result.reason));
}

}  // namespace

int main(int argc, char** argv) {
  systole::frontend::Options options;
  bool values = false;
  std::string folder;
  for (const std::string& word : std::vector<std::string>(argv + 1, argv + argc)) {
    if (word == "--evaluate") {
      values = true;
      options.random_weights = 1;
    } else if (word.rfind("--dim=", 0) == 0) {
      const auto equals = word.rfind('=');
      options.dims[word.substr(6, equals - 6)] = std::atoll(word.c_str() + equals + 1);
    } else if (word.rfind("--compare=", 0) == 0) {
      folder = word.substr(10);
    } else {
      try {
        report(word, options, values);
        if (!folder.empty()) {
          compare(word, folder, options);
        }
      } catch (const systole::Error& error) {
        fmt::print("{}: REFUSED {}\n", word, error.what());
      }
    }
  }
  return 0;
}
