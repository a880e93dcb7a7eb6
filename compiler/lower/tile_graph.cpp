// tile(): the nodes of a laid-out graph, in order, as instructions on virtual buffers.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "compiler/layout/state.hpp"
#include "compiler/lower/builder.hpp"
#include "compiler/lower/hbm.hpp"
#include "compiler/lower/hoist.hpp"
#include "compiler/lower/join_evictions.hpp"
#include "compiler/lower/kernels/map_chain.hpp"
#include "compiler/lower/recognise.hpp"
#include "compiler/lower/storage.hpp"
#include "compiler/lower/strip.hpp"

namespace systole::lower {
namespace {

using graph::NodeId;
using graph::TensorId;

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

void lower_node(Builder& builder, NodeId node) {
  const auto movement = [&](const auto&) { lower_movement(builder, node); };
  const auto gather = [&](const auto&) { lower_gather(builder, node); };
  std::visit(Overloaded{
                 [&](const graph::Contraction&) { lower_contraction(builder, node); },
                 [&](const graph::Convolution&) { lower_convolution(builder, node); },
                 [&](const graph::Map&) { lower_map(builder, node); },
                 [&](const graph::Reduce&) { lower_reduce(builder, node); },
                 [&](const graph::ArgReduce&) { lower_arg_reduce(builder, node); },
                 [&](const graph::Window&) { lower_window(builder, node); },
                 [&](const graph::Transpose& op) { movement(op); },
                 [&](const graph::Reshape& op) { movement(op); },
                 [&](const graph::Slice& op) { movement(op); },
                 [&](const graph::Concat& op) { movement(op); },
                 [&](const graph::Pad& op) { movement(op); },
                 [&](const graph::Expand& op) { movement(op); },
                 [&](const graph::Gather& op) { gather(op); },
                 [&](const graph::GatherElements& op) { gather(op); },
                 [&](const graph::ScatterND& op) { gather(op); },
                 [&](const graph::Convert&) { lower_convert(builder, node); },
             },
             builder.laid().graph.nodes[node].op);
}

// Outputs, by their places, that are copied: after the node that makes them, or at the end.
struct Copied {
  std::map<NodeId, std::vector<std::size_t>> after;
  std::vector<std::size_t> at_end;
};

void store_output(Builder& builder, std::size_t i) {
  const layout::LaidGraph& laid = builder.laid();
  const TensorId output = laid.graph.outputs[i];
  const std::string& name = laid.graph.output_names[i];
  builder.begin_source(name + " (output)", isa::SourceKind::boundary);
  builder.store(output, hbm_tensor(laid, output, isa::Role::output, name));
}

// Graph inputs get their storage, and so does the first output of every storage in HBM that is not an input's or
// constant's: its producer writes it directly.
Copied bind_boundary(Builder& builder, const Residency& residency) {
  const layout::LaidGraph& laid = builder.laid();
  for (const TensorId input : laid.graph.inputs) {
    builder.bind(input, hbm_tensor(laid, input, isa::Role::input, laid.graph.tensors[input].name));
  }
  IdVector<TensorId, std::uint8_t> taken(laid.graph.tensors.size(), 0);
  Copied copied;
  for (std::size_t i = 0; i < laid.graph.outputs.size(); ++i) {
    const TensorId output = laid.graph.outputs[i];
    const TensorId root = residency.root[output];
    const graph::Tensor& tensor = laid.graph.tensors[output];
    const bool made = laid.graph.tensors[root].kind == graph::TensorKind::intermediate;
    if (made && taken[root] == 0 && residency.resident[root] == 0) {
      taken[root] = 1;
      builder.bind(output, hbm_tensor(laid, output, isa::Role::output, laid.graph.output_names[i]));
    } else if (made && residency.resident[root] != 0 &&
               tensor.kind == graph::TensorKind::intermediate) {
      copied.after[tensor.producer].push_back(i);
    } else {
      copied.at_end.push_back(i);
    }
  }
  return copied;
}

// A node and the maps that follow it inside its kernel.
void lower_group(Builder& builder, NodeId node) {
  const TensorId value = builder.laid().graph.nodes[node].output;
  const std::vector<NodeId>& followers = builder.followers(node);
  const bool map = std::holds_alternative<graph::Map>(builder.laid().graph.nodes[node].op);
  if (followers.empty() || map) {
    lower_node(builder, node);
    return;
  }
  builder.attach(value, make_epilogue(builder, followers, value));
  lower_node(builder, node);
  builder.detach(value);
}

bool is_conversion(const layout::LaidGraph& laid, NodeId node) {
  return std::holds_alternative<graph::Convert>(laid.graph.nodes[node].op) && !is_load(laid, node);
}

// Not if there is nothing to compute, the same bytes get another name, or another kernel does it.
bool emits(const layout::LaidGraph& laid, const Residency& residency, NodeId node) {
  const graph::Node& n = laid.graph.nodes[node];
  const bool relabels = laid.mechanisms[node] == layout::Mechanism::alias || is_load(laid, node);
  const bool same_bytes = relabels && (residency.root[n.output] == residency.root[n.inputs[0]] ||
                                       std::holds_alternative<graph::Concat>(n.op));
  return graph::elements(laid.graph.tensors[n.output].shape) > 0 && !same_bytes &&
         residency.fusion.host[node] == node;
}

void emit(Builder& builder, NodeId node) {
  const layout::LaidGraph& laid = builder.laid();
  const graph::Node& n = laid.graph.nodes[node];
  builder.begin_node(node);
  builder.begin_source(source_name(laid, node), is_conversion(laid, node)
                                                    ? isa::SourceKind::conversion
                                                    : isa::SourceKind::operation);
  const std::size_t first = builder.emitted().size();
  lower_group(builder, node);
  const bool on_vector =
      std::holds_alternative<graph::Map>(n.op) || std::holds_alternative<graph::Reduce>(n.op);
  if (on_vector && is_row_strip(n)) {
    hoist(builder.emitted(), first);
  }
}

}  // namespace

std::string source_name(const layout::LaidGraph& laid, NodeId node) {
  const graph::Node& n = laid.graph.nodes[node];
  if (is_conversion(laid, node)) {
    return fmt::format(
        "{}: {} -> {} ({})", name_without_strip(laid.graph.tensors[n.inputs[0]].name),
        layout::to_string(laid.layouts[n.inputs[0]]), layout::to_string(laid.layouts[n.output]),
        layout::name_of(laid.mechanisms[node]));
  }
  return fmt::format("{} ({})", name_without_strip(n.name), graph::name_of(n.op));
}

TileProgram tile(const layout::LaidGraph& laid, const Residency& residency,
                 const isa::Machine& machine) {
  Builder builder(laid, residency, machine);
  const Copied copied = bind_boundary(builder, residency);
  for (const NodeId node : laid.graph.nodes.ids()) {
    if (emits(laid, residency, node)) {
      emit(builder, node);
    }
    if (const auto outputs = copied.after.find(node); outputs != copied.after.end()) {
      for (const std::size_t output : outputs->second) {
        store_output(builder, output);
      }
    }
  }
  for (const std::size_t output : copied.at_end) {
    store_output(builder, output);
  }
  TileProgram program = builder.take();
  join_evictions(program, machine);
  return program;
}

namespace {

// Percent of SBUF for residents when strips are chosen: from the usual share down, by thirds.
constexpr int least_strip_share = 15;

std::size_t instruction_count(const isa::Program& program) {
  std::size_t count = 0;
  for (const std::vector<isa::Instruction>& stream : program.streams) {
    count += stream.size();
  }
  return count;
}

Lowered lower_with(const layout::LaidGraph& laid, const isa::Machine& machine,
                   const isa::Machine& assumed, int share, bool fuse) {
  Lowered out;
  out.stripped = laid;
  out.residency = plan_residency(out.stripped, assumed, share, fuse);
  out.planned_for = assumed;
  TileProgram tiles = tile(out.stripped, out.residency, assumed);
  out.hbm_peak = hbm_peak(tiles);
  Scheduled scheduled = allocate_and_schedule(std::move(tiles), machine);
  out.allocation = std::move(scheduled.allocation);
  out.program = std::move(scheduled.program);
  out.estimate = scheduled.estimate;
  return out;
}

// With as many residents and as much fusion as the allocator finds room for.
std::optional<Lowered> lower_if_it_fits(const layout::LaidGraph& laid, const isa::Machine& machine,
                                        const isa::Machine& assumed) {
  std::string last;  // why the plan before had no room
  for (const bool fuse : {true, false}) {
    for (int share = default_resident_share; share > 0; share = share * 3 / 4) {
      try {
        Lowered lowered = lower_with(laid, machine, assumed, share, fuse);
        if (!last.empty()) {
          lowered.residency.spilled.push_back(fmt::format(
              "all beyond {} % of SBUF{}: {}", share, fuse ? "" : ", and nothing is fused", last));
        }
        return lowered;
      } catch (const Error& error) {
        // The next plan leaves more room; with the last one the error is the user's.
        last = error.what();
      }
    }
  }
  return std::nullopt;
}

// Names of the nodes in order, which tell strips apart.
std::vector<std::string> order_of(const layout::LaidGraph& laid) {
  std::vector<std::string> out;
  for (const graph::Node& node : laid.graph.nodes) {
    out.push_back(node.name);
  }
  return out;
}

// Values that would stay in SBUF may still be worth making strip by strip: the engines then work on
// different strips at once; and so may products before them.
void try_strips(const layout::LaidGraph& whole, const isa::Machine& machine,
                const isa::Machine& assumed, std::optional<Lowered>& best) {
  std::set<std::vector<std::string>> tried;
  for (int share = default_resident_share; share >= least_strip_share; share = share * 2 / 3) {
    for (const StripWays ways :
         {StripWays{true, true}, StripWays{true, false}, StripWays{false, false}}) {
      const layout::LaidGraph stripped = strip_mine(whole, assumed, share, ways);
      if (!tried.insert(order_of(stripped)).second) {
        continue;  // the same strips
      }
      std::optional<Lowered> lowered = lower_if_it_fits(stripped, machine, assumed);
      const bool large = lowered && instruction_count(lowered->program) > most_instructions_retried;
      if (lowered && (!best || lowered->estimate < best->estimate)) {
        best = std::move(lowered);
      }
      if (large) {
        return;
      }
    }
  }
}

// Machines to plan for, from the least one up to this one. Strips, chunks and blocks are as large as fits the plan, but
// fewer and larger ones overlap less: more room must not force them.
std::vector<isa::Machine> plans(const isa::Machine& machine) {
  std::vector<isa::Machine> out{layout::least_plan(machine)};
  while (out.back().sbuf_bytes < machine.sbuf_bytes) {
    out.push_back(machine);
    out.back().sbuf_bytes = std::min(machine.sbuf_bytes, 2 * out[out.size() - 2].sbuf_bytes);
  }
  return out;
}

}  // namespace

Lowered lower_stages(const layout::LaidGraph& given, const isa::Machine& machine) {
  const layout::LaidGraph whole = with_whole_functions(given);
  if (machine.array_rows < machine.partitions) {
    throw Error(machine.name,
                fmt::format("{} rows of the array leave some of the {} partitions out",
                            machine.array_rows, machine.partitions),
                "the compiler needs an array_rows of at least the partitions");
  }
  std::optional<Lowered> best;
  for (const isa::Machine& assumed : plans(machine)) {
    try_strips(whole, machine, assumed, best);
  }
  if (!best) {
    best = lower_if_it_fits(whole, machine, machine);
  }
  return best ? *std::move(best) : lower_with(whole, machine, machine, 0, false);
}

isa::Program lower(const layout::LaidGraph& laid, const isa::Machine& machine) {
  return lower_stages(laid, machine).program;
}

}  // namespace systole::lower
