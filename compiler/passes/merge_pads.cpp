// A pad of spatial axes in front of a convolution or pooling becomes part of its own padding: zeros
// for convolutions and sums, minus infinity for maxima.
#include <algorithm>
#include <limits>

#include "compiler/passes/passes.hpp"
#include "compiler/passes/rewrite.hpp"

namespace systole::passes {
namespace {

using graph::Graph;
using graph::Node;
using graph::Pad;
using graph::Tensor;

bool is_outer_padding(const Pad& pad) {
  const auto is_zero = [](std::int64_t n) { return n == 0; };
  const auto is_natural = [](std::int64_t n) { return n >= 0 && n < (std::int64_t{1} << 28); };
  return std::all_of(pad.interior.begin(), pad.interior.end(), is_zero) &&
         std::all_of(pad.low.begin(), pad.low.end(), is_natural) &&
         std::all_of(pad.high.begin(), pad.high.end(), is_natural) && pad.low[0] == 0 &&
         pad.low[1] == 0 && pad.high[0] == 0 && pad.high[1] == 0;
}

template <class O>
bool merge(Rewriter& rewriter, Node& node, double neutral) {
  auto& op = std::get<O>(node.op);
  const Node* before = rewriter.made_by<Pad>(node.inputs.front());
  if (before == nullptr) {
    return false;
  }
  const Pad& pad = std::get<Pad>(before->op);
  if (pad.value != neutral || !is_outer_padding(pad)) {
    return false;
  }
  for (std::size_t i = 0; i < op.pads_low.size(); ++i) {
    op.pads_low[i] += pad.low[i + 2];
    op.pads_high[i] += pad.high[i + 2];
  }
  node.origin = join_origins(before->origin, node.origin);
  node.inputs.front() = before->inputs.front();
  return true;
}

}  // namespace

std::int64_t merge_pads(Graph& graph, const Options&) {
  return rewrite(graph, [](Rewriter& rewriter, Node& node, const Tensor& output) {
    bool merged = false;
    if (std::holds_alternative<graph::Convolution>(node.op)) {
      merged = merge<graph::Convolution>(rewriter, node, 0.0);
    } else if (const auto* window = std::get_if<graph::Window>(&node.op)) {
      const bool sum = window->function == graph::ReduceFunction::sum;
      if (sum || graph::is_float(output.type)) {
        merged = merge<graph::Window>(rewriter, node,
                                      sum ? 0.0 : -std::numeric_limits<double>::infinity());
      }
    }
    return merged ? changed() : keep();
  });
}

}  // namespace systole::passes
