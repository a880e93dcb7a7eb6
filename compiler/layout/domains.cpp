#include "compiler/layout/domains.hpp"

#include <algorithm>
#include <utility>

#include "compiler/layout/configurations/rules.hpp"

namespace systole::layout {

namespace {

using graph::TensorId;

class Generator {
 public:
  Generator(const graph::Graph& graph, const isa::Machine& machine, const DomainOptions& options)
      : graph_(graph),
        options_(options),
        domains_(graph.tensors.size()),
        places_(graph.tensors.size()) {
    for (const graph::Node& node : graph.nodes) {
      sites_.push_back(site_of(graph, node, machine));
      rules_.push_back(rules_of(sites_.back()));
      for (std::size_t position = 0; position < sites_.back().positions(); ++position) {
        places_[sites_.back().tensor(position)].emplace_back(sites_.size() - 1, position);
      }
    }
  }

  Domains run() {
    add_needed();
    if (options_.kind == DomainKind::partition) {
      // One axis at a time, carried through the graph at once: the free order of a partition axis
      // is then the same on both sides of a transpose.
      for (const TensorId tensor : graph_.tensors.ids()) {
        for (const Layout& layout : single_axes(tensor)) {
          add(tensor, layout);
          spread();
        }
      }
    } else {
      for (const TensorId tensor : graph_.tensors.ids()) {
        for (const Layout& layout : single_axes(tensor)) {
          add(tensor, layout);
        }
      }
      add_wishes();
      spread();
    }
    return std::move(domains_);
  }

 private:
  [[nodiscard]] bool is_constant(TensorId tensor) const {
    return graph_.tensors[tensor].kind == graph::TensorKind::constant;
  }

  // In the partition domain a second order for the same partition axis is of no interest, nor is a
  // group of axes.
  [[nodiscard]] bool wanted(TensorId tensor, const Layout& layout) const {
    const std::vector<Layout>& domain = domains_[tensor];
    if (is_constant(tensor) || domain.size() >= options_.cap) {
      return false;
    }
    if (options_.kind == DomainKind::full) {
      return std::ranges::find(domain, layout) == domain.end();
    }
    return layout.split <= 1 && std::ranges::none_of(domain, [&](const Layout& other) {
             return other.split == layout.split &&
                    std::equal(layout.order.begin(), layout.order.begin() + layout.split,
                               other.order.begin());
           });
  }

  void add(TensorId tensor, const Layout& layout) {
    if (wanted(tensor, layout)) {
      append(tensor, layout);
    }
  }

  void need(TensorId tensor, const Layout& layout) {
    const std::vector<Layout>& domain = domains_[tensor];
    if (!is_constant(tensor) && std::ranges::find(domain, layout) == domain.end()) {
      append(tensor, layout);
    }
  }

  void append(TensorId tensor, const Layout& layout) {
    queue_.emplace_back(tensor, domains_[tensor].size());
    domains_[tensor].push_back(layout);
  }

  [[nodiscard]] std::vector<Layout> single_axes(TensorId tensor) const {
    const graph::Shape& shape = graph_.tensors[tensor].shape;
    const int rank = static_cast<int>(shape.size());
    std::vector<Layout> layouts;
    for (int axis = 0; axis < rank; ++axis) {
      if (shape[static_cast<std::size_t>(axis)] != 1) {
        Layout layout = row_major(rank, 1);
        std::rotate(layout.order.begin(), layout.order.begin() + axis,
                    layout.order.begin() + axis + 1);
        layouts.push_back(canonical(layout, shape));
      }
    }
    if (layouts.empty()) {
      layouts.push_back(canonical(row_major(rank, 0), shape));
    }
    return layouts;
  }

  void add_needed() {
    for (const std::vector<TensorId>* boundary : {&graph_.inputs, &graph_.outputs}) {
      for (const TensorId tensor : *boundary) {
        need(tensor,
             single_axes(tensor).front());  // the first axis, the others in order: row-major
      }
    }
    for (const Site& site : sites_) {
      const Configuration configuration = fallback(site);
      for (std::size_t i = 0; i < configuration.inputs.size(); ++i) {
        need(site.tensor(i), configuration.inputs[i]);
      }
      need(site.node->output, configuration.output);
    }
    // Unused inputs too have a layout.
    for (const TensorId tensor : graph_.tensors.ids()) {
      if (!is_constant(tensor) && domains_[tensor].empty()) {
        need(tensor, single_axes(tensor).front());
      }
    }
  }

  void add_wishes() {
    for (std::size_t node = 0; node < sites_.size(); ++node) {
      const Site& site = sites_[node];
      for (const Rule& rule : rules_[node]) {
        for (std::size_t position = 0; position < site.positions(); ++position) {
          const PartitionRule::Kind kind = rule.operands[position].partition.kind;
          if (kind == PartitionRule::Kind::without && !rule.operands[position].few_partitions) {
            continue;  // single axes are there already
          }
          for (const Form& form : wishes(rule.operands[position], site, position)) {
            add(site.tensor(position), operand_of(form, site, position).layout);
          }
        }
      }
    }
  }

  // Breadth first: what is fewest operators away from its origin comes before the cap does.
  void spread() {
    for (; spread_ < queue_.size(); ++spread_) {
      const auto [tensor, index] = queue_[spread_];
      const Layout layout = domains_[tensor][index];
      for (const auto& [node, position] : places_[tensor]) {
        spread_one(node, position, layout);
      }
    }
  }

  void spread_one(std::size_t node, std::size_t position, const Layout& layout) {
    const Site& site = sites_[node];
    const Operand operand = operand_of(layout, site, position);
    for (const Rule& rule : rules_[node]) {
      if (rule.links.empty() || !satisfies(rule.operands[position], operand.form, site, position)) {
        continue;
      }
      for (const Link& link : rule.links) {
        const auto a = static_cast<std::size_t>(link.a);
        const auto b = static_cast<std::size_t>(link.b);
        if (a != position && b != position) {
          continue;
        }
        const std::size_t other = a == position ? b : a;
        if (!is_constant(site.tensor(other))) {
          for (const Operand& there : across(link, rule, operand, position, site)) {
            add(site.tensor(other), there.layout);
          }
        }
      }
    }
  }

  const graph::Graph& graph_;
  const DomainOptions& options_;
  std::vector<Site> sites_;
  std::vector<std::vector<Rule>> rules_;
  Domains domains_;
  IdVector<TensorId, std::vector<std::pair<std::size_t, std::size_t>>> places_;  // (node, position)
  std::vector<std::pair<TensorId, std::size_t>> queue_;  // every layout in order of appearance
  std::size_t spread_ = 0;  // how many of the queue have been carried to their neighbours
};

}  // namespace

std::string_view name_of(DomainKind kind) {
  switch (kind) {
    case DomainKind::full:
      return "full";
    case DomainKind::partition:
      return "partition";
  }
  return "?";
}

std::optional<DomainKind> find_domain_kind(std::string_view name) {
  for (const DomainKind kind : {DomainKind::full, DomainKind::partition}) {
    if (name == name_of(kind)) {
      return kind;
    }
  }
  return std::nullopt;
}

Domains domains(const graph::Graph& graph, const isa::Machine& machine,
                const DomainOptions& options) {
  return Generator(graph, machine, options).run();
}

}  // namespace systole::layout
