#include "compiler/lower/strip.hpp"

#include <algorithm>
#include <queue>
#include <set>

#include "compiler/layout/configurations.hpp"
#include "compiler/lower/builder.hpp"
#include "compiler/lower/storage.hpp"
#include "compiler/lower/strip_makers.hpp"
#include "compiler/lower/strip_region.hpp"

namespace systole::lower {
namespace {

using graph::NodeId;
using graph::TensorId;

constexpr char strip_mark = '#';
constexpr char row_mark = '=';  // behind it, of strips of rows

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

// Regions and the nodes outside them, each region as one step of the order.
class Order {
 public:
  Order(const layout::LaidGraph& laid, const std::vector<StripRegion>& regions)
      : laid_(laid), regions_(regions), unit_(laid.graph.nodes.size()) {
    for (const NodeId node : laid.graph.nodes.ids()) {
      unit_[node] = node.index();
    }
    for (const StripRegion& region : regions) {
      for (const NodeId node : region.nodes) {
        unit_[node] = region.nodes.back().index();
      }
    }
  }

  // Units by the index of their last node; empty if they depend on each other in a circle.
  [[nodiscard]] std::vector<std::size_t> run() const {
    std::vector<std::set<std::size_t>> after(laid_.graph.nodes.size());
    std::vector<int> needs(laid_.graph.nodes.size(), 0);
    for (const NodeId node : laid_.graph.nodes.ids()) {
      for (const TensorId input : laid_.graph.nodes[node].inputs) {
        const NodeId maker = laid_.graph.tensors[input].producer;
        if (maker.valid() && unit_[maker] != unit_[node] &&
            after[unit_[maker]].insert(unit_[node]).second) {
          ++needs[unit_[node]];
        }
      }
    }
    std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
    std::size_t units = 0;
    for (const NodeId node : laid_.graph.nodes.ids()) {
      if (unit_[node] == node.index()) {
        ++units;
        if (needs[node.index()] == 0) {
          ready.push(node.index());
        }
      }
    }
    std::vector<std::size_t> order;
    while (!ready.empty()) {
      const std::size_t unit = ready.top();
      ready.pop();
      order.push_back(unit);
      for (const std::size_t next : after[unit]) {
        if (--needs[next] == 0) {
          ready.push(next);
        }
      }
    }
    return order.size() == units ? order : std::vector<std::size_t>();
  }

 private:
  const layout::LaidGraph& laid_;
  const std::vector<StripRegion>& regions_;
  IdVector<NodeId, std::size_t> unit_;
};

class Writer {
 public:
  explicit Writer(const layout::LaidGraph& laid) : laid_(laid), whole_(laid.graph.tensors.size()) {
    out_.graph.name = laid.graph.name;
    out_.graph.output_names = laid.graph.output_names;
    for (const TensorId tensor : laid.graph.tensors.ids()) {
      if (laid.graph.tensors[tensor].kind != graph::TensorKind::intermediate) {
        whole_[tensor] =
            add_tensor(laid.graph.tensors[tensor], laid.layouts[tensor], laid.storage[tensor]);
      }
    }
    for (const TensorId input : laid.graph.inputs) {
      out_.graph.inputs.push_back(whole_[input]);
    }
  }

  // Replaces an input by a load of it, for all nodes that follow.
  void load_whole(TensorId tensor) { whole_[tensor] = load(whole_[tensor]); }

  void node(NodeId id) {
    const graph::Node& n = laid_.graph.nodes[id];
    std::vector<TensorId> inputs;
    for (const TensorId input : n.inputs) {
      inputs.push_back(whole_[input]);
    }
    graph::Tensor output = laid_.graph.tensors[n.output];
    whole_[n.output] =
        add_node({n.name, n.origin, n.op, inputs, {}}, std::move(output), laid_.layouts[n.output],
                 laid_.storage[n.output], laid_.mechanisms[id], laid_.predicted[id]);
  }

  // late: nodes outside that make what only later stages read; they come when the first strips' vector work runs.
  void region(const StripRegion& region, const std::vector<NodeId>& late) {
    const std::map<TensorId, TensorId> pins = pin(region);
    const std::int64_t strips = (region.extent + region.strip - 1) / region.strip;
    int stages = 0;
    for (const auto& [node, stage] : region.stages) {
      stages = std::max(stages, stage + 1);
    }
    std::vector<std::map<TensorId, TensorId>> parts(static_cast<std::size_t>(strips));
    for (std::int64_t turn = 0; turn < strips + stages - 1; ++turn) {
      if (turn == 2) {
        std::ranges::for_each(late, [this](NodeId id) { node(id); });
      }
      for (int stage = stages; stage-- > 0;) {
        const std::int64_t strip = turn - stage;
        if (strip >= 0 && strip < strips && stage == 0) {
          for (const TensorId input : region.loaded) {
            parts[static_cast<std::size_t>(strip)][input] =
                load(window(region, input, whole_[input], strip));
          }
        }
        if (strip >= 0 && strip < strips) {
          for (const NodeId id : region.nodes) {
            if (region.stages.at(id) == stage) {
              strip_of(region, id, strip, pins, parts[static_cast<std::size_t>(strip)]);
            }
          }
        }
      }
    }
    for (const TensorId output : region.outputs) {
      join(region, output, parts);
    }
  }

  layout::LaidGraph take() {
    for (const TensorId output : laid_.graph.outputs) {
      out_.graph.outputs.push_back(whole_[output]);
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::string unique(std::map<std::string, std::int64_t>& taken,
                                   const std::string& name) {
    std::string candidate = name;
    while (!taken.try_emplace(candidate, 1).second) {
      candidate = name + "." + std::to_string(taken[name]++);
    }
    return candidate;
  }

  TensorId add_tensor(graph::Tensor tensor, const layout::Layout& layout, isa::DType storage) {
    tensor.name = unique(out_.graph.tensor_names, tensor.name);
    out_.layouts.add(layout::canonical(layout, tensor.shape));
    out_.storage.add(storage);
    return out_.graph.tensors.add(std::move(tensor));
  }

  TensorId add_node(graph::Node node, graph::Tensor output, const layout::Layout& layout,
                    isa::DType storage, layout::Mechanism mechanism,
                    const layout::Price& predicted) {
    output.producer = NodeId(out_.graph.nodes.size());
    node.name = unique(out_.graph.node_names, node.name);
    node.output = add_tensor(std::move(output), layout, storage);
    const TensorId id = node.output;
    out_.graph.nodes.add(std::move(node));
    out_.mechanisms.add(mechanism);
    out_.predicted.add(predicted);
    return id;
  }

  [[nodiscard]] TensorId load(TensorId tensor,
                              layout::Mechanism mechanism = layout::Mechanism::dma) {
    graph::Tensor copy = out_.graph.tensors[tensor];
    copy.kind = graph::TensorKind::intermediate;
    copy.data = nullptr;
    const std::string name = copy.name;
    const std::size_t mark = name.rfind(strip_mark);
    copy.name = mark == std::string::npos ? name + " load"
                                          : name.substr(0, mark) + " load" + name.substr(mark);
    const layout::Layout layout = out_.layouts[tensor];
    const isa::DType storage = out_.storage[tensor];
    return add_node({copy.name, name, graph::Convert{}, {tensor}, {}}, std::move(copy), layout,
                    storage, mechanism, {});
  }

  // Operands from HBM that all strips read, loaded once.
  [[nodiscard]] std::map<TensorId, TensorId> pin(const StripRegion& region) {
    std::map<TensorId, TensorId> pins;
    for (const TensorId tensor : region.pinned) {
      pins[tensor] = load(whole_[tensor]);
    }
    for (const TensorId tensor : region.held) {
      pins[tensor] = load(whole_[tensor], layout::Mechanism::alias);
    }
    return pins;
  }

  [[nodiscard]] static Span span_of(const StripRegion& region, std::int64_t strip) {
    const std::int64_t begin = strip * region.strip;
    return {begin, std::min(region.strip, region.extent - begin)};
  }

  [[nodiscard]] graph::Tensor part_of(const StripRegion& region, TensorId tensor,
                                      std::int64_t strip) const {
    graph::Tensor part = laid_.graph.tensors[tensor];
    part.kind = graph::TensorKind::intermediate;
    part.data = nullptr;
    part.name += strip_mark + std::to_string(strip);
    const StripAxis along = region.along(tensor);
    part.shape[at(along.axis)] = span_of(region, strip).extent * along.factor;
    return part;
  }

  // The strip of a tensor that is made outside, of which `base` is a name.
  [[nodiscard]] TensorId window(const StripRegion& region, TensorId tensor, TensorId base,
                                std::int64_t strip) {
    graph::Tensor part = part_of(region, tensor, strip);
    graph::Slice slice{std::vector<std::int64_t>(part.shape.size(), 0),
                       std::vector<std::int64_t>(part.shape.size(), 1)};
    const StripAxis along = region.along(tensor);
    slice.starts[at(along.axis)] = span_of(region, strip).begin * along.factor;
    const std::string name = part.name;
    return add_node({name, name, slice, {base}, {}}, std::move(part), laid_.layouts[tensor],
                    laid_.storage[tensor], layout::Mechanism::alias, {});
  }

  // pins: what stands for inputs that all strips share. parts: what stands for this strip of each tensor, once it is known.
  void strip_of(const StripRegion& region, NodeId id, std::int64_t strip,
                const std::map<TensorId, TensorId>& pins, std::map<TensorId, TensorId>& parts) {
    const graph::Node& n = laid_.graph.nodes[id];
    std::vector<TensorId> inputs;
    for (const TensorId input : n.inputs) {
      if (!parts.contains(input)) {
        const auto pin = pins.find(input);
        const TensorId base = pin == pins.end() ? whole_[input] : pin->second;
        parts[input] = region.axes.at(input) < 0 ? base : window(region, input, base, strip);
      }
      inputs.push_back(parts.at(input));
    }
    parts[n.output] =
        add_node({n.name + strip_mark + (region.rows ? std::string(1, row_mark) : std::string()) +
                      std::to_string(strip),
                  n.origin,
                  n.op,
                  inputs,
                  {}},
                 part_of(region, n.output, strip), laid_.layouts[n.output], laid_.storage[n.output],
                 laid_.mechanisms[id], strip == 0 ? laid_.predicted[id] : layout::Price{});
  }

  void join(const StripRegion& region, TensorId output,
            const std::vector<std::map<TensorId, TensorId>>& parts) {
    std::vector<TensorId> pieces;
    for (const std::map<TensorId, TensorId>& strip : parts) {
      pieces.push_back(strip.at(output));
    }
    const std::string name = laid_.graph.tensors[output].name;
    whole_[output] = add_node({name, name, graph::Concat{region.axes.at(output)}, pieces, {}},
                              laid_.graph.tensors[output], laid_.layouts[output],
                              laid_.storage[output], layout::Mechanism::alias, {});
  }

  const layout::LaidGraph& laid_;
  layout::LaidGraph out_;
  IdVector<TensorId, TensorId> whole_;  // in the new graph
};

// Inputs of the graph that several kernels outside of regions read, by the unit that reads them first.
std::map<std::size_t, std::vector<TensorId>> shared_inputs(const layout::LaidGraph& laid,
                                                           const Residency& plan,
                                                           const std::vector<StripRegion>& regions,
                                                           const isa::Machine& machine, int share) {
  IdVector<TensorId, std::set<NodeId>> readers(laid.graph.tensors.size());
  for (const NodeId node : laid.graph.nodes.ids()) {
    for (const TensorId input : laid.graph.nodes[node].inputs) {
      readers[input].insert(plan.fusion.host[node]);
    }
  }
  std::set<TensorId> in_regions;
  for (const StripRegion& region : regions) {
    in_regions.insert(region.inputs.begin(), region.inputs.end());
  }
  std::map<std::size_t, std::vector<TensorId>> out;
  for (const TensorId input : laid.graph.inputs) {
    const bool small = resident_bytes(laid, input, machine) <= resident_room(machine, share) / 4;
    const bool aliased = std::ranges::any_of(readers[input], [&laid](NodeId node) {
      return laid.mechanisms[node] == layout::Mechanism::alias ||
             std::holds_alternative<graph::Gather>(laid.graph.nodes[node].op) ||
             std::holds_alternative<graph::ScatterND>(laid.graph.nodes[node].op);
    });
    if (readers[input].size() > 1 && small && !aliased && !in_regions.contains(input) &&
        graph::elements(laid.graph.tensors[input].shape) > 1) {
      out[readers[input].begin()->index()].push_back(input);
    }
  }
  return out;
}

}  // namespace

bool is_load(const layout::LaidGraph& laid, graph::NodeId node) {
  const graph::Node& n = laid.graph.nodes[node];
  return std::holds_alternative<graph::Convert>(n.op) &&
         laid.mechanisms[node] == layout::Mechanism::dma &&
         laid.layouts[n.inputs[0]] == laid.layouts[n.output] &&
         laid.storage[n.inputs[0]] == laid.storage[n.output];
}

bool is_row_strip(const graph::Node& node) {
  const std::size_t mark = node.name.rfind(strip_mark);
  return mark != std::string::npos && mark + 1 < node.name.size() &&
         node.name[mark + 1] == row_mark;
}

bool is_later_strip(const graph::Node& node) {
  const std::size_t mark = node.name.rfind(strip_mark);
  return mark != std::string::npos && name_without_strip(node.name).size() == mark &&
         node.name.compare(mark + 1, std::string::npos, "0") != 0 && !is_row_strip(node);
}

bool is_held(const layout::LaidGraph& laid, graph::TensorId tensor) {
  if (laid.graph.tensors[tensor].kind != graph::TensorKind::intermediate) {
    return false;
  }
  const graph::NodeId node = laid.graph.tensors[tensor].producer;
  const graph::Node& n = laid.graph.nodes[node];
  if (laid.mechanisms[node] != layout::Mechanism::alias) {
    return false;
  }
  if (std::holds_alternative<graph::Slice>(n.op)) {
    return is_held(laid, n.inputs[0]);
  }
  return std::holds_alternative<graph::Convert>(n.op) &&
         laid.graph.tensors[n.inputs[0]].kind != graph::TensorKind::intermediate;
}

namespace {

// A reduction over the partitions of a converted value reads the value before its conversion, where it can run along
// with what makes it.
layout::LaidGraph with_early_reductions(layout::LaidGraph laid, const isa::Machine& machine) {
  const auto uses = graph::uses(laid.graph);
  for (const NodeId node : laid.graph.nodes.ids()) {
    graph::Node& n = laid.graph.nodes[node];
    if (laid.mechanisms[node] != layout::Mechanism::ones_matmul ||
        laid.graph.tensors[n.inputs[0]].kind != graph::TensorKind::intermediate ||
        uses[n.inputs[0]].size() < 2) {
      continue;
    }
    const graph::Node& maker = laid.graph.nodes[laid.graph.tensors[n.inputs[0]].producer];
    if (std::holds_alternative<graph::Convert>(maker.op) &&
        layout::accepts(
            laid.graph, node,
            {{laid.layouts[maker.inputs[0]]}, laid.layouts[n.output], layout::Mechanism::standard},
            machine)) {
      n.inputs[0] = maker.inputs[0];
      laid.mechanisms[node] = layout::Mechanism::standard;
    }
  }
  return laid;
}

// An input that only the array transposes is read with as many axes over the partitions as the transposes allow: in HBM
// that is a name, and loads into few partitions use few DMA engines.
layout::LaidGraph with_wide_inputs(layout::LaidGraph laid) {
  const auto uses = graph::uses(laid.graph);
  for (const TensorId input : laid.graph.inputs) {
    const graph::Shape& shape = laid.graph.tensors[input].shape;
    layout::Layout& layout = laid.layouts[input];
    const auto may_lead = [&](int axis) {
      return std::ranges::all_of(uses[input], [&](const graph::Use& use) {
        const layout::Layout& to = laid.layouts[laid.graph.nodes[use.node].output];
        return shape[at(axis)] == 1 ||
               std::ranges::find(to.order.begin(), to.order.begin() + to.split, axis) ==
                   to.order.begin() + to.split;
      });
    };
    const bool turned = std::ranges::all_of(uses[input], [&](const graph::Use& use) {
      return laid.mechanisms[use.node] == layout::Mechanism::array_transpose;
    });
    if (turned && layout.padding == 0 &&
        std::ranges::find(laid.graph.outputs, input) == laid.graph.outputs.end()) {
      while (layout.split + 1 < static_cast<int>(layout.order.size()) &&
             may_lead(layout.order[at(layout.split)])) {
        ++layout.split;
      }
    }
  }
  return laid;
}

}  // namespace

layout::LaidGraph strip_mine(const layout::LaidGraph& given, const isa::Machine& machine, int share,
                             StripWays ways) {
  const layout::LaidGraph laid = with_wide_inputs(with_early_reductions(given, machine));
  const Residency plan = plan_residency(laid, machine, share);
  std::vector<StripRegion> regions = find_strip_regions(laid, plan, machine, share, ways);
  std::vector<std::size_t> order;
  while (!regions.empty() && (order = Order(laid, regions).run()).empty()) {
    regions.pop_back();
  }
  const auto shared = shared_inputs(laid, plan, regions, machine, share);
  if (regions.empty() && shared.empty()) {
    return laid;
  }
  if (regions.empty()) {
    order = Order(laid, regions).run();
  }
  std::map<std::size_t, const StripRegion*> by_unit;
  for (const StripRegion& region : regions) {
    by_unit[region.nodes.back().index()] = &region;
  }
  std::set<NodeId> taken;
  for (const StripRegion& region : regions) {
    taken.insert(region.nodes.begin(), region.nodes.end());
  }
  const auto uses = graph::uses(laid.graph);
  std::map<std::size_t, std::vector<NodeId>> late;
  for (const auto& [unit, region] : by_unit) {
    late[unit] = late_makers(laid, *region, uses, taken);
    taken.insert(late[unit].begin(), late[unit].end());
  }
  std::set<std::size_t> delayed;
  for (const auto& [unit, nodes] : late) {
    for (const NodeId node : nodes) {
      delayed.insert(node.index());
    }
  }
  Writer writer(laid);
  for (const std::size_t unit : order) {
    if (const auto inputs = shared.find(unit); inputs != shared.end()) {
      for (const TensorId input : inputs->second) {
        writer.load_whole(input);
      }
    }
    const auto region = by_unit.find(unit);
    if (region != by_unit.end()) {
      writer.region(*region->second, late.at(unit));
    } else if (!delayed.contains(unit)) {
      writer.node(NodeId(unit));
    }
  }
  return writer.take();
}

std::string name_without_strip(const std::string& name) {
  const std::size_t mark = name.rfind(strip_mark);
  const std::size_t number = mark == std::string::npos || mark + 1 >= name.size() ? name.size()
                             : name[mark + 1] == row_mark                         ? mark + 2
                                                                                  : mark + 1;
  const bool strip =
      number < name.size() && name.find_first_not_of("0123456789", number) == std::string::npos;
  return strip ? name.substr(0, mark) : name;
}

}  // namespace systole::lower
