#include "tests/compiler/frontend/model_file.hpp"

#include <unistd.h>

#include <cctype>
#include <fstream>
#include <memory>

#include <fmt/format.h>

#include "compiler/graph/evaluate.hpp"
#include "isa/base/error.hpp"

namespace systole::test {

namespace {

namespace fs = std::filesystem;

struct Folder {
  fs::path path = fs::temp_directory_path() / fmt::format("systole_frontend_tests_{}", ::getpid());
  Folder() { fs::create_directories(path); }
  ~Folder() {
    std::error_code error;
    fs::remove_all(path, error);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
};

}  // namespace

fs::path temporary_folder() {
  static const Folder folder;
  return folder.path;
}

fs::path write_bytes(const std::string& name, const std::string& bytes) {
  const fs::path path = temporary_folder() / name;
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return path;
}

ModelFile::ModelFile(int opset) {
  model_.set_ir_version(8);
  auto* import = model_.add_opset_import();
  import->set_domain("");
  import->set_version(opset);
  model_.mutable_graph()->set_name("test");
}

ModelFile& ModelFile::input(const std::string& name, const std::vector<std::string>& dims,
                            int type) {
  auto* info = model_.mutable_graph()->add_input();
  info->set_name(name);
  auto* tensor = info->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(type);
  tensor->mutable_shape();
  for (const std::string& dim : dims) {
    auto* added = tensor->mutable_shape()->add_dim();
    if (dim.empty() || std::isdigit(static_cast<unsigned char>(dim.back())) == 0) {
      added->set_dim_param(dim);
    } else {
      added->set_dim_value(std::stoll(dim));
    }
  }
  return *this;
}

ModelFile& ModelFile::output(const std::string& name) {
  auto* info = model_.mutable_graph()->add_output();
  info->set_name(name);
  info->mutable_type()->mutable_tensor_type()->set_elem_type(1);
  return *this;
}

ModelFile& ModelFile::initializer(const std::string& name, const graph::Array& value) {
  auto* tensor = model_.mutable_graph()->add_initializer();
  tensor->set_name(name);
  const bool is_long = value.type == graph::ElementType::i64;
  check(is_long || value.type == graph::ElementType::f32, "only f32 and i64 in test models");
  tensor->set_data_type(is_long ? onnx::TensorProto::INT64 : onnx::TensorProto::FLOAT);
  for (const std::int64_t extent : value.shape) {
    tensor->add_dims(extent);
  }
  tensor->set_raw_data(value.data.data(), value.data.size());
  return *this;
}

onnx::NodeProto& ModelFile::node(const std::string& op, const std::vector<std::string>& inputs,
                                 const std::vector<std::string>& outputs) {
  auto* node = model_.mutable_graph()->add_node();
  node->set_op_type(op);
  for (const std::string& name : inputs) {
    node->add_input(name);
  }
  for (const std::string& name : outputs) {
    node->add_output(name);
  }
  return *node;
}

fs::path ModelFile::write(const std::string& name) const {
  return write_bytes(name, model_.SerializeAsString());
}

graph::Graph ModelFile::read(const frontend::Options& options) const {
  return frontend::read_onnx(write(), options);
}

std::vector<graph::Array> ModelFile::run(const std::map<std::string, graph::Array>& inputs,
                                         const frontend::Options& options) const {
  const graph::Graph graph = read(options);
  const std::vector<std::string> faults = graph::verify(graph);
  if (!faults.empty()) {
    throw Error("verify", faults[0]);
  }
  return graph::evaluate(graph, inputs);
}

void set_attribute(onnx::NodeProto& node, const std::string& name, std::int64_t value) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_i(value);
}

void set_attribute(onnx::NodeProto& node, const std::string& name,
                   const std::vector<std::int64_t>& values) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  for (const std::int64_t value : values) {
    attribute->add_ints(value);
  }
}

void set_attribute(onnx::NodeProto& node, const std::string& name, const std::string& text) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_s(text);
}

graph::Array floats(const graph::Shape& shape, const std::vector<double>& values) {
  graph::Array array = graph::make_array(graph::ElementType::f32, shape);
  check(graph::elements(shape) == static_cast<std::int64_t>(values.size()),
        "values fill the shape");
  for (std::size_t i = 0; i < values.size(); ++i) {
    graph::set(array, static_cast<std::int64_t>(i), values[i]);
  }
  return array;
}

graph::Array longs(const graph::Shape& shape, const std::vector<std::int64_t>& values) {
  graph::Array array = graph::make_array(graph::ElementType::i64, shape);
  check(graph::elements(shape) == static_cast<std::int64_t>(values.size()),
        "values fill the shape");
  for (std::size_t i = 0; i < values.size(); ++i) {
    graph::set_integer(array, static_cast<std::int64_t>(i), values[i]);
  }
  return array;
}

std::vector<double> values_of(const graph::Array& array) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < graph::elements(array.shape); ++i) {
    out.push_back(graph::get(array, i));
  }
  return out;
}

}  // namespace systole::test
