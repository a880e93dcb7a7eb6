#include "compiler/frontend/onnx.hpp"

#include <fstream>
#include <map>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "compiler/frontend/onnx/importer.hpp"
#include "compiler/frontend/onnx/table.hpp"
#include "isa/base/error.hpp"

namespace systole::frontend {

namespace {

proto::ModelProto parse(const std::filesystem::path& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error || !std::filesystem::is_regular_file(path, error)) {
    throw Error(path.string(), "no such file", "check the path");
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    throw Error(path.string(), "cannot be read", "check its permissions");
  }
  if (size > (std::uintmax_t{1} << 31U) - 64) {
    throw Error(path.string(), "is larger than 2 GB, the limit of the format",
                "store the weights as external data");
  }
  std::string bytes(static_cast<std::size_t>(size), '\0');
  in.read(bytes.data(), static_cast<std::streamsize>(size));
  proto::ModelProto model;
  if (!in || !model.ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    throw Error(path.string(), "is not an ONNX model, or is truncated or damaged",
                "export it again");
  }
  if (!model.has_graph()) {
    throw Error(path.string(), "holds no graph", "give an ONNX model");
  }
  return model;
}

int standard_opset(const proto::ModelProto& model, const std::filesystem::path& path) {
  std::int64_t version = model.opset_import().empty() ? 1 : 0;
  for (const auto& import : model.opset_import()) {
    if (import.domain().empty() || import.domain() == "ai.onnx") {
      version = import.version();
    }
  }
  if (version < 0 || version > 1000) {
    throw Error(path.string(), fmt::format("opset {} does not exist", version),
                "the file is damaged");
  }
  return static_cast<int>(version);
}

// metadata_props["weights"]: a JSON list of the graph inputs that are parameters.
std::vector<std::string> weight_names(const proto::ModelProto& model,
                                      const std::filesystem::path& path) {
  for (const auto& entry : model.metadata_props()) {
    if (entry.key() != "weights") {
      continue;
    }
    const auto list = nlohmann::json::parse(entry.value(), nullptr, false);
    std::vector<std::string> names;
    for (const auto& name : list) {
      if (!name.is_string()) {
        throw Error(path.string(), "metadata 'weights' is not a list of names");
      }
      names.push_back(name.get<std::string>());
    }
    return names;
  }
  return {};
}

void count_operators(const google::protobuf::RepeatedPtrField<proto::NodeProto>& nodes,
                     std::map<std::string, int>& counts) {
  for (const auto& node : nodes) {
    const bool standard = node.domain().empty() || node.domain() == "ai.onnx";
    ++counts[standard ? node.op_type() : node.domain() + "." + node.op_type()];
    for (const auto& attribute : node.attribute()) {  // the parser bounds the depth
      count_operators(attribute.g().node(), counts);
    }
  }
}

}  // namespace

std::vector<SourceOperator> source_operators(const std::filesystem::path& path) {
  const proto::ModelProto model = parse(path);
  std::map<std::string, int> counts;
  std::set<std::string> functions;
  count_operators(model.graph().node(), counts);
  for (const auto& function : model.functions()) {
    functions.insert(function.domain() + "." + function.name());
    count_operators(function.node(), counts);
  }
  std::vector<SourceOperator> out;
  for (const auto& [name, count] : counts) {
    const bool supported = find_converter("", name) != nullptr || functions.contains(name);
    out.push_back({name, count, supported});
  }
  return out;
}

std::vector<std::string> input_names(const std::filesystem::path& path) {
  const proto::ModelProto model = parse(path);
  const std::vector<std::string> weights = weight_names(model, path);
  std::unordered_set<std::string> given(weights.begin(), weights.end());
  for (const auto& tensor : model.graph().initializer()) {
    given.insert(tensor.name());
  }
  std::vector<std::string> names;
  for (const auto& input : model.graph().input()) {
    if (!given.contains(input.name())) {
      names.push_back(input.name());
    }
  }
  return names;
}

graph::Graph read_onnx(const std::filesystem::path& path, const Options& options) {
  const proto::ModelProto model = parse(path);
  Importer importer(options, path.parent_path());
  for (const auto& function : model.functions()) {
    importer.add_function(function);
  }
  return importer.read(model.graph(), weight_names(model, path), standard_opset(model, path),
                       path.stem().string());
}

}  // namespace systole::frontend
