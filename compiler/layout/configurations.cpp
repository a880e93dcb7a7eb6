// One mechanism for all operators: a rule (configurations/rules.hpp) says what one way of computing
// demands of every operand and of pairs of operands; here the output's layout is chosen first, then
// the arguments' one after another, each against its own demand and the links to what is chosen.
// Constants take what the others leave them.
#include "compiler/layout/configurations.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "compiler/layout/configurations/rules.hpp"

namespace systole::layout {

namespace {

using Chosen = std::vector<std::optional<Operand>>;

bool fits_chosen(const Rule& rule, const Chosen& chosen, std::size_t position,
                 const Operand& operand, const Site& site) {
  for (const Link& link : rule.links) {
    const auto a = static_cast<std::size_t>(link.a);
    const auto b = static_cast<std::size_t>(link.b);
    if ((a == position && chosen[b] && !holds(link, operand, *chosen[b], site)) ||
        (b == position && chosen[a] && !holds(link, *chosen[a], operand, site))) {
      return false;
    }
  }
  return true;
}

// What a position that no domain restricts may take, given the others: by its links, otherwise by
// its own rule.
std::vector<Operand> proposals(const Rule& rule, const Chosen& chosen, std::size_t position,
                               const Site& site) {
  for (const Link& link : rule.links) {
    const auto a = static_cast<std::size_t>(link.a);
    const auto b = static_cast<std::size_t>(link.b);
    if (a == position && chosen[b]) {
      return across(link, rule, *chosen[b], b, site);
    }
    if (b == position && chosen[a]) {
      return across(link, rule, *chosen[a], a, site);
    }
  }
  std::vector<Operand> found;
  for (const Form& form : wishes(rule.operands[position], site, position)) {
    found.push_back(operand_of(form, site, position));
  }
  return found;
}

// Instructions run along the result's iterators, so those are a constant's innermost free axes: [O,
// C, kh, kw] of a convolution is packed (C|kh kw O).
Operand packed(Operand operand, const Rule& rule, const Site& site, std::size_t position) {
  if (std::ranges::any_of(rule.links,
                          [&](const Link& link) {
                            return link.kind != Link::Kind::same_partition &&
                                   (static_cast<std::size_t>(link.a) == position ||
                                    static_cast<std::size_t>(link.b) == position);
                          }) ||
      rule.operands[position].ascending) {
    return operand;
  }
  const std::uint64_t result = mask_of(site.space.operands.back());
  std::ranges::stable_partition(operand.form.free, [&](int i) { return (result & bit(i)) == 0; });
  return operand_of(operand.form, site, position);
}

Configuration configuration_of(const Rule& rule, const Chosen& chosen) {
  Configuration configuration;
  configuration.mechanism = rule.mechanism;
  for (std::size_t i = 0; i + 1 < chosen.size(); ++i) {
    configuration.inputs.push_back(chosen[i]->layout);
  }
  configuration.output = chosen.back()->layout;
  return configuration;
}

// Output first: it has most of the iterators of most operators.
std::size_t position_at(std::size_t step, std::size_t positions) {
  return step == 0 ? positions - 1 : step - 1;
}

class Search {
 public:
  using Candidates = std::vector<std::vector<Operand>>;  // per position, already against its rule
  using Emit = std::function<bool(const Chosen&)>;       // false: enough

  Search(const Site& site, const Rule& rule, const Candidates& candidates,
         const std::vector<bool>& open, Emit emit)
      : site_(site),
        rule_(rule),
        candidates_(candidates),
        open_(open),
        emit_(std::move(emit)),
        chosen_(site.positions()) {}

  bool run() { return choose(0); }

 private:
  bool choose(std::size_t step) {
    if (step == site_.positions()) {
      return emit_(chosen_);
    }
    const std::size_t position = position_at(step, site_.positions());
    if (open_[position]) {
      for (const Operand& operand : proposals(rule_, chosen_, position, site_)) {
        if (fits_chosen(rule_, chosen_, position, operand, site_)) {
          chosen_[position] =
              site_.constant[position] ? packed(operand, rule_, site_, position) : operand;
          const bool more = choose(step + 1);
          chosen_[position].reset();
          if (!more || site_.constant[position]) {
            return more;  // one layout of a constant per choice of the others
          }
        }
      }
      return true;
    }
    for (const Operand& operand : candidates_[position]) {
      if (fits_chosen(rule_, chosen_, position, operand, site_)) {
        chosen_[position] = operand;
        if (!choose(step + 1)) {
          return false;
        }
        chosen_[position].reset();
      }
    }
    return true;
  }

  const Site& site_;
  const Rule& rule_;
  const Candidates& candidates_;
  const std::vector<bool>& open_;
  Emit emit_;
  Chosen chosen_;
};

}  // namespace

std::vector<Configuration> configurations(
    const graph::Graph& graph, graph::NodeId node,
    const IdVector<graph::TensorId, std::vector<Layout>>& domains, const isa::Machine& machine) {
  const Site site = site_of(graph, graph.nodes[node], machine);
  std::vector<std::vector<Operand>> all(site.positions());
  for (std::size_t position = 0; position < site.positions(); ++position) {
    if (!site.constant[position]) {
      for (const Layout& layout : domains[site.tensor(position)]) {
        all[position].push_back(operand_of(layout, site, position));
      }
    }
  }
  std::vector<Configuration> found;
  for (const Rule& rule : rules_of(site)) {
    std::vector<std::vector<Operand>> candidates(site.positions());
    for (std::size_t position = 0; position < site.positions(); ++position) {
      std::ranges::copy_if(
          all[position], std::back_inserter(candidates[position]), [&](const Operand& operand) {
            return satisfies(rule.operands[position], operand.form, site, position);
          });
    }
    Search(site, rule, candidates, site.constant, [&](const Chosen& chosen) {
      found.push_back(configuration_of(rule, chosen));
      return true;
    }).run();
  }
  return found;
}

bool accepts(const graph::Graph& graph, graph::NodeId node, const Configuration& configuration,
             const isa::Machine& machine) {
  const Site site = site_of(graph, graph.nodes[node], machine);
  if (configuration.inputs.size() + 1 != site.positions()) {
    return false;
  }
  Chosen operands;
  for (std::size_t position = 0; position < site.positions(); ++position) {
    const bool last = position + 1 == site.positions();
    const Layout& layout = last ? configuration.output : configuration.inputs[position];
    if (!fits(layout, *site.shapes[position]) || layout.padding != 0) {
      return false;
    }
    operands.push_back(operand_of(canonical(layout, *site.shapes[position]), site, position));
  }
  return std::ranges::any_of(rules_of(site), [&](const Rule& rule) {
    if (rule.mechanism != configuration.mechanism) {
      return false;
    }
    for (std::size_t position = 0; position < site.positions(); ++position) {
      if (!satisfies(rule.operands[position], operands[position]->form, site, position)) {
        return false;
      }
    }
    return std::ranges::all_of(rule.links, [&](const Link& link) {
      return holds(link, *operands[static_cast<std::size_t>(link.a)],
                   *operands[static_cast<std::size_t>(link.b)], site);
    });
  });
}

Configuration fallback(const Site& site) {
  std::optional<Configuration> found;
  const std::vector<bool> open(site.positions(), true);
  for (const Rule& rule : rules_of(site)) {
    Search(site, rule, {}, open, [&](const Chosen& chosen) {
      found = configuration_of(rule, chosen);
      return false;
    }).run();
    if (found) {
      return *found;
    }
  }
  check(false, "every operator has a configuration: " + site.node->name);
  return {};
}

}  // namespace systole::layout
