#include "compiler/frontend/model.hpp"

#include <cstdlib>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "compiler/frontend/embedded.hpp"
#include "compiler/frontend/recipe.hpp"
#include "isa/base/error.hpp"

namespace systole::frontend {

namespace {

namespace fs = std::filesystem;

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

}  // namespace

std::vector<fs::path> recipe_folders() {
  std::vector<fs::path> folders;
  if (const char* given = std::getenv("SYSTOLE_MODELS")) {
    folders.emplace_back(given);
  }
  folders.push_back(fs::path(SYSTOLE_SOURCE_DIR) / "models");
  folders.push_back(embedded_models_folder());
  return folders;
}

std::vector<ModelEntry> list_models() {
  std::map<std::string, ModelEntry> found;
  for (const fs::path& folder : recipe_folders()) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      if (entry.path().extension() == ".yaml" && is_file(entry.path())) {
        const std::string name = entry.path().stem().string();
        found.try_emplace(
            name, ModelEntry{name, recipe_description(entry.path()), entry.path().string()});
      }
    }
  }
  std::vector<ModelEntry> out;
  for (auto& [name, entry] : found) {
    out.push_back(std::move(entry));
  }
  return out;
}

bool is_onnx(const std::string& path_or_name) {
  const fs::path path = path_or_name;
  return is_file(path) && path.extension() != ".yaml" && path.extension() != ".yml";
}

graph::Graph read_model(const std::string& path_or_name, const Options& options) {
  fs::path path = path_or_name;
  const bool is_name =
      path.is_relative() && path.extension().empty();  // folders of recipes have folders, too
  if (!is_file(path) && is_name) {
    for (const fs::path& folder : recipe_folders()) {
      if (is_file(folder / (path_or_name + ".yaml"))) {
        path = folder / (path_or_name + ".yaml");
        break;
      }
    }
  }
  if (is_file(path) && !is_onnx(path.string())) {
    return read_recipe(path, options);
  }
  if (!is_file(path) && is_name) {
    std::vector<std::string> names;
    for (const ModelEntry& entry : list_models()) {
      names.push_back(entry.name);
    }
    throw Error(path_or_name, "neither a file nor a known model",
                fmt::format("known models: {}", fmt::join(names, ", ")));
  }
  return read_onnx(path, options);
}

graph::Graph default_model(const Options& options) {
  Options with_weights = options;
  with_weights.random_weights = options.random_weights.value_or(1);
  return parse_recipe(std::string(embedded_default_recipe()), "models/default.yaml", with_weights);
}

}  // namespace systole::frontend
