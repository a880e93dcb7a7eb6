// tile(): the nodes of a laid-out graph, in order, as instructions on virtual buffers.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "compiler/layout/state.hpp"
#include "compiler/lower/builder.hpp"
#include "compiler/lower/hbm.hpp"
#include "compiler/lower/hoist.hpp"
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

// Graph inputs get their storage, and so does the first output of every storage that is not an
// input's or constant's: its producer writes it directly. Other outputs are copied at the end.
std::vector<bool> bind_boundary(Builder& builder, const Residency& residency) {
  const layout::LaidGraph& laid = builder.laid();
  for (const TensorId input : laid.graph.inputs) {
    builder.bind(input, hbm_tensor(laid, input, isa::Role::input, laid.graph.tensors[input].name));
  }
  IdVector<TensorId, std::uint8_t> taken(laid.graph.tensors.size(), 0);
  std::vector<bool> direct;
  for (std::size_t i = 0; i < laid.graph.outputs.size(); ++i) {
    const TensorId output = laid.graph.outputs[i];
    const TensorId root = residency.root[output];
    const bool own = laid.graph.tensors[root].kind == graph::TensorKind::intermediate &&
                     taken[root] == 0 && residency.resident[root] == 0;
    direct.push_back(own);
    if (own) {
      taken[root] = 1;
      builder.bind(output, hbm_tensor(laid, output, isa::Role::output, laid.graph.output_names[i]));
    }
  }
  return direct;
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
  const std::vector<bool> direct = bind_boundary(builder, residency);
  for (const NodeId node : laid.graph.nodes.ids()) {
    const graph::Node& n = laid.graph.nodes[node];
    const bool relabels = laid.mechanisms[node] == layout::Mechanism::alias || is_load(laid, node);
    const bool same_bytes = relabels && (residency.root[n.output] == residency.root[n.inputs[0]] ||
                                         std::holds_alternative<graph::Concat>(n.op));
    if (graph::elements(laid.graph.tensors[n.output].shape) == 0 || same_bytes ||
        residency.fusion.host[node] != node) {
      continue;  // nothing to compute, the same bytes under another name, or done inside another kernel
    }
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
  for (std::size_t i = 0; i < direct.size(); ++i) {
    if (!direct[i]) {
      const TensorId output = laid.graph.outputs[i];
      const std::string& name = laid.graph.output_names[i];
      builder.begin_source(name + " (output)", isa::SourceKind::boundary);
      builder.store(output, hbm_tensor(laid, output, isa::Role::output, name));
    }
  }
  return builder.take();
}

namespace {

// Percent of SBUF for residents when strips are chosen: from the usual share down, by thirds.
constexpr int least_strip_share = 15;
// A larger program is lowered in one way only.
constexpr std::size_t most_instructions_retried = 150000;

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
    for (int share = default_resident_share; share > 0; share /= 2) {
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

// Values that would stay in SBUF may still be worth making strip by strip: the engines then work on
// different strips at once; and so may products before them.
void try_strips(const layout::LaidGraph& whole, const isa::Machine& machine,
                const isa::Machine& assumed, std::optional<Lowered>& best) {
  std::set<std::size_t> tried;  // nodes of the graph, which tell strips apart
  for (int share = default_resident_share; share >= least_strip_share; share = share * 2 / 3) {
    for (const bool with_makers : {true, false}) {
      const layout::LaidGraph stripped = strip_mine(whole, assumed, share, with_makers);
      if (!tried.insert(stripped.graph.nodes.size()).second) {
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
