// Which tensors stay in SBUF between producer and consumers.
//
// A root tensor (aliases share its storage) is live from its producer to the last use of any of its
// aliases. Candidates are taken short lives first, since a short life blocks little and saves the
// same traffic per use; each stays if it fits beside those already chosen at every node of its
// life. Graph inputs, constants and outputs are in HBM. A part of SBUF is never given to residents:
// the kernels need room for staging.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "compiler/lower/stages.hpp"
#include "compiler/lower/storage.hpp"
#include "compiler/lower/strip.hpp"

namespace systole::lower {
namespace {

using graph::NodeId;
using graph::TensorId;

// Room for the machine's constants: identity, ones and zeros, each in fp32 and in a 2-byte type.
std::int64_t constant_bytes(const isa::Machine& machine) {
  return 6 * (std::int64_t{machine.array_rows} + machine.array_columns + machine.moving_max);
}

struct Life {
  TensorId root;
  std::size_t first = std::numeric_limits<std::size_t>::max();  // of all that writes it
  std::size_t last = 0;
  std::int64_t uses = 0;
  std::int64_t bytes = 0;
  bool fixed_in_hbm = false;
};

// A slice that is an alias is a window of its operand, and the parts of such a concatenation are windows of its result.
void set_windows(const layout::LaidGraph& laid, const graph::Node& node, Residency& plan) {
  if (const auto* slice = std::get_if<graph::Slice>(&node.op)) {
    const graph::Shape& from = laid.graph.tensors[node.inputs[0]].shape;
    const graph::Shape& to = laid.graph.tensors[node.output].shape;
    const auto axis = std::ranges::mismatch(from, to).in1 - from.begin();
    check(axis < static_cast<std::ptrdiff_t>(from.size()), "a window is smaller than its tensor");
    plan.root[node.output] = plan.root[node.inputs[0]];
    plan.window[node.output] = {node.inputs[0], static_cast<int>(axis),
                                slice->starts[static_cast<std::size_t>(axis)]};
  } else if (const auto* concat = std::get_if<graph::Concat>(&node.op)) {
    std::int64_t begin = 0;
    for (const TensorId part : node.inputs) {
      plan.root[part] = node.output;
      plan.window[part] = {node.output, concat->axis, begin};
      begin += laid.graph.tensors[part].shape[static_cast<std::size_t>(concat->axis)];
    }
  }
}

void set_roots(const layout::LaidGraph& laid, Residency& plan) {
  IdVector<TensorId, TensorId>& root = plan.root;
  root.resize(laid.graph.tensors.size());
  plan.window.resize(laid.graph.tensors.size());
  for (const TensorId tensor : laid.graph.tensors.ids()) {
    root[tensor] = tensor;
  }
  for (const NodeId node : laid.graph.nodes.ids()) {
    const graph::Node& n = laid.graph.nodes[node];
    if (laid.mechanisms[node] == layout::Mechanism::alias &&
        (std::holds_alternative<graph::Slice>(n.op) ||
         std::holds_alternative<graph::Concat>(n.op))) {
      set_windows(laid, n, plan);
      continue;
    }
    // An alias relabels bytes; where the stored type changes there is something to do after all.
    if (laid.mechanisms[node] == layout::Mechanism::alias && !n.inputs.empty() &&
        laid.storage[n.inputs[0]] == laid.storage[n.output]) {
      root[n.output] = root[n.inputs[0]];
    }
  }
}

// A load from HBM for which there is no room is another name of its operand.
void drop_vain_loads(const layout::LaidGraph& laid, Residency& plan) {
  for (const NodeId node : laid.graph.nodes.ids()) {
    const graph::Node& n = laid.graph.nodes[node];
    if (is_load(laid, node) && plan.root[n.output] == n.output && plan.resident[n.output] == 0 &&
        plan.resident[plan.root[n.inputs[0]]] == 0 &&
        std::ranges::find(laid.graph.outputs, n.output) == laid.graph.outputs.end()) {
      plan.root[n.output] = plan.root[n.inputs[0]];
      plan.window[n.output] = plan.window[n.inputs[0]];
    }
  }
}

// Indirect transfers address a table in HBM.
void keep_tables_in_hbm(const graph::Node& node, const IdVector<TensorId, TensorId>& root,
                        IdVector<TensorId, Life>& lives) {
  if (std::holds_alternative<graph::Gather>(node.op)) {
    lives[root[node.inputs[0]]].fixed_in_hbm = true;
  } else if (std::holds_alternative<graph::ScatterND>(node.op)) {
    lives[root[node.output]].fixed_in_hbm = true;
  }
}

std::vector<Life> lives_of(const layout::LaidGraph& laid, const IdVector<TensorId, TensorId>& root,
                           const Fusion& fusion, const isa::Machine& machine) {
  IdVector<TensorId, Life> lives(laid.graph.tensors.size());
  for (const TensorId tensor : laid.graph.tensors.ids()) {
    const graph::Tensor& t = laid.graph.tensors[tensor];
    Life& life = lives[root[tensor]];
    life.fixed_in_hbm = life.fixed_in_hbm || t.kind != graph::TensorKind::intermediate ||
                        fusion.inlined[tensor] != 0;
    if (t.kind == graph::TensorKind::intermediate) {
      life.first = std::min({life.first, t.producer.index(), fusion.host[t.producer].index()});
      life.last = std::max(life.last, t.producer.index());
      if (root[tensor] == tensor) {
        life.root = tensor;
        life.bytes = resident_bytes(laid, tensor, machine);
      }
    }
  }
  for (const NodeId node : laid.graph.nodes.ids()) {
    for (const TensorId input : laid.graph.nodes[node].inputs) {
      Life& life = lives[root[input]];
      life.last = std::max({life.last, node.index(), fusion.host[node].index()});
      ++life.uses;
    }
    keep_tables_in_hbm(laid.graph.nodes[node], root, lives);
  }
  // An output that nothing else reads is written where the environment wants it; others are stored beside their other uses.
  for (const TensorId output : laid.graph.outputs) {
    Life& life = lives[root[output]];
    life.fixed_in_hbm = life.fixed_in_hbm || life.uses == 0;
  }
  std::vector<Life> out;
  for (const Life& life : lives) {
    if (life.root.valid() && !life.fixed_in_hbm && life.uses > 0 && life.bytes > 0) {
      out.push_back(life);
    }
  }
  // Nodes blocked per use, in thousandths: whole numbers, so that ties fall to the earlier tensor.
  std::ranges::stable_sort(out, {}, [](const Life& life) {
    return 1000 * static_cast<std::int64_t>(life.last - life.first) / life.uses;
  });
  return out;
}

}  // namespace

std::int64_t Residency::staging(graph::NodeId node, const isa::Machine& machine) const {
  const std::int64_t taken = node.valid() ? live[node] : resident_peak;
  // An eighth is left to the allocator: pieces of odd sizes do not pack perfectly.
  const std::int64_t room = (machine.sbuf_bytes - constant_bytes(machine) - taken) * 7 / 8;
  // Followers need room for their operands and results beside the host's.
  const bool shared = node.valid() && !fusion.followers[node].empty();
  return std::max<std::int64_t>(0, shared ? room / 4 * 3 : room);
}

std::int64_t resident_room(const isa::Machine& machine, int share) {
  return (machine.sbuf_bytes - constant_bytes(machine)) * share / 100;
}

Residency plan_residency(const layout::LaidGraph& laid, const isa::Machine& machine, int share,
                         bool fuse) {
  Residency out;
  set_roots(laid, out);
  out.fusion = fuse ? plan_fusion(laid, out.root, machine) : no_fusion(laid);
  out.resident = IdVector<TensorId, std::uint8_t>(laid.graph.tensors.size(), 0);
  out.live = IdVector<NodeId, std::int64_t>(laid.graph.nodes.size(), 0);
  const std::int64_t room = resident_room(machine, share);
  for (const Life& life : lives_of(laid, out.root, out.fusion, machine)) {
    bool fits = life.bytes <= room;
    for (std::size_t node = life.first; fits && node <= life.last; ++node) {
      fits = out.live[NodeId(node)] + life.bytes <= room;
    }
    if (!fits) {
      out.spilled.push_back(fmt::format(
          "{}: {} bytes per partition, {}", laid.graph.tensors[life.root].name, life.bytes,
          life.bytes > room ? fmt::format("more than the {} for residents", room)
                            : "no room beside the others live then"));
      continue;
    }
    out.resident[life.root] = 1;
    for (std::size_t node = life.first; node <= life.last; ++node) {
      out.live[NodeId(node)] += life.bytes;
      out.resident_peak = std::max(out.resident_peak, out.live[NodeId(node)]);
    }
  }
  drop_vain_loads(laid, out);
  for (const TensorId tensor : laid.graph.tensors.ids()) {
    out.resident[tensor] = out.resident[out.root[tensor]];
  }
  return out;
}

}  // namespace systole::lower
