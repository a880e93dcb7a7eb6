// Reads places of a recipe's YAML as what they must be: keys, names with {expressions}, numbers, shapes, element types.
//
// Fields is the reader of one recipe and knows which file is being read, so that every error names file:line:column.
// Throws Error for whatever is not as the format (models/README.md) says.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "compiler/frontend/expression.hpp"
#include "compiler/frontend/onnx/importer.hpp"

namespace systole::frontend::recipe {

// What a step sees: integers by name, values by name, and the path of blocks around it. Turns that share their weights
// have one weight path.
struct Frame {
  Parameters parameters;
  Scope scope;
  std::string path, weight_path;
  int depth = 0;
};

// A piece of YAML and the file that errors in it name.
struct Source {
  std::string file;
  YAML::Node node;
};

[[nodiscard]] std::string read_text(const std::filesystem::path& path);

class Fields {
 public:
  explicit Fields(std::string file) : file_(std::move(file)) {}

 protected:
  [[noreturn]] void fail(const YAML::Node& at, const std::string& what,
                         const std::string& remedy = {}) const;
  void check_keys(const YAML::Node& map, const std::vector<std::string>& known) const;
  YAML::Node required(const YAML::Node& map, const char* key, const char* kind) const;
  std::string text(const YAML::Node& node, const char* what) const;
  std::vector<std::string> names(const YAML::Node& node, const Frame& frame) const;
  std::string name(const YAML::Node& node, const Frame& frame) const;
  Number number(const YAML::Node& node, const Frame& frame) const;
  std::int64_t integer(const YAML::Node& node, const Frame& frame) const;
  Shape shape(const YAML::Node& node, const Frame& frame) const;
  ElementType type(const YAML::Node& node) const;
  bool applies(const YAML::Node& map, const Frame& frame) const {
    return !map["when"] || number(map["when"], frame).value != 0;
  }
  Source load(const YAML::Node& name) const;

  std::string file_;  // being read
};

}  // namespace systole::frontend::recipe
