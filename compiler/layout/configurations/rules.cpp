#include "compiler/layout/configurations/rules.hpp"

#include <algorithm>
#include <utility>

#include "compiler/layout/block_turn.hpp"

namespace systole::layout {

namespace {

bool has(const Iterators& iterators, int iterator) {
  return std::ranges::find(iterators, iterator) != iterators.end();
}

std::int64_t product(const Iterators& iterators, const Site& site) {
  std::int64_t extent = 1;
  for (const int iterator : iterators) {
    extent *= site.extents[static_cast<std::size_t>(iterator)];
  }
  return extent;
}

bool is_group(const PartitionRule& rule, const Iterators& partition, const Site& site) {
  std::size_t prefix = 0;
  while (prefix < partition.size() && has(rule.prefix, partition[prefix])) {
    ++prefix;
  }
  const Iterators part(partition.begin() + static_cast<std::ptrdiff_t>(prefix), partition.end());
  if (!std::ranges::all_of(part, [&](int i) { return has(rule.iterators, i); })) {
    return false;
  }
  if (prefix > 0 && (part.empty() || product(part, site) % rule.multiple != 0)) {
    return false;
  }
  // Iterators of a form are distinct, so as many as there are means all of them.
  return part.size() == 1 || part.size() == rule.iterators.size();
}

bool satisfies(const PartitionRule& rule, const Iterators& partition, const Site& site) {
  const auto member = [&rule](int i) { return has(rule.iterators, i); };
  switch (rule.kind) {
    case PartitionRule::Kind::without:
      return std::ranges::none_of(partition, member);
    case PartitionRule::Kind::within:
      return !partition.empty() && std::ranges::all_of(partition, member);
    case PartitionRule::Kind::exactly:
      return partition == rule.iterators;
    case PartitionRule::Kind::one:
      return rule.iterators.empty() ? partition.empty()
                                    : partition.size() == 1 && member(partition[0]);
    case PartitionRule::Kind::group:
      return is_group(rule, partition, site);
  }
  return false;
}

// Largest extent first, then lowest number.
Iterators by_extent(Iterators iterators, const Site& site) {
  std::ranges::stable_sort(iterators, [&](int a, int b) {
    return site.extents[static_cast<std::size_t>(a)] > site.extents[static_cast<std::size_t>(b)];
  });
  return iterators;
}

std::vector<Iterators> wished_partitions(const PartitionRule& rule, const Iterators& own,
                                         const Site& site) {
  std::vector<Iterators> lists;
  const auto singles = [&](const Iterators& of) {
    for (const int i : by_extent(of, site)) {
      lists.push_back({i});
    }
  };
  switch (rule.kind) {
    case PartitionRule::Kind::without: {
      Iterators allowed = own;
      std::erase_if(allowed, [&](int i) { return has(rule.iterators, i); });
      singles(allowed);
      lists.emplace_back();
      break;
    }
    case PartitionRule::Kind::within: {
      Iterators allowed = own;
      std::erase_if(allowed, [&](int i) { return !has(rule.iterators, i); });
      singles(allowed);
      break;
    }
    case PartitionRule::Kind::exactly:
      lists.push_back(rule.iterators);
      break;
    case PartitionRule::Kind::one:
      singles(rule.iterators);
      if (rule.iterators.empty()) {
        lists.emplace_back();
      }
      break;
    case PartitionRule::Kind::group: {
      singles(rule.iterators);
      if (rule.iterators.size() != 1) {
        lists.push_back(rule.iterators);
      }
      if (!rule.prefix.empty()) {
        const std::size_t without_prefix = lists.size();
        for (std::size_t i = 0; i < without_prefix; ++i) {
          Iterators longer = rule.prefix;
          longer.insert(longer.end(), lists[i].begin(), lists[i].end());
          lists.push_back(std::move(longer));
        }
      }
      break;
    }
  }
  return lists;
}

}  // namespace

Site site_of(const graph::Graph& graph, const graph::Node& node, const isa::Machine& machine) {
  Site site;
  site.graph = &graph;
  site.node = &node;
  site.machine = &machine;
  for (const graph::TensorId input : node.inputs) {
    site.shapes.push_back(&graph.tensors[input].shape);
    site.constant.push_back(graph.tensors[input].kind == graph::TensorKind::constant);
  }
  site.shapes.push_back(&graph.tensors[node.output].shape);
  site.constant.push_back(false);
  site.space = iteration_space(graph, node);
  site.extents.assign(static_cast<std::size_t>(site.space.iterators), 1);
  for (std::size_t position = 0; position < site.positions(); ++position) {
    const Iterators& own = site.space.operands[position];
    for (std::size_t axis = 0; axis < own.size(); ++axis) {
      std::int64_t& extent = site.extents[static_cast<std::size_t>(own[axis])];
      const std::int64_t here = (*site.shapes[position])[axis];
      extent = extent == 1 ? here : std::max(extent, here);
    }
  }
  return site;
}

std::vector<Rule> rules_of(const Site& site) {
  return std::visit([&site](const auto& op) { return rules(op, site); }, site.node->op);
}

bool satisfies(const OperandRule& rule, const Form& form, const Site& site, std::size_t position) {
  if (!satisfies(rule.partition, form.partition, site) ||
      (rule.few_partitions && form.partition.size() > 1)) {
    return false;
  }
  if (rule.ascending) {
    Iterators order = form.partition;
    order.insert(order.end(), form.free.begin(), form.free.end());
    return order == moving(*site.shapes[position], site.space.operands[position]);
  }
  return true;
}

Form form_with(const Iterators& partition, const Site& site, std::size_t position) {
  Iterators own = moving(*site.shapes[position], site.space.operands[position]);
  Form form;
  form.mask = mask_of(own);
  for (const int iterator : partition) {
    if (std::erase(own, iterator) > 0) {
      form.partition.push_back(iterator);
    }
  }
  form.free = std::move(own);
  return form;
}

std::vector<Form> wishes(const OperandRule& rule, const Site& site, std::size_t position) {
  std::vector<Form> forms;
  const Iterators own = moving(*site.shapes[position], site.space.operands[position]);
  for (const Iterators& partition : wished_partitions(rule.partition, own, site)) {
    Form form = form_with(partition, site, position);
    if (satisfies(rule, form, site, position)) {
      forms.push_back(std::move(form));
    }
  }
  return forms;
}

Operand operand_of(const Layout& layout, const Site& site, std::size_t position) {
  return {layout, form_of(layout, *site.shapes[position], site.space.operands[position])};
}

Operand operand_of(const Form& form, const Site& site, std::size_t position) {
  return {layout_of(form, *site.shapes[position], site.space.operands[position]), form};
}

bool holds(const Link& link, const Operand& a, const Operand& b, const Site& site) {
  const Form& fa = a.form;
  const Form& fb = b.form;
  switch (link.kind) {
    case Link::Kind::agree:
      return agree(fa, fb);
    case Link::Kind::same_partition:
      return fa.partition == fb.partition;
    case Link::Kind::kept_partition:
      return kept_partition_axes(a.layout, b.layout, *site.shapes[static_cast<std::size_t>(link.b)],
                                 site.machine->partitions)
          .has_value();
    case Link::Kind::disjoint_partition:
      return std::ranges::none_of(fa.partition, [&](int i) { return has(fb.partition, i); });
    case Link::Kind::turned_by_dma:
      return transposition_of(a.layout, b.layout, *site.shapes[static_cast<std::size_t>(link.b)])
          .has_value();
    case Link::Kind::turned_in_blocks:
      return block_turn_of(a.layout, b.layout, *site.shapes[static_cast<std::size_t>(link.b)],
                           *site.machine)
          .has_value();
    case Link::Kind::same_free_order:
      return agree({{}, fa.free, mask_of(fa.free)}, {{}, fb.free, mask_of(fb.free)});
    case Link::Kind::relabelled: {
      const graph::Shape& shape = *site.shapes[static_cast<std::size_t>(link.b)];
      const auto layout =
          through_reshape(a.layout, *site.shapes[static_cast<std::size_t>(link.a)], shape);
      return layout && same_bytes(*layout, b.layout, shape);
    }
  }
  return false;
}

std::vector<Operand> across(const Link& link, const Rule& rule, const Operand& from,
                            std::size_t from_position, const Site& site) {
  const auto to =
      static_cast<std::size_t>(from_position == static_cast<std::size_t>(link.a) ? link.b : link.a);
  const graph::Shape& shape = *site.shapes[to];
  const Iterators& own = site.space.operands[to];
  std::vector<Operand> found;
  const auto offer = [&](const Form& form) {
    if (satisfies(rule.operands[to], form, site, to)) {
      found.push_back(operand_of(form, site, to));
    }
  };
  switch (link.kind) {
    case Link::Kind::agree:
      offer(induced(from.form, shape, own));
      break;
    case Link::Kind::same_partition:
    case Link::Kind::kept_partition:
      offer(form_with(from.form.partition, site, to));
      break;
    case Link::Kind::disjoint_partition:
    case Link::Kind::turned_by_dma:
    case Link::Kind::turned_in_blocks:
      break;
    case Link::Kind::same_free_order: {
      const Form order = induced({{}, from.form.free, mask_of(from.form.free)}, shape, own);
      for (const Form& wish : wishes(rule.operands[to], site, to)) {
        Form form{wish.partition, order.free, order.mask};
        std::erase_if(form.free, [&](int i) { return has(wish.partition, i); });
        offer(form);
      }
      break;
    }
    case Link::Kind::relabelled: {
      const auto layout = through_reshape(from.layout, *site.shapes[from_position], shape);
      if (layout) {
        found.push_back(operand_of(*layout, site, to));
        if (!satisfies(rule.operands[to], found.back().form, site, to)) {
          found.clear();
        }
      }
      break;
    }
  }
  return found;
}

}  // namespace systole::layout
