#include "compiler/driver/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "compiler/frontend/npy.hpp"
#include "compiler/graph/evaluate.hpp"
#include "isa/base/error.hpp"
#include "isa/convert.hpp"

namespace systole::driver {
namespace {

using graph::Array;
using graph::ElementType;

bool integral(ElementType type) { return !graph::is_float(type); }

// The machine has no 64-bit floats: a value that would silently become infinite is refused.
void expect_float_range(const std::string& where, const Array& array) {
  for (std::int64_t i = 0; array.type == ElementType::f64 && i < graph::elements(array.shape); ++i) {
    const double value = graph::get(array, i);
    if (std::isfinite(value) && std::abs(value) > static_cast<double>(std::numeric_limits<float>::max())) {
      throw Error(where, fmt::format("holds {}, beyond the machine's 32-bit floats", value), "give values in range");
    }
  }
}

Array read_input(const std::string& path, const graph::Tensor& tensor) {
  Array array = frontend::read_npy(path);
  if (array.shape != tensor.shape) {
    throw Error(path, fmt::format("has shape {}, input '{}' has {}", graph::to_string(array.shape),
                                  tensor.name, graph::to_string(tensor.shape)),
                "give an array of the input's shape, or set its symbolic extents with --dim");
  }
  if (array.type != tensor.type) {
    if (integral(array.type) != integral(tensor.type)) {
      throw Error(path, fmt::format("holds {}, input '{}' is {}", graph::name_of(array.type),
                                    tensor.name, graph::name_of(tensor.type)),
                  "give an array of the input's type");
    }
    expect_float_range(path, array);
    array = graph::convert(array, tensor.type);
  }
  return array;
}

std::vector<std::byte> to_machine(const Array& array, const isa::HbmTensor& tensor) {
  const std::int64_t count = graph::elements(array.shape);
  std::vector<std::byte> bytes(static_cast<std::size_t>(count * isa::size_of(tensor.dtype)));
  if (integral(array.type) && array.type != ElementType::boolean) {
    std::vector<std::int64_t> values(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
      values[static_cast<std::size_t>(i)] = graph::get_integer(array, i);
    }
    if (!isa::is_float(tensor.dtype)) {
      for (const std::int64_t value : values) {
        if (value < std::numeric_limits<std::int32_t>::min() ||
            value > std::numeric_limits<std::int32_t>::max()) {
          throw Error(tensor.name, fmt::format("holds {}, beyond the machine's 32-bit integers", value),
                      "give values in range");
        }
      }
    }
    isa::store(tensor.dtype, std::span<const std::int64_t>(values), bytes);
    return bytes;
  }
  expect_float_range(tensor.name, array);
  std::vector<double> values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    values[static_cast<std::size_t>(i)] = graph::get(array, i);
  }
  isa::store(tensor.dtype, std::span<const double>(values), bytes);
  return bytes;
}

Array from_machine(const std::vector<std::byte>& bytes, isa::DType dtype, ElementType type,
                   const graph::Shape& shape) {
  Array array = graph::make_array(type, shape);
  const std::int64_t count = graph::elements(shape);
  const auto size = static_cast<std::size_t>(isa::size_of(dtype));
  check(bytes.size() == static_cast<std::size_t>(count) * size, "output of another size");
  for (std::int64_t i = 0; i < count; ++i) {
    const std::byte* at = bytes.data() + static_cast<std::size_t>(i) * size;
    if (integral(type)) {
      graph::set_integer(array, i, isa::load_integer(dtype, at));
    } else {
      graph::set(array, i, isa::load_double(dtype, at));
    }
  }
  return array;
}

}  // namespace

HostArrays model_inputs(const graph::Graph& graph, const ModelOptions& options) {
  const auto files = pairs("--input", options.inputs);
  std::set<std::string> unknown;
  for (const auto& [name, file] : files) {
    unknown.insert(name);
  }
  HostArrays arrays;
  for (const graph::TensorId id : graph.inputs) {
    const graph::Tensor& tensor = graph.tensors[id];
    const auto file = files.find(tensor.name);
    unknown.erase(tensor.name);
    arrays[tensor.name] = file == files.end() ? graph::random_array(tensor, options.seed, false)
                                              : read_input(file->second, tensor);
  }
  if (!unknown.empty()) {
    std::string names;
    for (const graph::TensorId id : graph.inputs) {
      names += (names.empty() ? "" : ", ") + graph.tensors[id].name;
    }
    throw Error("--input " + *unknown.begin(), "the model has no such input",
                "its inputs are: " + names);
  }
  return arrays;
}

sim::Inputs machine_inputs(const isa::Program& program, const HostArrays& inputs) {
  sim::Inputs out;
  for (const isa::HbmTensor& tensor : program.tensors) {
    if (tensor.role == isa::Role::input) {
      const auto found = inputs.find(tensor.name);
      if (found == inputs.end()) {
        throw Error(tensor.name, "the program's input has no value", "give --input NAME=FILE.npy");
      }
      out.arrays[tensor.name] = to_machine(found->second, tensor);
    }
  }
  return out;
}

std::vector<Array> model_outputs(const graph::Graph& graph, const isa::Program& program,
                                 const sim::Arrays& arrays) {
  std::map<std::string, isa::DType> types;
  for (const isa::HbmTensor& tensor : program.tensors) {
    if (tensor.role == isa::Role::output) {
      types[tensor.name] = tensor.dtype;
    }
  }
  std::vector<Array> outputs;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const graph::Tensor& tensor = graph.tensors[graph.outputs[i]];
    const std::string& name = graph.output_names[i];
    const auto found = arrays.find(name);
    check(found != arrays.end(), "an output is missing from the machine's memory: " + name);
    outputs.push_back(from_machine(found->second, types.at(name), tensor.type, tensor.shape));
  }
  return outputs;
}

double Difference::relative() const {
  return largest == 0 ? 0 : largest / std::max(magnitude, std::numeric_limits<double>::min());
}

Difference compare(const Array& got, const Array& want, double rtol, double atol) {
  check(got.shape == want.shape, "outputs of different shapes are compared");
  Difference out;
  for (std::int64_t i = 0; i < graph::elements(want.shape); ++i) {
    const double a = graph::get(got, i);
    const double b = graph::get(want, i);
    const bool same = a == b || (std::isnan(a) && std::isnan(b));
    double off = same ? 0.0 : std::abs(a - b);
    if (std::isnan(off)) {
      off = std::numeric_limits<double>::infinity();
    }
    if (std::isfinite(b)) {
      out.magnitude = std::max(out.magnitude, std::abs(b));
    }
    out.largest = std::max(out.largest, off);
    if (off > atol + rtol * (std::isfinite(b) ? std::abs(b) : 0.0)) {
      if (out.outside == 0) {
        out.first = fmt::format("element {}: got {}, expected {}", i, a, b);
      }
      ++out.outside;
    }
  }
  return out;
}

}  // namespace systole::driver
