// Reads ONNX models into a graph of core operators.
//
// Given a file and the values of its symbolic extents, promises a verified graph with static shapes that computes what
// the model computes, or one Error that says why not. Opset differences live in this folder and nowhere else.
// Everything that follows from constants and shapes alone is evaluated here; whatever depends on the values of a graph
// input stays in the graph. Errors: unreadable or malformed file, unsupported operators (all of them in one line),
// missing extents (all of them), sizes above the limits. Source: the ONNX operator specification, opsets 1 to 22.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/graph/graph.hpp"

namespace systole::frontend {

struct Options {
  // Symbolic extents of a model, parameters of a recipe. An extent without a name is INPUT:AXIS. The
  // name of a scalar integer input (a sampling rate, say) makes that input a constant.
  std::map<std::string, std::int64_t> dims;
  // By graph input, of values that are at hand: they must fit what the file states, and give its symbols values.
  std::map<std::string, graph::Shape> input_shapes;
  // Graph inputs that become constants, by name.
  std::map<std::string, graph::Array> fixed_inputs;
  // Seed for weights without data; without it they stay absent.
  std::optional<std::uint64_t> random_weights;

  // Bounds that a hostile file cannot exceed: elements of a folded result that outgrows its operands
  // (larger ones stay operators), bytes of all constants, elements of one tensor, operators after
  // unrolling, turns of one unrolled loop or recurrence.
  std::int64_t fold_elements = std::int64_t{1} << 16U;
  std::int64_t constant_bytes = std::int64_t{6} << 30U;
  std::int64_t tensor_elements = std::int64_t{1} << 40U;
  std::int64_t nodes = 400'000;
  std::int64_t trips = 10'000;
};

// The graph inputs that a run must feed, in order: neither initializers nor weights.
[[nodiscard]] std::vector<std::string> input_names(const std::filesystem::path& path);

// The operators of a file as they stand there, bodies and called functions included, ascending by name.
struct SourceOperator {
  std::string name;
  int count = 0;
  bool supported = false;
};
[[nodiscard]] std::vector<SourceOperator> source_operators(const std::filesystem::path& path);

[[nodiscard]] graph::Graph read_onnx(const std::filesystem::path& path,
                                     const Options& options = {});

}  // namespace systole::frontend
