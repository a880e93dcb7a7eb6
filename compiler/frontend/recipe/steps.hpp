// Runs the steps of a recipe: operators, blocks, repetitions, weights and constants become core operators of a graph.
//
// Steps go through the ONNX reader's converters, strictly: what a converter does not ask for is an error. Bounded: blocks,
// lists of steps and all steps together. Throws Error with the place in the recipe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "compiler/frontend/onnx.hpp"
#include "compiler/frontend/recipe/fields.hpp"

namespace systole::frontend::recipe {

constexpr int recipe_opset = 18;

class Steps : protected Fields {
 public:
  Steps(std::string file, const Options& options)
      : Fields(std::move(file)), options_(options), importer_(options, {}) {}

 protected:
  void run_steps(const YAML::Node& steps, Frame& frame);

  Options options_;
  Importer importer_;
  std::map<std::string, Source> blocks_;
  ElementType default_type_ = ElementType::f32;

 private:
  void run_step(const YAML::Node& step, Frame& frame);
  void add_weights(const YAML::Node& step, Frame& frame);
  TensorId weight(const YAML::Node& at, const std::string& name, ElementType type,
                  const Shape& extents);
  void add_constant(const YAML::Node& step, Frame& frame);
  void run_operator(const YAML::Node& step, Frame& frame);
  void set_attribute(proto::AttributeProto& attribute, const YAML::Node& value,
                     const Frame& frame) const;
  void add_attributes(proto::NodeProto& node, const YAML::Node& step, const Frame& frame) const;
  Value value(const YAML::Node& at, const std::string& name, const Frame& frame) const;
  Frame block_frame(const YAML::Node& step, const std::string& key, const YAML::Node& block,
                    const Frame& frame) const;
  void run_block(const YAML::Node& step, Frame& frame);
  void run_repeat(const YAML::Node& step, Frame& frame);

  std::map<std::string, TensorId> weights_;
  std::int64_t steps_ = 0;
  int nesting_ = 0;  // lists of steps being run
};

}  // namespace systole::frontend::recipe
