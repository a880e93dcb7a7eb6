// Walks the nodes of a model and calls the converter of each; holds what converters share.
//
// Only nodes that an output needs are converted, in the file's order where that is a valid one. A Scope maps value names to
// values; bodies of control-flow operators see the scopes around them, model-local functions do not. The same class
// serves recipes, which hand it nodes one by one.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/frontend/builder.hpp"
#include "compiler/frontend/onnx/call.hpp"
#include "compiler/frontend/onnx/proto.hpp"

namespace systole::frontend {

struct Scope {
  const Scope* parent = nullptr;
  int opset = 0;
  int depth = 0;
  std::string prefix;   // of the origins of nodes in a body: "loop/3/"
  bool strict = false;  // operands and attributes that a converter never asks for are refused
  std::unordered_map<std::string, Value> values;
  std::unordered_map<std::string, Shape> stated;  // shapes the model states for its values
  std::map<std::string, const proto::AttributeProto*> attributes;  // of a function call
};

class Importer {
 public:
  Importer(const Options& options, std::filesystem::path folder);

  [[nodiscard]] Builder& build() { return build_; }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

  // Converts one node, puts its outputs into the scope and returns them.
  Values convert(const proto::NodeProto& node, Scope& scope);
  // A body of If, Loop or Scan: its inputs bound to `inputs`, its outputs returned.
  Values run_body(const proto::GraphProto& body, const Values& inputs, Scope& outer,
                  const std::string& prefix);
  [[nodiscard]] Value lookup(const std::string& name, const Scope& scope) const;
  [[nodiscard]] std::optional<Shape> stated_shape(const std::string& name,
                                                  const Scope& scope) const;
  void add_function(const proto::FunctionProto& function);

  // What the converter of the current node asks for.
  void note_operand(int i) { asked_operands_.insert(i); }
  void note_attribute(std::string_view name) { asked_attributes_.emplace(name); }

  // The whole graph of a model; `weights` names the inputs that are parameters.
  graph::Graph read(const proto::GraphProto& graph, const std::vector<std::string>& weights,
                    int opset, const std::string& name);
  // What was built so far, without what no output needs.
  [[nodiscard]] graph::Graph finish(const std::string& name,
                                    const std::vector<std::pair<std::string, Value>>& outputs);

 private:
  using Nodes = google::protobuf::RepeatedPtrField<proto::NodeProto>;
  void add_initializers(const proto::GraphProto& graph, const std::vector<std::string>& needed,
                        Scope& scope);
  void bind_given_shapes(const proto::GraphProto& graph);
  void add_inputs(const proto::GraphProto& graph, const std::vector<std::string>& weights,
                  Scope& scope);
  Value add_input(const proto::ValueInfoProto& info, bool is_weight, std::set<std::string>& missing,
                  std::set<std::string>& known);
  TensorId fixed_input(const std::string& name, ElementType type,
                       const std::optional<Shape>& shape);
  void state_shapes(const proto::GraphProto& graph, Scope& scope) const;
  void report_unsupported(const Nodes& nodes, const std::vector<int>& order) const;
  void collect_unsupported(const proto::NodeProto& node, int depth,
                           std::map<std::string, std::vector<std::string>>& found) const;
  void run_nodes(const Nodes& nodes, const std::vector<int>& order, Scope& scope);
  void expect_all_asked(const proto::NodeProto& node) const;
  Values call_function(const proto::FunctionProto& function, const proto::NodeProto& node,
                       Values operands, Scope& scope);
  [[nodiscard]] proto::NodeProto bind_attributes(const proto::NodeProto& node,
                                                 const Scope& scope) const;
  [[nodiscard]] const proto::FunctionProto* find_function(const proto::NodeProto& node) const;

  Builder build_;
  std::filesystem::path folder_;
  std::map<std::string, std::int64_t> extents_;  // of symbols
  std::map<std::pair<std::string, std::string>, const proto::FunctionProto*> functions_;
  std::map<TensorId, std::string> names_;  // the model's own names of tensors
  std::set<int> asked_operands_;
  std::set<std::string, std::less<>> asked_attributes_;
};

// What an error calls a node: its name, or operator and first output.
[[nodiscard]] std::string describe(const proto::NodeProto& node);

}  // namespace systole::frontend
