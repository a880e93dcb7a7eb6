// Model files with stored inputs and expected outputs: Debian's conformance data (folders of protobuf tensors) and plain
// folders of .npy files. Everything is read through the front end; nothing here computes values.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/frontend/onnx.hpp"
#include "compiler/graph/graph.hpp"

namespace systole::test {

struct OnnxCase {
  std::string name;
  std::filesystem::path model;
  std::vector<std::filesystem::path> inputs;   // in the order of the model's inputs
  std::vector<std::filesystem::path> outputs;  // in the order of the model's outputs
  double rtol = 1e-3;
  double atol = 1e-7;
};

enum class Verdict : std::uint8_t { passed, failed, refused };
struct CaseResult {
  Verdict verdict = Verdict::failed;
  std::string reason;
};

// The cases of a folder like .../data/node: one per sub-folder and data set, by name.
[[nodiscard]] std::vector<OnnxCase> conformance_cases(const std::filesystem::path& folder);

// Tensors of one stored file, .pb or .npy; a stored sequence gives several. Throws Error.
[[nodiscard]] std::vector<graph::Array> read_stored(const std::filesystem::path& path);

// Runs a graph on inputs by name; the reference evaluator or a compiled program on the simulator.
using Runner = std::function<std::vector<graph::Array>(const graph::Graph&,
                                                       const std::map<std::string, graph::Array>&)>;

// Reads the model, runs it and compares every output: shape, type, |got - want| <= atol + rtol |want|. An Error anywhere is
// a refusal with its text as reason.
[[nodiscard]] CaseResult run_case(const OnnxCase& item, const frontend::Options& options,
                                  const Runner& run);

// Empty when equal within the tolerances; otherwise what differs.
[[nodiscard]] std::string difference(const graph::Array& got, const graph::Array& want, double rtol,
                                     double atol);

// The text of a reason without the names of nodes and values, so that equal causes count together.
[[nodiscard]] std::string reason_class(const std::string& reason);

// SYSTOLE_SHARED, else ../shared beside the sources; empty when absent.
[[nodiscard]] std::filesystem::path shared_folder();

}  // namespace systole::test
