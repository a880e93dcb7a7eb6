// Recipes: models as small YAML files, expanded to the operators of ONNX and read like them. models/README.md has the
// format.
//
// Given the text of a recipe and values for its parameters, promises the graph that its steps describe. Operators are
// those of the ONNX reader (opset 18), so that a new model family is one file and no C++. Weights have no data unless
// Options ask for random ones. Errors name file:line:column: malformed YAML, unknown keys, operators, blocks, names and
// parameters, wrong arguments, and whatever an operator refuses.
#pragma once

#include <filesystem>
#include <string>

#include "compiler/frontend/onnx.hpp"
#include "compiler/graph/graph.hpp"

namespace systole::frontend {

[[nodiscard]] graph::Graph read_recipe(const std::filesystem::path& path,
                                       const Options& options = {});
// `file` is what errors call the text.
[[nodiscard]] graph::Graph parse_recipe(const std::string& text, const std::string& file,
                                        const Options& options = {});
// The description line of a recipe; empty when it has none or does not parse.
[[nodiscard]] std::string recipe_description(const std::filesystem::path& path);

}  // namespace systole::frontend
