// Adds core operators to a graph and evaluates at once whatever depends on constants alone.
//
// Shape arithmetic, axis lists and pre-processed weights thus never become nodes. An operator whose operands are
// constants of which one has no data (weights absent) becomes a constant without data. Relabellings that change nothing
// (identity transposes, reshapes to the same shape, casts to the same type) return their operand.
// Errors: operands that do not fit, tensors or constants above the limits; all name the origin set last.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/frontend/onnx.hpp"
#include "compiler/graph/graph.hpp"

namespace systole::frontend {

using graph::Array;
using graph::ElementType;
using graph::MapFunction;
using graph::ReduceFunction;
using graph::Shape;
using graph::TensorId;
using Integers = std::vector<std::int64_t>;

class Builder {
 public:
  explicit Builder(const Options& options);

  [[nodiscard]] graph::Graph& graph() { return graph_; }
  [[nodiscard]] const Options& options() const { return options_; }
  void set_origin(std::string origin) { origin_ = std::move(origin); }
  [[nodiscard]] const std::string& origin() const { return origin_; }

  // By value: a reference would dangle as soon as another tensor is added.
  [[nodiscard]] Shape shape(TensorId id) const { return graph_.tensors[id].shape; }
  [[nodiscard]] int rank(TensorId id) const { return static_cast<int>(shape(id).size()); }
  [[nodiscard]] std::int64_t extent(TensorId id, int axis) const;
  [[nodiscard]] std::int64_t count(TensorId id) const { return graph::elements(shape(id)); }
  [[nodiscard]] ElementType type(TensorId id) const { return graph_.tensors[id].type; }
  [[nodiscard]] bool is_constant(TensorId id) const;
  [[nodiscard]] const Array* value(TensorId id) const;  // null unless a constant with data

  TensorId input(const std::string& name, ElementType type, const Shape& shape);
  TensorId weight(const std::string& name, ElementType type,
                  const Shape& shape);  // data by the weights policy
  TensorId constant(const std::string& name, Array value);
  TensorId constant(Array value);
  TensorId scalar(double value, ElementType type);
  TensorId integers(const Integers& values);  // i64 vector
  TensorId reals(const std::vector<double>& values, ElementType type, Shape shape);
  TensorId iota(std::int64_t count, ElementType type);  // 0, 1, ...
  TensorId filled(const Shape& shape, double value,
                  ElementType type);  // constant, whatever its size

  TensorId map(MapFunction function, std::vector<TensorId> inputs, double alpha = 0,
               double beta = 0);
  TensorId add(TensorId a, TensorId b) { return map(MapFunction::add, {a, b}); }
  TensorId subtract(TensorId a, TensorId b) { return map(MapFunction::subtract, {a, b}); }
  TensorId multiply(TensorId a, TensorId b) { return map(MapFunction::multiply, {a, b}); }
  TensorId divide(TensorId a, TensorId b) { return map(MapFunction::divide, {a, b}); }
  TensorId add(TensorId a, double b) { return b == 0 ? a : add(a, scalar(b, type(a))); }
  TensorId multiply(TensorId a, double b) { return b == 1 ? a : multiply(a, scalar(b, type(a))); }
  TensorId select(TensorId condition, TensorId a, TensorId b) {
    return map(MapFunction::select, {condition, a, b});
  }
  TensorId cast(TensorId x, ElementType type);

  TensorId reduce(ReduceFunction function, TensorId x, std::vector<int> axes, bool keep);
  TensorId arg_reduce(TensorId x, const graph::ArgReduce& op);  // i64
  TensorId contract(TensorId lhs, TensorId rhs, graph::Contraction op);
  TensorId convolve(TensorId x, TensorId w, const graph::Convolution& op);
  TensorId window(TensorId x, const graph::Window& op);

  TensorId reshape(TensorId x, const Shape& shape);
  TensorId transpose(TensorId x, const std::vector<int>& perm);
  TensorId expand(TensorId x, const Shape& shape);
  TensorId slice(TensorId x, const Integers& starts, const Integers& steps, const Shape& shape);
  TensorId slice_axis(TensorId x, int axis, std::int64_t start, std::int64_t extent,
                      std::int64_t step = 1);
  TensorId concat(const std::vector<TensorId>& parts, int axis);
  TensorId pad(TensorId x, const graph::Pad& op);
  TensorId gather(TensorId data, TensorId indices, int axis);
  TensorId gather_elements(TensorId data, TensorId indices, int axis);
  TensorId scatter_nd(TensorId data, TensorId indices, TensorId updates, graph::ScatterMode mode);
  TensorId insert_axis(TensorId x, int axis);  // extent 1
  TensorId drop_axis(TensorId x, int axis);    // extent 1

  [[noreturn]] void fail(const std::string& what, const std::string& remedy = {}) const;
  // Throws unless every extent and their product stay below the limit.
  void check_size(const Shape& shape) const;

 private:
  TensorId place(graph::Op op, std::vector<TensorId> inputs, const graph::TensorType& requested);
  TensorId fold(const graph::Op& op, const std::vector<TensorId>& inputs,
                const graph::TensorType& requested);
  TensorId node(graph::Op op, std::vector<TensorId> inputs);
  void account(std::int64_t bytes);

  Options options_;
  graph::Graph graph_;
  std::string origin_;
  std::int64_t constant_bytes_ = 0;
  std::int64_t work_left_;
};

}  // namespace systole::frontend
