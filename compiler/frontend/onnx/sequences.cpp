// Sequences and optionals inside a model: their lengths are known at compile time, so they are lists of tensors here and
// leave no trace in the graph.

#include <algorithm>

#include <fmt/format.h>

#include "compiler/frontend/onnx/converters.hpp"
#include "compiler/frontend/onnx/importer.hpp"
#include "compiler/frontend/onnx/proto.hpp"

namespace systole::frontend {

namespace {

std::int64_t position(const Call& call, int operand, std::int64_t size, std::int64_t otherwise,
                      bool may_append) {
  if (!call.has(operand)) {
    return otherwise;
  }
  const std::int64_t given = call.integer_of(operand, "the position");
  const std::int64_t at = given < 0 ? given + size : given;
  if (at < 0 || at > size || (at == size && !may_append)) {
    call.fail(fmt::format("position {} in a sequence of {}", given, size));
  }
  return at;
}

// Pieces of operand 0 along `axis`: of the sizes given, of one size, or single slices.
std::vector<TensorId> pieces(Call& call) {
  Builder& build = call.build;
  const int axis = call.axis(call.integer("axis", 0), call.rank(0));
  const std::int64_t extent = build.extent(call.input(0), axis);
  Integers sizes;
  if (call.has(1) && call.rank(1) > 0) {
    sizes = call.integers_of(1, "split");
  } else {
    const std::int64_t size = call.has(1) ? call.integer_of(1, "split") : 1;
    if (size < 1 || extent / size > build.options().trips) {
      call.fail(fmt::format("pieces of {} along an extent of {}", size, extent));
    }
    for (std::int64_t start = 0; start < extent; start += size) {
      sizes.push_back(std::min(size, extent - start));
    }
  }
  const bool drops = !call.has(1) && call.integer("keepdims", 1) == 0;
  std::vector<TensorId> out;
  std::int64_t start = 0;
  for (const std::int64_t size : sizes) {
    if (size < 0 || size > extent - start) {
      call.fail("the pieces do not fit the extent");
    }
    const TensorId piece = build.slice_axis(call.input(0), axis, start, size);
    out.push_back(drops ? build.drop_axis(piece, axis) : piece);
    start += size;
  }
  return out;
}

TensorId joined(Call& call) {
  Builder& build = call.build;
  std::vector<TensorId> parts = call.sequence(0);
  if (parts.empty()) {
    call.fail("joining an empty sequence");
  }
  const bool fresh = call.integer("new_axis", 0) != 0;
  const int axis = call.axis(call.integer("axis", 0), build.rank(parts[0]) + (fresh ? 1 : 0));
  for (TensorId& part : parts) {
    part = fresh ? build.insert_axis(part, axis) : part;
  }
  return build.concat(parts, axis);
}

// The body runs once per entry; operands that are no sequences are passed whole.
Values mapped(Call& call) {
  const std::string origin = call.build.origin();
  const proto::GraphProto& body = call.body("body");
  const std::size_t size = call.sequence(0).size();
  std::vector<std::vector<TensorId>> results(static_cast<std::size_t>(body.output_size()));
  for (std::size_t i = 0; i < size; ++i) {
    Values inputs;
    for (int k = 0; k < call.operand_count(); ++k) {
      const Value& value = call.operands[static_cast<std::size_t>(k)];
      if (value.sequence != nullptr && value.sequence->size() <= i) {
        call.fail("the sequences differ in length");
      }
      inputs.push_back(value.sequence != nullptr ? Value{(*value.sequence)[i]} : value);
    }
    const Values outputs =
        call.importer.run_body(body, inputs, call.scope, fmt::format("{}/{}/", origin, i));
    call.build.set_origin(origin);
    for (std::size_t k = 0; k < results.size(); ++k) {
      results[k].push_back(outputs[k].tensor);
    }
  }
  Values out;
  for (auto& list : results) {
    out.emplace_back(std::move(list));
  }
  return out;
}

Value scalar_value(Builder& build, std::int64_t number, ElementType type) {
  Array array = graph::make_array(type, {});
  graph::set_integer(array, 0, number);
  return build.constant(std::move(array));
}

}  // namespace

Values convert_sequence(Call& call) {
  const std::string& op = call.op();
  if (op == "SequenceEmpty") {
    return {Value(std::vector<TensorId>())};
  }
  if (op == "SequenceConstruct") {
    return {Value(call.inputs())};
  }
  if (op == "SplitToSequence") {
    return {Value(pieces(call))};
  }
  if (op == "ConcatFromSequence") {
    return {joined(call)};
  }
  if (op == "SequenceMap") {
    return mapped(call);
  }
  std::vector<TensorId> items = call.sequence(0);
  const auto size = static_cast<std::int64_t>(items.size());
  if (op == "SequenceLength") {
    return {scalar_value(call.build, size, ElementType::i64)};
  }
  if (op == "SequenceAt") {
    return {items[static_cast<std::size_t>(position(call, 1, size, 0, false))]};
  }
  if (op == "SequenceInsert") {
    items.insert(items.begin() + position(call, 2, size, size, true), call.input(1));
  } else {  // SequenceErase
    if (items.empty()) {
      call.fail("erasing from an empty sequence");
    }
    items.erase(items.begin() + position(call, 1, size, size - 1, false));
  }
  return {Value(std::move(items))};
}

Values convert_optional(Call& call) {
  if (call.op() == "OptionalHasElement") {
    return {scalar_value(call.build, call.has(0) ? 1 : 0, ElementType::boolean)};
  }
  const Value value = call.has(0) ? call.operands[0] : Value{};
  if (call.op() == "OptionalGetElement" && value.empty()) {
    call.fail("the optional is empty");
  }
  return {value};
}

}  // namespace systole::frontend
