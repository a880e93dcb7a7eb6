// One ONNX node being converted: its operands, attributes and opset, and where its results go.
//
// A converter is a function from a Call to the node's output values. It reads operands through `input`, asks for operand
// values that must be known now through `integers_of` and its kin (an Error names the operand when they depend on a
// graph input), reads attributes with their defaults, and emits core operators through `build`.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/frontend/builder.hpp"
#include "compiler/frontend/onnx/proto_forward.hpp"

namespace systole::frontend {

// A tensor, a sequence of tensors, or nothing (an omitted or empty optional).
struct Value {
  TensorId tensor;
  std::shared_ptr<const std::vector<TensorId>> sequence;

  Value() = default;
  Value(TensorId id) : tensor(id) {}  // NOLINT: converters return tensors
  explicit Value(std::vector<TensorId> items)
      : sequence(std::make_shared<const std::vector<TensorId>>(std::move(items))) {}
  [[nodiscard]] bool empty() const { return !tensor.valid() && sequence == nullptr; }
};
using Values = std::vector<Value>;

class Importer;
struct Scope;

struct Call {
  const proto::NodeProto& node;
  int opset = 0;
  Values operands;
  Builder& build;
  Importer& importer;
  Scope& scope;

  [[nodiscard]] const std::string& op() const;
  [[nodiscard]] int operand_count() const { return static_cast<int>(operands.size()); }
  [[nodiscard]] int output_count() const;
  [[nodiscard]] bool wants_output(int i) const;

  [[nodiscard]] bool has(int i) const;
  [[nodiscard]] TensorId input(int i) const;
  [[nodiscard]] TensorId input_or(int i, TensorId otherwise) const {
    return has(i) ? input(i) : otherwise;
  }
  [[nodiscard]] const std::vector<TensorId>& sequence(int i) const;
  [[nodiscard]] std::vector<TensorId> inputs() const;  // all, none omitted
  // Whether operand i is absent or its value does not depend on a graph input.
  [[nodiscard]] bool is_known(int i) const;
  [[nodiscard]] Shape shape(int i) const { return build.shape(input(i)); }
  [[nodiscard]] int rank(int i) const { return build.rank(input(i)); }
  [[nodiscard]] ElementType type(int i) const { return build.type(input(i)); }

  // The value of operand i, which must not depend on a graph input; `what` says what it is (axes, shape).
  [[nodiscard]] const Array& value_of(int i, std::string_view what) const;
  [[nodiscard]] Integers integers_of(int i, std::string_view what) const;
  [[nodiscard]] std::int64_t integer_of(int i, std::string_view what) const;
  [[nodiscard]] double real_of(int i, std::string_view what) const;

  [[nodiscard]] const proto::AttributeProto* attribute(std::string_view name) const;
  [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  [[nodiscard]] double real(std::string_view name, double otherwise) const;
  [[nodiscard]] std::string text(std::string_view name, std::string otherwise) const;
  [[nodiscard]] std::optional<Integers> integers(std::string_view name) const;
  [[nodiscard]] std::vector<double> reals(std::string_view name) const;  // empty when absent
  [[nodiscard]] std::vector<std::string> texts(std::string_view name) const;
  [[nodiscard]] const proto::GraphProto& body(std::string_view name) const;

  // The list that moved from an attribute to an operand: operand i where given, else the attribute.
  [[nodiscard]] std::optional<Integers> attribute_or_operand(std::string_view name, int i) const;

  // axis in [-rank, rank) counted from 0; throws otherwise.
  [[nodiscard]] int axis(std::int64_t axis, int rank) const;
  [[nodiscard]] std::vector<int> axes(const Integers& axes, int rank) const;  // ascending, distinct

  // The shape the model states for output i, where it is fully known.
  [[nodiscard]] std::optional<Shape> stated_shape(int i) const;

  [[noreturn]] void fail(const std::string& what, const std::string& remedy = {}) const;
};

using Converter = Values (*)(Call&);

}  // namespace systole::frontend
