#include "compiler/frontend/onnx/call.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/frontend/onnx/importer.hpp"
#include "compiler/frontend/onnx/proto.hpp"
#include "isa/base/error.hpp"

namespace systole::frontend {

void Call::fail(const std::string& what, const std::string& remedy) const {
  build.fail(fmt::format("{}: {}", op(), what), remedy);
}

const std::string& Call::op() const {
  return node.op_type();
}

int Call::output_count() const {
  return node.output_size();
}

bool Call::wants_output(int i) const {
  return i < node.output_size() && !node.output(i).empty();
}

bool Call::has(int i) const {
  importer.note_operand(i);
  return i < operand_count() && !operands[static_cast<std::size_t>(i)].empty();
}

TensorId Call::input(int i) const {
  if (!has(i)) {
    fail(fmt::format("operand {} is missing", i));
  }
  const Value& value = operands[static_cast<std::size_t>(i)];
  if (!value.tensor.valid()) {
    fail(fmt::format("operand {} is a sequence, not a tensor", i));
  }
  return value.tensor;
}

const std::vector<TensorId>& Call::sequence(int i) const {
  if (!has(i) || operands[static_cast<std::size_t>(i)].sequence == nullptr) {
    fail(fmt::format("operand {} is not a sequence", i));
  }
  return *operands[static_cast<std::size_t>(i)].sequence;
}

std::vector<TensorId> Call::inputs() const {
  std::vector<TensorId> out;
  for (int i = 0; i < operand_count(); ++i) {
    out.push_back(input(i));
  }
  return out;
}

bool Call::is_known(int i) const {
  return !has(i) || build.value(input(i)) != nullptr || build.count(input(i)) == 0;
}

const Array& Call::value_of(int i, std::string_view what) const {
  const TensorId id = input(i);
  const Array* value = build.value(id);
  if (value == nullptr) {
    const bool weight = build.is_constant(id);
    fail(
        fmt::format("{} (operand '{}') {}", what, node.input(i),
                    weight ? "is a weight without data" : "depends on the values of a graph input"),
        "it must be known at compile time");
  }
  return *value;
}

Integers Call::integers_of(int i, std::string_view what) const {
  if (has(i) && build.count(input(i)) == 0) {
    return {};
  }
  const Array& array = value_of(i, what);
  const std::int64_t count = graph::elements(array.shape);
  if (count > build.options().fold_elements || graph::is_float(array.type)) {
    fail(fmt::format("{} (operand '{}') is not a short list of integers", what, node.input(i)));
  }
  Integers out;
  for (std::int64_t k = 0; k < count; ++k) {
    out.push_back(graph::get_integer(array, k));
  }
  return out;
}

std::int64_t Call::integer_of(int i, std::string_view what) const {
  const Integers values = integers_of(i, what);
  if (values.size() != 1) {
    fail(fmt::format("{} (operand '{}') is not one integer", what, node.input(i)));
  }
  return values[0];
}

double Call::real_of(int i, std::string_view what) const {
  const Array& array = value_of(i, what);
  if (graph::elements(array.shape) != 1) {
    fail(fmt::format("{} (operand '{}') is not one number", what, node.input(i)));
  }
  return graph::get(array, 0);
}

const proto::AttributeProto* Call::attribute(std::string_view name) const {
  importer.note_attribute(name);
  const auto found = std::find_if(node.attribute().begin(), node.attribute().end(),
                                  [&](const auto& attribute) { return attribute.name() == name; });
  return found == node.attribute().end() ? nullptr : &*found;
}

std::int64_t Call::integer(std::string_view name, std::int64_t otherwise) const {
  const auto* found = attribute(name);
  if (found != nullptr && !found->has_i()) {
    fail(fmt::format("attribute '{}' is not an integer", name));
  }
  return found == nullptr ? otherwise : found->i();
}

double Call::real(std::string_view name, double otherwise) const {
  const auto* found = attribute(name);
  if (found != nullptr && !found->has_f() && !found->has_i()) {
    fail(fmt::format("attribute '{}' is not a number", name));
  }
  return found == nullptr ? otherwise
         : found->has_f() ? static_cast<double>(found->f())
                          : static_cast<double>(found->i());
}

std::string Call::text(std::string_view name, std::string otherwise) const {
  const auto* found = attribute(name);
  if (found != nullptr && !found->has_s()) {
    fail(fmt::format("attribute '{}' is not a text", name));
  }
  return found == nullptr ? otherwise : found->s();
}

std::optional<Integers> Call::integers(std::string_view name) const {
  const auto* found = attribute(name);
  if (found == nullptr) {
    return std::nullopt;
  }
  if (found->has_i()) {
    return Integers{found->i()};
  }
  return Integers(found->ints().begin(), found->ints().end());
}

std::vector<double> Call::reals(std::string_view name) const {
  const auto* found = attribute(name);
  return found == nullptr ? std::vector<double>{}
                          : std::vector<double>(found->floats().begin(), found->floats().end());
}

std::vector<std::string> Call::texts(std::string_view name) const {
  const auto* found = attribute(name);
  return found == nullptr
             ? std::vector<std::string>{}
             : std::vector<std::string>(found->strings().begin(), found->strings().end());
}

const proto::GraphProto& Call::body(std::string_view name) const {
  const auto* found = attribute(name);
  if (found == nullptr || !found->has_g()) {
    fail(fmt::format("attribute '{}' holds no graph", name));
  }
  return found->g();
}

std::optional<Integers> Call::attribute_or_operand(std::string_view name, int i) const {
  return has(i) ? integers_of(i, name) : integers(name);
}

int Call::axis(std::int64_t axis, int rank) const {
  if (axis < -rank || axis >= rank) {
    fail(fmt::format("axis {} does not exist in rank {}", axis, rank));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

std::vector<int> Call::axes(const Integers& axes, int rank) const {
  std::vector<int> out;
  for (const std::int64_t value : axes) {
    out.push_back(axis(value, rank));
  }
  std::sort(out.begin(), out.end());
  if (std::adjacent_find(out.begin(), out.end()) != out.end()) {
    fail("an axis is named twice");
  }
  return out;
}

std::optional<Shape> Call::stated_shape(int i) const {
  return wants_output(i) ? importer.stated_shape(node.output(i), scope) : std::nullopt;
}

}  // namespace systole::frontend
