#include "compiler/driver/calibrate/conversions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "compiler/driver/measure.hpp"
#include "compiler/layout/block_turn.hpp"
#include "isa/base/error.hpp"

namespace systole::driver {
namespace {

using layout::Boundary;
using layout::Layout;
using layout::Mechanism;

// By so many Vector may turn a tensor sooner than other ways do, beyond them only where those have nothing but single elements.
constexpr std::int64_t few_blocks = 32;

class Chain {
 public:
  Chain(const LoneConversion& conversion, const Target& target)
      : conversion_(conversion), target_(target) {
    laid_.graph.name = "conversion";
  }

  layout::LaidGraph run() {
    const graph::Shape& shape = conversion_.type.shape;
    const bool source = conversion_.boundary == Boundary::source;
    const bool output =
        conversion_.boundary == Boundary::output && layout::identity_order(conversion_.to, shape);
    const Layout plain =
        layout::canonical(layout::row_major(static_cast<int>(shape.size()), 0), shape);
    last_ = graph::add_input(laid_.graph, "x", conversion_.type.type, shape);
    laid_.layouts.add(layout::identity_order(conversion_.from, shape) ? conversion_.from : plain);
    laid_.storage.add(conversion_.dtype);
    if (!source) {
      convert(conversion_.from);
      copy();
    }
    if (!source && !output && conversion_.mechanism == Mechanism::array_transpose) {
      convert(conversion_.to, conversion_.mechanism);  // in use, the identity has long been there
      copy();
      convert(conversion_.from, Mechanism::dma);
      copy();
    }
    convert(conversion_.to, conversion_.mechanism);
    if (!output) {
      copy();
      convert(layout::identity_order(conversion_.to, shape) ? conversion_.to : plain);
    }
    laid_.graph.outputs.push_back(last_);
    laid_.graph.output_names.emplace_back("y");
    return std::move(laid_);
  }

 private:
  void convert(const Layout& to, std::optional<Mechanism> given = {}) {
    const Layout from = laid_.layouts[last_];
    if (from == to) {
      return;
    }
    const Mechanism mechanism =
        given ? *given
              : layout::price_conversion(conversion_.type.shape, conversion_.dtype, from, to,
                                         Boundary::inside, target_.costs, target_.machine)
                    .mechanism;
    add(graph::Convert{}, to, mechanism);
  }

  void copy() { add(graph::Map{}, laid_.layouts[last_], Mechanism::standard); }

  void add(graph::Op op, const Layout& to, Mechanism mechanism) {
    last_ = graph::add_node(laid_.graph, fmt::format("step {}", laid_.graph.nodes.size()),
                            std::move(op), {last_});
    laid_.layouts.add(to);
    laid_.storage.add(conversion_.dtype);
    laid_.mechanisms.add(mechanism);
    laid_.predicted.add({});
  }

  const LoneConversion& conversion_;
  const Target& target_;
  layout::LaidGraph laid_;
  graph::TensorId last_;
};

const char* place_of(Boundary boundary) {
  return boundary == Boundary::source   ? " of an input"
         : boundary == Boundary::output ? " of an output"
                                        : "";
}

}  // namespace

std::string LoneConversion::text() const {
  return fmt::format("{} [{}]: {} -> {} ({}){}", isa::name_of(dtype), fmt::join(type.shape, ","),
                     layout::to_string(from), layout::to_string(to), layout::name_of(mechanism),
                     place_of(boundary));
}

LoneConversion lone_conversion(const layout::LaidGraph& laid, const layout::Statement& statement,
                               graph::NodeId convert) {
  const graph::Node& node = laid.graph.nodes[convert];
  const graph::TensorId tensor = node.inputs[0];
  const graph::Tensor& t = laid.graph.tensors[tensor];
  Boundary boundary = statement.standing[tensor].boundary;
  if (boundary == Boundary::passing) {
    boundary = Boundary::inside;
  }
  return {{t.type, t.shape},         laid.storage[tensor],     laid.layouts[tensor],
          laid.layouts[node.output], laid.mechanisms[convert], boundary};
}

std::vector<LoneConversion> with_rivals(const LoneConversion& conversion,
                                        const isa::Machine& machine) {
  std::vector<LoneConversion> out{conversion};
  const graph::Shape& shape = conversion.type.shape;
  const bool by_dma = machine.dma_transpose && isa::is_float(conversion.dtype) &&
                      isa::size_of(conversion.dtype) == 2 &&
                      layout::transposition_of(conversion.from, conversion.to, shape).has_value();
  const auto turn = layout::block_turn_of(conversion.from, conversion.to, shape, machine);
  const bool by_vector = turn && turn->blocks() <= few_blocks;
  const auto add = [&out, &conversion](Mechanism mechanism) {
    if (mechanism != conversion.mechanism) {
      out.push_back(conversion);
      out.back().mechanism = mechanism;
    }
  };
  if (by_dma) {
    add(Mechanism::dma_transpose);
  }
  if (by_vector) {
    add(Mechanism::vector_transpose);
  }
  const std::vector<int> before = layout::partition_axes(conversion.from, shape);
  const std::vector<int> after = layout::partition_axes(conversion.to, shape);
  if ((by_dma || by_vector) && isa::is_float(conversion.dtype) &&
      std::ranges::find_first_of(before, after) == before.end()) {
    add(Mechanism::array_transpose);
  }
  return out;
}

std::optional<double> measure_alone(const LoneConversion& conversion, const Target& target,
                                    const sim::Timing& timing) {
  if (conversion.boundary == Boundary::source &&
      !layout::identity_order(conversion.from, conversion.type.shape)) {
    return {};
  }
  const layout::LaidGraph laid = Chain(conversion, target).run();
  const std::vector<std::string> faults = layout::verify(laid, target.machine);
  check(faults.empty(), faults.empty() ? "" : "a lone conversion is sound: " + faults.front());
  const lower::Lowered lowered = lower::lower_stages(laid, target.machine);
  sim::Options options;
  options.values = false;
  options.checks = false;
  const sim::Outcome outcome =
      sim::simulate(lowered.program, target.machine, timing, sim::Inputs{}, options);
  expect_done(outcome, conversion.text());
  const std::string ending =
      fmt::format(": {} -> {} ({})", layout::to_string(conversion.from),
                  layout::to_string(conversion.to), layout::name_of(conversion.mechanism));
  std::optional<double> last;  // none: nothing is emitted
  for (const isa::SourceId id : lowered.program.sources.ids()) {
    if (lowered.program.sources[id].name.ends_with(ending)) {
      const auto cycles =
          sim::reference_cycles(timing, outcome.report.sources[id.index()].attributed);
      last = static_cast<double>(cycles.count());
    }
  }
  return last;
}

}  // namespace systole::driver
