#include "tests/compiler/frontend/onnx_cases.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <regex>

#include <fmt/format.h>

#include "compiler/frontend/npy.hpp"
#include "compiler/frontend/onnx/proto.hpp"
#include "compiler/frontend/onnx/tensor.hpp"
#include "compiler/graph/evaluate.hpp"
#include "isa/base/error.hpp"

#include <onnx/onnx-data.pb.h>  // after proto.hpp: it needs the export macro defined there

namespace systole::test {

namespace {

namespace fs = std::filesystem;

std::string read_bytes(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<fs::path> numbered(const fs::path& folder, const std::string& stem) {
  std::vector<fs::path> out;
  for (int i = 0; fs::exists(folder / fmt::format("{}_{}.pb", stem, i)); ++i) {
    out.push_back(folder / fmt::format("{}_{}.pb", stem, i));
  }
  return out;
}

graph::Array required_value(const onnx::TensorProto& tensor, const fs::path& path) {
  auto contents = frontend::read_tensor(tensor, path.filename().string(), path.parent_path());
  if (!contents.value) {
    throw Error(path.string(), "has no data");
  }
  return std::move(*contents.value);
}

// The conformance data stores bfloat16 tensors as 16-bit integers of the same bits.
void take_bits(graph::Array& array, graph::ElementType declared) {
  if (declared == graph::ElementType::bf16 && array.type == graph::ElementType::u16) {
    array.type = declared;
  }
}

// A stored file does not say what it holds. A sequence parses as a tensor without extents and data.
std::vector<graph::Array> read_protobuf(const fs::path& path) {
  const std::string bytes = read_bytes(path);
  onnx::TensorProto tensor;
  if (tensor.ParseFromString(bytes) && tensor.data_type() != 0 &&
      (tensor.has_raw_data() || tensor.float_data_size() + tensor.int32_data_size() +
                                        tensor.int64_data_size() + tensor.double_data_size() +
                                        tensor.uint64_data_size() + tensor.string_data_size() >
                                    0)) {
    return {required_value(tensor, path)};
  }
  onnx::SequenceProto sequence;
  if (!sequence.ParseFromString(bytes) || sequence.elem_type() != onnx::SequenceProto::TENSOR) {
    throw Error(path.filename().string(), "holds neither a tensor nor a sequence of tensors");
  }
  std::vector<graph::Array> out;
  for (const auto& item : sequence.tensor_values()) {
    out.push_back(required_value(item, path));
  }
  return out;
}

}  // namespace

std::vector<graph::Array> read_stored(const fs::path& path) {
  if (path.extension() == ".npy") {
    return {frontend::read_npy(path)};
  }
  return read_protobuf(path);
}

std::vector<OnnxCase> conformance_cases(const fs::path& folder) {
  std::vector<OnnxCase> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    for (int set = 0; fs::exists(entry.path() / fmt::format("test_data_set_{}", set)); ++set) {
      const fs::path data = entry.path() / fmt::format("test_data_set_{}", set);
      OnnxCase item;
      item.name = entry.path().filename().string() + (set > 0 ? fmt::format("#{}", set) : "");
      item.model = entry.path() / "model.onnx";
      item.inputs = numbered(data, "input");
      item.outputs = numbered(data, "output");
      out.push_back(item);
    }
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

std::string difference(const graph::Array& got, const graph::Array& want, double rtol,
                       double atol) {
  if (got.shape != want.shape || got.type != want.type) {
    return fmt::format("{}{} instead of {}{}", graph::name_of(got.type),
                       graph::to_string(got.shape), graph::name_of(want.type),
                       graph::to_string(want.shape));
  }
  if (want.type == graph::ElementType::bf16) {
    rtol = std::max(
        rtol, 0x1p-7);  // one unit in the last place: the stored data was truncated, not rounded
  }
  for (std::int64_t i = 0; i < graph::elements(want.shape); ++i) {
    bool close = false;
    if (graph::is_float(want.type)) {
      const double a = graph::get(got, i);
      const double b = graph::get(want, i);
      close = a == b || (std::isnan(a) && std::isnan(b)) ||
              (std::isfinite(b) && std::abs(a - b) <= atol + rtol * std::abs(b));
    } else {
      close = graph::get_integer(got, i) == graph::get_integer(want, i);
    }
    if (!close) {
      return fmt::format("element {}: {} instead of {}", i, graph::get(got, i),
                         graph::get(want, i));
    }
  }
  return {};
}

CaseResult run_case(const OnnxCase& item, const frontend::Options& given, const Runner& run) {
  std::vector<graph::Array> got;
  std::vector<graph::Array> want;
  try {
    std::vector<graph::Array> values;
    for (const fs::path& path : item.inputs) {
      std::vector<graph::Array> stored = read_stored(path);
      if (path.extension() == ".pb" && stored.size() != 1) {
        return {Verdict::refused, "an input is a sequence"};
      }
      values.push_back(std::move(stored[0]));
    }
    for (const fs::path& path : item.outputs) {
      for (graph::Array& array : read_stored(path)) {
        want.push_back(std::move(array));
      }
    }
    const std::vector<std::string> names = frontend::input_names(item.model);
    frontend::Options options = given;
    for (std::size_t i = 0; i < values.size() && i < names.size(); ++i) {
      options.input_shapes[names[i]] = values[i].shape;
    }
    const graph::Graph graph = frontend::read_onnx(item.model, options);
    for (std::size_t i = 0; i < want.size() && i < graph.outputs.size(); ++i) {
      take_bits(want[i], graph.tensors[graph.outputs[i]].type);
    }
    const std::vector<std::string> faults = graph::verify(graph);
    if (!faults.empty()) {
      return {Verdict::failed, "verify: " + faults[0]};
    }
    std::map<std::string, graph::Array> inputs;
    for (std::size_t i = 0; i < values.size() && i < names.size(); ++i) {
      inputs[names[i]] = std::move(values[i]);
    }
    for (const graph::TensorId id : graph.inputs) {
      const auto found = inputs.find(graph.tensors[id].name);
      if (found != inputs.end()) {
        take_bits(found->second, graph.tensors[id].type);
      }
    }
    got = run(graph, inputs);
  } catch (const Error& error) {
    return {Verdict::refused, error.what()};
  }
  if (want.empty() || got.size() != want.size()) {
    return {Verdict::failed, fmt::format("{} outputs instead of {}", got.size(), want.size())};
  }
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::string text = difference(got[i], want[i], item.rtol, item.atol);
    if (!text.empty()) {
      return {Verdict::failed, fmt::format("output {}: {}", i, text)};
    }
  }
  return {Verdict::passed, {}};
}

std::string reason_class(const std::string& reason) {
  static const std::regex quoted("'[^']*'|\\([^)]*\\)|^[^:]*: ");
  static const std::regex number("-?[0-9]+");
  return std::regex_replace(std::regex_replace(reason, quoted, ""), number, "N").substr(0, 100);
}

fs::path shared_folder() {
  const char* given = std::getenv("SYSTOLE_SHARED");
  const fs::path folder =
      given != nullptr ? fs::path(given) : fs::path(SYSTOLE_SOURCE_DIR) / "../shared";
  std::error_code error;
  return fs::is_directory(folder, error) ? folder : fs::path();
}

}  // namespace systole::test
