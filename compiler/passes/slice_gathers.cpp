// A gather by constant indices start, start + step, start + 2 step, ... along one axis is a slice:
// the machine then moves rows by address arithmetic and layouts pass through. Indices of rank other
// than 1 only reshape the result.
#include "compiler/passes/passes.hpp"
#include "compiler/passes/rewrite.hpp"

namespace systole::passes {
namespace {

using graph::Graph;
using graph::Node;
using graph::Shape;
using graph::Tensor;
using graph::TensorId;

struct Progression {
  std::int64_t start = 0, step = 1, count = 0;
};

// Nothing if the indices are not evenly spaced, repeat, or leave the axis (evaluation reports
// those).
std::optional<Progression> progression_of(const graph::Array& indices, std::int64_t extent) {
  Progression p;
  p.count = graph::elements(indices.shape);
  std::int64_t previous = 0;
  for (std::int64_t i = 0; i < p.count; ++i) {
    std::int64_t index = graph::get_integer(indices, i);
    index += index < 0 ? extent : 0;
    if (index < 0 || index >= extent) {
      return std::nullopt;
    }
    if (i == 0) {
      p.start = index;
    } else if (i == 1) {
      p.step = index - previous;
    }
    if (p.step == 0 || (i > 0 && index - previous != p.step)) {
      return std::nullopt;
    }
    previous = index;
  }
  return p.count > 0 ? std::optional(p) : std::nullopt;
}

}  // namespace

std::int64_t slice_gathers(Graph& graph, const Options&) {
  return rewrite(graph, [](Rewriter& rewriter, Node& node, const Tensor& output) {
    const auto* gather = std::get_if<graph::Gather>(&node.op);
    if (gather == nullptr) {
      return keep();
    }
    const Tensor indices = rewriter.tensor(node.inputs[1]);
    Shape shape = rewriter.tensor(node.inputs[0]).shape;
    const auto axis = static_cast<std::size_t>(gather->axis);
    if (indices.data == nullptr) {
      return keep();
    }
    const std::optional<Progression> p = progression_of(*indices.data, shape[axis]);
    if (!p.has_value()) {
      return keep();
    }
    std::vector<std::int64_t> starts(shape.size(), 0);
    std::vector<std::int64_t> steps(shape.size(), 1);
    starts[axis] = p->start;
    steps[axis] = p->step;
    shape[axis] = p->count;
    const TensorId sliced =
        graph::add_slice(rewriter.graph, node.origin, node.inputs[0], starts, steps, shape);
    return replaced(shape == output.shape
                        ? sliced
                        : graph::add_reshape(rewriter.graph, node.origin, sliced, output.shape));
  });
}

}  // namespace systole::passes
