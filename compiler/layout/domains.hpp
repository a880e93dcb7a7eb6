// The domain L(t) of every tensor: the layouts that layout selection may give it. Generated from
// the graph, not listed by hand, so that an unusual operator gets what it needs and a usual one
// stays small.
//
// In this order, until a tensor has as many as Options::cap:
//   0. what keeps every operator feasible: one configuration of each node, row-major at boundaries
//   (never cut off);
//   1. every axis of extent other than 1 as the partition axis, the others free in logical order;
//   2. what the operators wish for (groups of contracted axes, heads x head_dim behind each other,
//   ...);
//   3. what a neighbour's layout becomes on the other side of an operator, forwards and backwards,
//   in rounds until
//      nothing new appears: axis groups through reshapes, free orders through transposes,
//      restrictions through broadcasts and reductions.
// All layouts are canonical and distinct. Constants have none: each configuration takes what it
// needs.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "compiler/graph/graph.hpp"
#include "compiler/layout/layout.hpp"
#include "isa/machine.hpp"

namespace systole::layout {

using Domains = IdVector<graph::TensorId, std::vector<Layout>>;

enum class DomainKind : std::uint8_t {
  full,       // as above
  partition,  // the paper's choice of one partition axis: one layout per partition axis (steps 0
              // and 1, free orders by 3)
};
[[nodiscard]] std::string_view name_of(DomainKind kind);
[[nodiscard]] std::optional<DomainKind> find_domain_kind(std::string_view name);

struct DomainOptions {
  DomainKind kind = DomainKind::full;
  std::size_t cap = 16;  // layouts per tensor, those of step 0 not counted against it
};

[[nodiscard]] Domains domains(const graph::Graph& graph, const isa::Machine& machine,
                              const DomainOptions& options = {});

}  // namespace systole::layout
