#include "compiler/lower/strip_region.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "compiler/lower/storage.hpp"
#include "compiler/lower/strip_axes.hpp"
#include "compiler/lower/strip_makers.hpp"

namespace systole::lower {
namespace {

using graph::NodeId;
using graph::TensorId;

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

bool product_work(const layout::LaidGraph& laid, NodeId node) {
  const layout::Mechanism mechanism = laid.mechanisms[node];
  return std::holds_alternative<graph::Contraction>(laid.graph.nodes[node].op) ||
         mechanism == layout::Mechanism::array_transpose ||
         mechanism == layout::Mechanism::ones_matmul;
}

constexpr std::size_t largest_region = 256;  // nodes

class Finder {
 public:
  Finder(const layout::LaidGraph& laid, const Residency& plan, const isa::Machine& machine,
         int share, StripWays ways)
      : laid_(laid),
        plan_(plan),
        machine_(machine),
        room_(resident_room(machine, share)),
        ways_(ways),
        uses_(graph::uses(laid.graph)),
        is_output_(laid.graph.tensors.size(), 0),
        taken_(laid.graph.nodes.size(), 0) {
    for (const TensorId output : laid.graph.outputs) {
      is_output_[output] = 1;
    }
  }

  std::vector<StripRegion> run() {
    std::vector<StripRegion> out;
    for (const NodeId node : laid_.graph.nodes.ids()) {
      const TensorId tensor = laid_.graph.nodes[node].output;
      if (taken_[node] == 0 && spilled(tensor)) {
        if (std::optional<StripRegion> region = best_region(tensor)) {
          if (ways_.makers) {
            add_makers(laid_, machine_, uses_, taken_, *region);
          }
          for (const NodeId inside : region->nodes) {
            taken_[inside] = 1;
          }
          out.push_back(*std::move(region));
        }
      }
    }
    for (const NodeId node : laid_.graph.nodes.ids()) {
      if (std::optional<StripRegion> region = region_of_rows(node)) {
        for (const NodeId inside : region->nodes) {
          taken_[inside] = 1;
        }
        out.push_back(*std::move(region));
      }
    }
    return out;
  }

 private:
  // An intermediate value that goes through HBM.
  [[nodiscard]] bool spilled(TensorId tensor) const {
    const graph::Tensor& t = laid_.graph.tensors[tensor];
    return t.kind == graph::TensorKind::intermediate && is_output_[tensor] == 0 &&
           plan_.fusion.inlined[tensor] == 0 && plan_.resident[tensor] == 0 &&
           plan_.root[tensor] == tensor && !uses_[tensor].empty() && graph::elements(t.shape) > 0;
  }

  // ---- growing

  struct Growth {
    std::set<NodeId> nodes;
    std::map<TensorId, int> axes;
    bool between_products = false;  // vector work on values that stay in SBUF
  };

  [[nodiscard]] const graph::Shape& shape(TensorId tensor) const {
    return laid_.graph.tensors[tensor].shape;
  }

  [[nodiscard]] bool may_strip(NodeId node) const {
    const graph::Op& op = laid_.graph.nodes[node].op;
    const bool movement =
        std::holds_alternative<graph::Transpose>(op) || std::holds_alternative<graph::Reshape>(op);
    return taken_[node] == 0 &&
           (std::holds_alternative<graph::Contraction>(op) ||
            std::holds_alternative<graph::Map>(op) || std::holds_alternative<graph::Reduce>(op) ||
            std::holds_alternative<graph::Convert>(op) ||
            (movement && laid_.mechanisms[node] == layout::Mechanism::alias));
  }

  // Whether the node works on what a product has made, in a kernel of its own.
  [[nodiscard]] bool is_between_products(NodeId node) const {
    const graph::Op& op = laid_.graph.nodes[node].op;
    const graph::Op& host = laid_.graph.nodes[plan_.fusion.host[node]].op;
    const bool vector_work =
        std::holds_alternative<graph::Map>(host) || std::holds_alternative<graph::Reduce>(host);
    const layout::Mechanism mechanism = laid_.mechanisms[node];
    return taken_[node] == 0 && ((std::holds_alternative<graph::Map>(op) && vector_work) ||
                                 (std::holds_alternative<graph::Reduce>(op) && vector_work &&
                                  mechanism == layout::Mechanism::standard) ||
                                 (std::holds_alternative<graph::Convert>(op) &&
                                  (mechanism == layout::Mechanism::array_transpose ||
                                   mechanism == layout::Mechanism::dma_transpose ||
                                   mechanism == layout::Mechanism::vector_transpose)));
  }

  // Adds the node, and behind it all that reads or makes values that would go through HBM. False: not possible; then
  // the growth is as it was.
  bool add(Growth& growth, NodeId node, TensorId known) const {
    if (growth.nodes.contains(node)) {
      return true;
    }
    if (!(growth.between_products ? is_between_products(node) : may_strip(node)) ||
        growth.nodes.size() >= largest_region) {
      return false;
    }
    const auto axes = axes_along(laid_.graph, node, known, growth.axes.at(known));
    if (!axes) {
      return false;
    }
    std::vector<TensorId> operands = laid_.graph.nodes[node].inputs;
    operands.push_back(laid_.graph.nodes[node].output);
    std::map<TensorId, int> own;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const auto place = growth.axes.find(operands[i]);
      const int axis = (*axes)[i];
      if ((place != growth.axes.end() && place->second != axis) ||
          own.try_emplace(operands[i], axis).first->second != axis) {
        return false;
      }
    }
    growth.nodes.insert(node);
    std::vector<TensorId> fresh;
    for (const auto& [operand, axis] : own) {
      if (growth.axes.try_emplace(operand, axis).second && axis >= 0) {
        fresh.push_back(operand);
      }
    }
    for (const TensorId tensor : fresh) {
      follow(growth, tensor);
    }
    return true;
  }

  void follow(Growth& growth, TensorId tensor) const {
    const graph::Tensor& t = laid_.graph.tensors[tensor];
    const bool passes = t.kind == graph::TensorKind::intermediate &&
                        (growth.between_products || spilled(tensor) ||
                         plan_.fusion.inlined[tensor] != 0 || aliases_spilled(tensor));
    if (!passes) {
      return;
    }
    (void)add(growth, t.producer, tensor);
    for (const graph::Use& use : uses_[tensor]) {
      (void)add(growth, use.node, tensor);
    }
  }

  [[nodiscard]] bool aliases_spilled(TensorId tensor) const {
    return plan_.root[tensor] != tensor && spilled(plan_.root[tensor]);
  }

  // ---- closing: what lies between, and what runs inside the same kernels

  // Nodes outside that depend on the region and that the region depends on; nothing if one of them cannot join.
  bool close(Growth& growth) const {
    while (true) {
      const std::size_t before = growth.nodes.size();
      const std::size_t first = growth.nodes.begin()->index();
      const std::size_t last = growth.nodes.rbegin()->index();
      std::set<TensorId> below;  // values that depend on the region
      std::vector<std::pair<NodeId, TensorId>> between;
      std::set<NodeId> reaches;  // from which the region is reached
      for (std::size_t i = last + 1; i-- > first;) {
        const NodeId node(i);
        const bool leads =
            std::ranges::any_of(uses_[laid_.graph.nodes[node].output], [&](const graph::Use& use) {
              return growth.nodes.contains(use.node) || reaches.contains(use.node);
            });
        if (leads) {
          reaches.insert(node);
        }
      }
      for (std::size_t i = first; i <= last; ++i) {
        const NodeId node(i);
        const graph::Node& n = laid_.graph.nodes[node];
        const auto from =
            std::ranges::find_if(n.inputs, [&](TensorId t) { return below.contains(t); });
        const bool inside = growth.nodes.contains(node);
        if (inside || from != n.inputs.end()) {
          below.insert(n.output);
        }
        if (!inside && from != n.inputs.end() && reaches.contains(node)) {
          between.emplace_back(node, *from);
        }
      }
      for (const auto& [node, value] : between) {
        const auto axis = growth.axes.find(value);
        if (axis == growth.axes.end() || axis->second < 0 || !add(growth, node, value)) {
          return false;
        }
      }
      if (growth.nodes.size() == before) {
        return true;
      }
    }
  }

  // Relabellings at the edge stay outside.
  void trim(Growth& growth) const {
    for (bool changed = true; changed;) {
      changed = false;
      for (const NodeId node : std::vector<NodeId>(growth.nodes.begin(), growth.nodes.end())) {
        const graph::Node& n = laid_.graph.nodes[node];
        const bool movement = std::holds_alternative<graph::Transpose>(n.op) ||
                              std::holds_alternative<graph::Reshape>(n.op);
        if (movement && (!made_inside(growth, n.inputs[0]) || !read_inside(growth, n.output))) {
          growth.nodes.erase(node);
          changed = true;
        }
      }
    }
  }

  [[nodiscard]] bool made_inside(const Growth& growth, TensorId tensor) const {
    const graph::Tensor& t = laid_.graph.tensors[tensor];
    return t.kind == graph::TensorKind::intermediate && growth.nodes.contains(t.producer);
  }
  [[nodiscard]] bool read_inside(const Growth& growth, TensorId tensor) const {
    return std::ranges::any_of(
        uses_[tensor], [&](const graph::Use& use) { return growth.nodes.contains(use.node); });
  }
  [[nodiscard]] bool read_outside(const Growth& growth, TensorId tensor) const {
    return is_output_[tensor] != 0 ||
           std::ranges::any_of(uses_[tensor], [&](const graph::Use& use) {
             return !growth.nodes.contains(use.node);
           });
  }

  // ---- judging

  // The least number of the iterator's elements that a window of this tensor may start at; nothing if it can have none.
  [[nodiscard]] std::optional<std::int64_t> window_step(TensorId tensor, int axis) const {
    const layout::Layout& layout = laid_.layouts[tensor];
    const auto place = std::ranges::find(layout.order, axis) - layout.order.begin();
    if (place >= layout.split) {
      return 1;
    }
    if (place != 0) {
      return std::nullopt;
    }
    std::int64_t inner = 1;
    for (int i = 1; i < layout.split; ++i) {
      inner *= shape(tensor)[at(layout.order[at(i)])];
    }
    return machine_.partitions / std::gcd(machine_.partitions, inner);
  }

  // Bytes per partition of a value that only a strip of the iterator exists of.
  [[nodiscard]] std::int64_t strip_bytes(TensorId tensor, int axis, std::int64_t strip) const {
    graph::Shape part = shape(tensor);
    part[at(axis)] = std::min(strip, part[at(axis)]);
    const View view = view_of(laid_.layouts[tensor], part, true);
    const std::int64_t blocks = (view.partitions + machine_.partitions - 1) / machine_.partitions;
    return blocks * view.free * isa::size_of(laid_.storage[tensor]);
  }

  [[nodiscard]] std::int64_t hbm_bytes(TensorId tensor) const {
    return graph::elements(shape(tensor)) * isa::size_of(laid_.storage[tensor]);
  }

  [[nodiscard]] std::optional<StripRegion> region_of(const Growth& growth,
                                                     std::int64_t extent) const {
    StripRegion out;
    out.extent = extent;
    out.nodes.assign(growth.nodes.begin(), growth.nodes.end());
    std::set<TensorId> inputs;
    for (const NodeId node : out.nodes) {
      const graph::Node& n = laid_.graph.nodes[node];
      for (const TensorId operand : n.inputs) {
        out.axes[operand] = growth.axes.at(operand);
        if (!made_inside(growth, operand)) {
          inputs.insert(operand);
        }
      }
      out.axes[n.output] = growth.axes.at(n.output);
      if (read_outside(growth, n.output)) {
        out.outputs.push_back(n.output);
      }
    }
    out.inputs.assign(inputs.begin(), inputs.end());
    if (!relabellings_are_inside(growth, out)) {
      return std::nullopt;
    }
    return out;
  }

  // A window of a tensor is no storage of its own, so that nothing can relabel it.
  [[nodiscard]] bool relabellings_are_inside(const Growth& growth,
                                             const StripRegion& region) const {
    return std::ranges::all_of(region.nodes, [&](NodeId node) {
      const graph::Node& n = laid_.graph.nodes[node];
      const bool movement = std::holds_alternative<graph::Transpose>(n.op) ||
                            std::holds_alternative<graph::Reshape>(n.op);
      return !movement || (made_inside(growth, n.inputs[0]) && !read_outside(growth, n.inputs[0]) &&
                           !read_outside(growth, n.output));
    });
  }

  // What the array transposes has to be evicted before a product reads it. As a stage of its own the array has another
  // strip's work meanwhile.
  void set_stages(StripRegion& region) const {
    for (const NodeId node : region.nodes) {
      int stage = 0;
      const bool product = product_work(laid_, plan_.fusion.host[node]);
      for (const TensorId operand : laid_.graph.nodes[node].inputs) {
        const graph::Tensor& t = laid_.graph.tensors[operand];
        if (t.kind == graph::TensorKind::intermediate && region.stages.contains(t.producer)) {
          const bool turned = ways_.turns_apart && plan_.fusion.inlined[operand] == 0 &&
                              laid_.mechanisms[t.producer] == layout::Mechanism::array_transpose;
          const bool changes =
              product_work(laid_, plan_.fusion.host[t.producer]) != product || (product && turned);
          stage = std::max(stage, region.stages[t.producer] + (changes ? 1 : 0));
        }
      }
      region.stages[node] = stage;
    }
  }

  // Strips of inputs in HBM that several kernels read are loaded before them.
  void set_loads(StripRegion& region) const {
    for (const TensorId input : region.inputs) {
      std::set<NodeId> readers;
      for (const graph::Use& use : uses_[input]) {
        if (region.stages.contains(use.node)) {
          readers.insert(plan_.fusion.host[use.node]);
        }
      }
      if (region.axes.at(input) >= 0 && plan_.resident[input] == 0 && readers.size() > 1) {
        region.loaded.push_back(input);
      }
    }
    if (!region.loaded.empty()) {
      for (auto& [node, stage] : region.stages) {
        ++stage;
      }
    }
  }

  // Bytes per partition that strips of this size take at once: a value lives from its stage to that of its last reader.
  [[nodiscard]] std::int64_t live_bytes(const StripRegion& region, std::int64_t strip) const {
    std::int64_t total = 0;
    for (const NodeId node : region.nodes) {
      const TensorId value = laid_.graph.nodes[node].output;
      if (plan_.fusion.inlined[value] != 0 || plan_.root[value] != value) {
        continue;
      }
      int last = region.stages.at(node);
      for (const graph::Use& use : uses_[value]) {
        const auto stage = region.stages.find(use.node);
        last = stage == region.stages.end() ? last : std::max(last, stage->second);
      }
      total +=
          (last - region.stages.at(node) + 1) * strip_bytes(value, region.axes.at(value), strip);
    }
    for (const TensorId input : region.loaded) {
      int last = 0;
      for (const graph::Use& use : uses_[input]) {
        const auto stage = region.stages.find(use.node);
        last = stage == region.stages.end() ? last : std::max(last, stage->second);
      }
      total += (last + 1) * strip_bytes(input, region.axes.at(input), strip);
    }
    return total;
  }

  // The least number of the iterator's elements that all windows can start at.
  [[nodiscard]] std::optional<std::int64_t> step_of(const StripRegion& region) const {
    std::int64_t step = 1;
    for (const std::vector<TensorId>& side : {region.inputs, region.outputs}) {
      for (const TensorId tensor : side) {
        if (region.axes.at(tensor) >= 0) {
          const std::optional<std::int64_t> own = window_step(tensor, region.axes.at(tensor));
          if (!own) {
            return std::nullopt;
          }
          step = std::lcm(step, *own);
        }
      }
    }
    return step;
  }

  // Chooses the size of the strips and what is loaded once; returns the bytes that need not go through HBM.
  [[nodiscard]] std::int64_t size(StripRegion& region) const {
    const std::optional<std::int64_t> windows = step_of(region);
    if (!windows) {
      return 0;
    }
    const std::int64_t step = *windows;
    std::int64_t whole = 0;  // read by every strip
    std::int64_t reloads = 0;
    std::vector<TensorId> pins;
    for (const TensorId tensor : region.inputs) {
      if (region.axes.at(tensor) < 0) {
        const std::int64_t bytes = resident_bytes(laid_, tensor, machine_);
        whole += bytes;
        if (plan_.resident[tensor] == 0 && graph::elements(shape(tensor)) > 1) {
          pins.push_back(tensor);
          reloads += hbm_bytes(tensor);
        }
      }
    }
    const bool pin = whole <= room_ / 2;
    std::int64_t room = room_ - (pin ? whole : 0);
    if (live_bytes(region, step) > room) {
      return 0;
    }
    constexpr std::int64_t fewest =
        8;  // strips, so that little time passes before all engines work
    region.strip = step;
    while (2 * region.strip * fewest <= region.extent &&
           live_bytes(region, 2 * region.strip) <= room) {
      region.strip *= 2;
    }
    if (region.strip >= region.extent) {
      return 0;
    }
    const std::int64_t strips = (region.extent + region.strip - 1) / region.strip;
    if (pin) {
      region.pinned = pins;
    } else {
      reloads *= strips - 1;
    }
    std::int64_t saved = 0;
    for (const NodeId node : region.nodes) {
      const TensorId value = laid_.graph.nodes[node].output;
      const bool inside = std::ranges::find(region.outputs, value) == region.outputs.end();
      if (inside && spilled(value)) {
        saved += hbm_bytes(value) * (1 + static_cast<std::int64_t>(uses_[value].size()));
      }
    }
    return saved - (pin ? 0 : reloads);
  }

  [[nodiscard]] std::optional<StripRegion> best_region(TensorId seed) {
    std::optional<StripRegion> best;
    std::int64_t most = 0;
    for (std::size_t axis = 0; axis < shape(seed).size(); ++axis) {
      const auto along = static_cast<int>(axis);
      if (shape(seed)[axis] < 2 || failed_.contains({seed, along})) {
        continue;
      }
      Growth growth;
      growth.axes[seed] = along;
      std::optional<StripRegion> region = grown(growth, seed);
      const std::int64_t saved = region ? size(*region) : 0;
      if (saved > most) {
        most = saved;
        best = std::move(region);
      } else if (saved <= 0) {
        // From any of its other values it would be the same region.
        failed_.insert(growth.axes.begin(), growth.axes.end());
      }
    }
    return best;
  }

  [[nodiscard]] std::optional<StripRegion> grown(Growth& growth, TensorId seed) const {
    if (!add(growth, laid_.graph.tensors[seed].producer, seed)) {
      return std::nullopt;
    }
    follow(growth, seed);
    if (!close(growth)) {
      return std::nullopt;
    }
    const std::int64_t extent = shape(seed)[at(growth.axes.at(seed))];
    trim(growth);
    if (growth.nodes.size() < 2) {
      return std::nullopt;
    }
    std::optional<StripRegion> region = region_of(growth, extent);
    if (region) {
      set_stages(*region);
      set_loads(*region);
    }
    return region;
  }

  // ---- between products

  // A reduction inside the partitions and the maps around it, by blocks of partitions: the products before and after
  // then work on other blocks at the same time.
  [[nodiscard]] std::optional<StripRegion> region_of_rows(NodeId node) const {
    const TensorId value = laid_.graph.nodes[node].inputs.front();
    if (!std::holds_alternative<graph::Reduce>(laid_.graph.nodes[node].op) ||
        !is_between_products(node)) {
      return std::nullopt;
    }
    const layout::Layout& layout = laid_.layouts[value];
    const int axis = layout.order.front();
    if (layout.split == 0 || shape(value)[at(axis)] <= machine_.partitions) {
      return std::nullopt;
    }
    Growth growth;
    growth.between_products = true;
    growth.axes[value] = axis;
    if (!add(growth, node, value)) {
      return std::nullopt;
    }
    follow(growth, value);
    if (!close(growth)) {
      return std::nullopt;
    }
    const std::int64_t extent = shape(value)[at(axis)];
    std::optional<StripRegion> region = region_of(growth, extent);
    if (!region || !joins_products(*region) || !size_rows(*region)) {
      return std::nullopt;
    }
    Growth longer = growth;
    std::optional<StripRegion> with_products =
        add_products(longer, *region) ? region_of(longer, extent) : std::nullopt;
    if (with_products && size_rows(*with_products)) {
      region = std::move(with_products);
    }
    region->rows = true;
    set_stages(*region);
    set_held(*region);
    return region;
  }

  [[nodiscard]] bool hosted_by_product(NodeId node) const {
    const graph::Op& host = laid_.graph.nodes[plan_.fusion.host[node]].op;
    return std::holds_alternative<graph::Contraction>(host) ||
           std::holds_alternative<graph::Convolution>(host);
  }

  // Whether a product makes what enters, and another one reads what leaves.
  [[nodiscard]] bool joins_products(const StripRegion& region) const {
    const bool fed = std::ranges::any_of(region.inputs, [&](TensorId tensor) {
      const graph::Tensor& t = laid_.graph.tensors[tensor];
      return t.kind == graph::TensorKind::intermediate && region.axes.at(tensor) >= 0 &&
             hosted_by_product(t.producer);
    });
    return fed && std::ranges::any_of(region.outputs, [&](TensorId tensor) {
             return std::ranges::any_of(uses_[tensor], [&](const graph::Use& use) {
               return !region.axes.contains(laid_.graph.nodes[use.node].output) &&
                      hosted_by_product(use.node);
             });
           });
  }

  // Products of what leaves the region with small matrices from HBM, and what runs inside their kernels: all of them
  // begin with the first strip. False: there are none, or the matrices are too large to be kept.
  [[nodiscard]] bool add_products(Growth& growth, const StripRegion& region) const {
    const std::int64_t room = resident_room(machine_, default_resident_share) / 3;
    std::int64_t kept = 0;
    std::set<TensorId> matrices;
    for (const TensorId output : region.outputs) {
      for (const graph::Use& use : uses_[output]) {
        const graph::Node& n = laid_.graph.nodes[use.node];
        if (!std::holds_alternative<graph::Contraction>(n.op) || taken_[use.node] != 0) {
          continue;
        }
        const TensorId other = n.inputs[use.argument == 0 ? 1 : 0];
        const auto axes = axes_along(laid_.graph, use.node, output, growth.axes.at(output));
        if (laid_.graph.tensors[other].kind == graph::TensorKind::intermediate || !axes ||
            (*axes)[use.argument == 0 ? 1 : 0] >= 0) {
          continue;
        }
        const std::int64_t bytes = resident_bytes(laid_, other, machine_);
        if (kept + bytes <= room) {
          kept += matrices.insert(other).second ? bytes : 0;
          take(growth, use.node, output);
        }
      }
    }
    return !matrices.empty() && close(growth);
  }

  // A product and its followers.
  void take(Growth& growth, NodeId node, TensorId known) const {
    std::vector<NodeId> nodes{node};
    const std::vector<NodeId>& followers = plan_.fusion.followers[node];
    nodes.insert(nodes.end(), followers.begin(), followers.end());
    for (const NodeId next : nodes) {
      const graph::Node& n = laid_.graph.nodes[next];
      const std::optional<std::vector<int>> axes =
          axes_along(laid_.graph, next, known, growth.axes.at(known));
      if (!axes) {
        return;  // what follows reads the whole
      }
      growth.nodes.insert(next);
      for (std::size_t i = 0; i < n.inputs.size(); ++i) {
        growth.axes.try_emplace(n.inputs[i], (*axes)[i]);
      }
      growth.axes.try_emplace(n.output, axes->back());
      known = n.output;
    }
  }

  // Operands from HBM that all strips read.
  void set_held(StripRegion& region) const {
    std::ranges::copy_if(region.inputs, std::back_inserter(region.held), [&](TensorId input) {
      return laid_.graph.tensors[input].kind != graph::TensorKind::intermediate &&
             region.axes.at(input) < 0 && graph::elements(shape(input)) > 1;
    });
  }

  // Strips of whole partition blocks, few of them.
  [[nodiscard]] bool size_rows(StripRegion& region) const {
    constexpr std::int64_t most = 8;
    const std::optional<std::int64_t> step = step_of(region);
    if (!step) {
      return false;
    }
    const std::int64_t blocks = (region.extent + *step - 1) / *step;
    region.strip = *step * ((blocks + most - 1) / most);
    return region.strip < region.extent;
  }

  const layout::LaidGraph& laid_;
  const Residency& plan_;
  const isa::Machine& machine_;
  std::int64_t room_;
  StripWays ways_;
  IdVector<TensorId, std::vector<graph::Use>> uses_;
  IdVector<TensorId, std::uint8_t> is_output_;
  IdVector<NodeId, std::uint8_t> taken_;
  std::set<std::pair<TensorId, int>> failed_;  // values and axes along which nothing is gained
};

}  // namespace

std::vector<StripRegion> find_strip_regions(const layout::LaidGraph& laid, const Residency& plan,
                                            const isa::Machine& machine, int share,
                                            StripWays ways) {
  return Finder(laid, plan, machine, share, ways).run();
}

}  // namespace systole::lower
