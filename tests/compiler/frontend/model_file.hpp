// Small ONNX models built in memory and written to a temporary folder, for tests.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "compiler/frontend/onnx.hpp"
#include "compiler/frontend/onnx/proto.hpp"
#include "compiler/graph/graph.hpp"

namespace systole::test {

// A folder of this process, removed at its end.
[[nodiscard]] std::filesystem::path temporary_folder();
std::filesystem::path write_bytes(const std::string& name, const std::string& bytes);

class ModelFile {
 public:
  explicit ModelFile(int opset = 13);

  // A dimension is a number or a symbol.
  ModelFile& input(const std::string& name, const std::vector<std::string>& dims, int type = 1);
  ModelFile& output(const std::string& name);
  ModelFile& initializer(const std::string& name, const graph::Array& value);
  onnx::NodeProto& node(const std::string& op, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs);
  onnx::ModelProto& proto() { return model_; }

  [[nodiscard]] std::filesystem::path write(const std::string& name = "model.onnx") const;
  [[nodiscard]] graph::Graph read(const frontend::Options& options = {}) const;
  // Reads, verifies and evaluates on the values given.
  [[nodiscard]] std::vector<graph::Array> run(const std::map<std::string, graph::Array>& inputs,
                                              const frontend::Options& options = {}) const;

 private:
  onnx::ModelProto model_;
};

void set_attribute(onnx::NodeProto& node, const std::string& name, std::int64_t value);
void set_attribute(onnx::NodeProto& node, const std::string& name,
                   const std::vector<std::int64_t>& values);
void set_attribute(onnx::NodeProto& node, const std::string& name, const std::string& text);

[[nodiscard]] graph::Array floats(const graph::Shape& shape, const std::vector<double>& values);
[[nodiscard]] graph::Array longs(const graph::Shape& shape,
                                 const std::vector<std::int64_t>& values);
[[nodiscard]] std::vector<double> values_of(const graph::Array& array);

}  // namespace systole::test
