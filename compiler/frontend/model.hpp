// The models a user names: ONNX files, recipes, and the recipes that come with Systole.
//
// A name is looked for as a file, then as NAME.yaml in the folder SYSTOLE_MODELS, in models/ of the source tree and in the
// installed share/systole/models. A file is an ONNX model unless it ends in .yaml or .yml. Errors: nothing found (lists the
// known names), and those of the two readers.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "compiler/frontend/onnx.hpp"
#include "compiler/graph/graph.hpp"

namespace systole::frontend {

[[nodiscard]] graph::Graph read_model(const std::string& path_or_name, const Options& options = {});

// Whether read_model would read the file as ONNX.
[[nodiscard]] bool is_onnx(const std::string& path_or_name);

// The recipe embedded in the program: a ResNet bottleneck followed by an attention block (models/default.yaml). Its weights
// are random, with seed 1 unless the options give another.
[[nodiscard]] graph::Graph default_model(const Options& options = {});

// The folders that are searched, the first hit wins; some may not exist.
[[nodiscard]] std::vector<std::filesystem::path> recipe_folders();

// Names and descriptions of the recipes that can be found, ascending.
struct ModelEntry {
  std::string name, description, path;
};
[[nodiscard]] std::vector<ModelEntry> list_models();

}  // namespace systole::frontend
