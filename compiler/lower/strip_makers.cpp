#include "compiler/lower/strip_makers.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "compiler/lower/storage.hpp"
#include "compiler/lower/strip_axes.hpp"

namespace systole::lower {
namespace {

using graph::NodeId;
using graph::TensorId;

// The last product before an operand of the region and what follows it, with the iterator in all that they touch.
struct Chain {
  std::vector<NodeId> nodes;  // the product last
  std::map<TensorId, StripAxis> axes;
  TensorId matrix;
  bool complete = false;
};

class Tracer {
 public:
  Tracer(const layout::LaidGraph& laid, const Uses& uses,
         const IdVector<NodeId, std::uint8_t>& taken, const StripRegion& region)
      : laid_(laid), uses_(uses), taken_(taken), region_(region) {}

  [[nodiscard]] Chain trace(TensorId input) const {
    Chain chain;
    chain.axes[input] = region_.along(input);
    TensorId value = input;
    while (!chain.complete && is_only_read_here(chain, value)) {
      const NodeId maker = laid_.graph.tensors[value].producer;
      const std::optional<TensorId> next = step(chain, maker, value);
      if (!next) {
        break;
      }
      chain.nodes.push_back(maker);
      value = *next;
    }
    return chain;
  }

 private:
  [[nodiscard]] const graph::Shape& shape(TensorId tensor) const {
    return laid_.graph.tensors[tensor].shape;
  }
  [[nodiscard]] bool in_hbm(TensorId tensor) const {
    return laid_.graph.tensors[tensor].kind != graph::TensorKind::intermediate;
  }

  [[nodiscard]] bool is_only_read_here(const Chain& chain, TensorId value) const {
    return !in_hbm(value) && taken_[laid_.graph.tensors[value].producer] == 0 &&
           std::ranges::find(laid_.graph.outputs, value) == laid_.graph.outputs.end() &&
           std::ranges::all_of(uses_[value], [&](const graph::Use& use) {
             return std::ranges::find(chain.nodes, use.node) != chain.nodes.end() ||
                    std::ranges::find(region_.nodes, use.node) != region_.nodes.end();
           });
  }

  // The operand to go on with, after the maker of this value; nothing if it cannot join.
  [[nodiscard]] std::optional<TensorId> step(Chain& chain, NodeId maker, TensorId value) const {
    const graph::Node& n = laid_.graph.nodes[maker];
    const StripAxis along = chain.axes.at(value);
    const bool alias = laid_.mechanisms[maker] == layout::Mechanism::alias;
    if (alias && std::holds_alternative<graph::Reshape>(n.op)) {
      const Stretched before = before_reshape(shape(n.inputs[0]), shape(value), along.axis);
      if (before.axis < 0) {
        return std::nullopt;
      }
      return add(chain, n.inputs[0], {before.axis, along.factor * before.factor})
                 ? n.inputs[0]
                 : std::optional<TensorId>();
    }
    const bool product = std::holds_alternative<graph::Contraction>(n.op);
    if (!product && !std::holds_alternative<graph::Map>(n.op) &&
        !(alias && std::holds_alternative<graph::Transpose>(n.op))) {
      return std::nullopt;
    }
    const auto axes = axes_along(laid_.graph, maker, value, along.axis);
    if (!axes) {
      return std::nullopt;
    }
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      if (!add(chain, n.inputs[i], {(*axes)[i], (*axes)[i] < 0 ? 1 : along.factor})) {
        return std::nullopt;
      }
    }
    if (product) {
      return close(chain, n, *axes);
    }
    return (*axes)[0] >= 0 ? n.inputs[0] : std::optional<TensorId>();
  }

  // An axis that is not one of an earlier operand's.
  [[nodiscard]] bool add(Chain& chain, TensorId tensor, const StripAxis& axis) const {
    const auto known = region_.axes.find(tensor);
    return (known == region_.axes.end() || region_.along(tensor) == axis) &&
           chain.axes.try_emplace(tensor, axis).first->second == axis;
  }

  // The iterator has to be inside the partitions of the matrix: all strips read what is loaded once.
  [[nodiscard]] std::optional<TensorId> close(Chain& chain, const graph::Node& n,
                                              const std::vector<int>& axes) const {
    const std::size_t matrix = axes[0] >= 0 ? 0 : 1;
    const std::size_t other = 1 - matrix;
    const layout::Layout& layout = laid_.layouts[n.inputs[matrix]];
    const auto place = std::ranges::find(layout.order, axes[matrix]) - layout.order.begin();
    if (axes[matrix] < 0 || axes[other] >= 0 || !in_hbm(n.inputs[matrix]) || place < layout.split) {
      return std::nullopt;
    }
    chain.matrix = n.inputs[matrix];
    chain.complete = true;
    return n.inputs[other];
  }

  const layout::LaidGraph& laid_;
  const Uses& uses_;
  const IdVector<NodeId, std::uint8_t>& taken_;
  const StripRegion& region_;
};

void join(StripRegion& region, const Chain& chain, const layout::LaidGraph& laid) {
  for (const NodeId node : chain.nodes) {
    region.nodes.push_back(node);
    region.stages[node] = 0;
  }
  std::ranges::sort(region.nodes);
  for (const auto& [tensor, along] : chain.axes) {
    region.axes[tensor] = along.axis;
    if (along.factor > 1) {
      region.factors[tensor] = along.factor;
    }
    region.inputs.push_back(tensor);
  }
  std::ranges::sort(region.inputs);
  region.inputs.erase(std::ranges::unique(region.inputs).begin(), region.inputs.end());
  std::erase_if(region.inputs, [&](TensorId tensor) {
    const graph::Tensor& t = laid.graph.tensors[tensor];
    return t.kind == graph::TensorKind::intermediate && region.stages.contains(t.producer);
  });
  region.held.push_back(chain.matrix);
}

// Inputs with the iterator that the first stage reads.
std::vector<TensorId> early_inputs(const StripRegion& region, const Uses& uses) {
  std::vector<TensorId> out;
  std::ranges::copy_if(region.inputs, std::back_inserter(out), [&](TensorId input) {
    return region.axes.at(input) >= 0 &&
           std::ranges::any_of(uses[input], [&region](const graph::Use& use) {
             const auto stage = region.stages.find(use.node);
             return stage != region.stages.end() && stage->second == 0;
           });
  });
  return out;
}

}  // namespace

void add_makers(const layout::LaidGraph& laid, const isa::Machine& machine, const Uses& uses,
                const IdVector<NodeId, std::uint8_t>& taken, StripRegion& region) {
  const std::int64_t room = resident_room(machine, default_resident_share) / 3;
  std::int64_t kept = 0;
  std::vector<Chain> chains;
  if (!region.loaded.empty()) {
    return;
  }
  for (const TensorId input : early_inputs(region, uses)) {
    Chain chain = Tracer(laid, uses, taken, region).trace(input);
    const std::int64_t bytes = chain.complete ? resident_bytes(laid, chain.matrix, machine) : room;
    if (chain.complete && kept + bytes <= room) {
      kept += bytes;
      chains.push_back(std::move(chain));
    }
  }
  if (chains.empty()) {
    return;
  }
  for (auto& [node, stage] : region.stages) {
    ++stage;
  }
  for (const Chain& chain : chains) {
    join(region, chain, laid);
  }
}

std::vector<NodeId> late_makers(const layout::LaidGraph& laid, const StripRegion& region,
                                const Uses& uses, const std::set<NodeId>& taken) {
  constexpr int first_late_stage = 2;
  std::vector<NodeId> best;
  for (const TensorId input : region.inputs) {
    const auto in = [&](const std::vector<TensorId>& list) {
      return std::ranges::find(list, input) != list.end();
    };
    const bool early = in(region.pinned) || in(region.held) || in(region.loaded);
    const bool late = !early && std::ranges::all_of(uses[input], [&](const graph::Use& use) {
      const auto stage = region.stages.find(use.node);
      return stage != region.stages.end() && stage->second >= first_late_stage;
    });
    std::vector<NodeId> chain;
    TensorId value = input;
    while (late && laid.graph.tensors[value].kind == graph::TensorKind::intermediate &&
           (value == input || uses[value].size() == 1)) {
      const NodeId maker = laid.graph.tensors[value].producer;
      const graph::Node& n = laid.graph.nodes[maker];
      if (taken.contains(maker)) {
        break;
      }
      chain.push_back(maker);
      if (std::holds_alternative<graph::Contraction>(n.op)) {
        std::ranges::reverse(chain);
        best = chain;
        break;
      }
      const bool follows = std::holds_alternative<graph::Map>(n.op) ||
                           laid.mechanisms[maker] == layout::Mechanism::alias;
      if (!follows) {
        break;
      }
      value = n.inputs[0];
    }
  }
  return best;
}

}  // namespace systole::lower
