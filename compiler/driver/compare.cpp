#include "compiler/driver/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "compiler/driver/commands.hpp"
#include "compiler/driver/output_file.hpp"

namespace systole::driver {

std::vector<TensorCost> costly_tensors(const Measured& worst, const Measured& best) {
  const auto by_name = [&](const Measured& row) {
    std::map<std::string, std::pair<isa::SourceKind, std::int64_t>> out;
    for (const isa::SourceId id : row.sources.ids()) {
      auto& entry = out[row.sources[id].name];
      entry.first = row.sources[id].kind;
      entry.second += row.outcome.report.sources[id.index()].cycles;
    }
    return out;
  };
  const auto reference = by_name(best);
  std::map<std::string, TensorCost> costs;
  for (const auto& [name, entry] : by_name(worst)) {
    if (entry.first == isa::SourceKind::conversion) {
      // "tensor: (from) -> (to) (mechanism)"
      const std::string tensor = name.substr(0, name.find(": ("));
      costs[tensor].conversion_cycles += entry.second;
    } else {
      const auto found = reference.find(name);
      const std::int64_t longer =
          entry.second - (found == reference.end() ? 0 : found->second.second);
      if (longer > 0) {
        costs[name].producer_cycles += longer;
      }
    }
  }
  std::vector<TensorCost> out;
  for (auto& [name, cost] : costs) {
    cost.tensor = name;
    out.push_back(cost);
  }
  std::stable_sort(out.begin(), out.end(), [](const TensorCost& a, const TensorCost& b) {
    return a.conversion_cycles + a.producer_cycles > b.conversion_cycles + b.producer_cycles;
  });
  return out;
}

int compare(const CompareOptions& options) {
  expect_outputs({options.json}, files_read(options.model, options.target));
  const auto strategies = strategies_named(options.strategies);
  const Setting setting = make_setting(options.model, options.target, options.timing_only);
  Comparison comparison;
  comparison.timing_only = setting.expected.empty();
  comparison.tolerance = setting.target.precision == layout::Precision::fp32 ? 1e-4 : 2e-2;
  comparison.title = fmt::format(
      "model {} ({} operators, {} read)  machine {}  costs {}  dtype {}  seed {}  systole {}",
      setting.model.name, setting.model.graph.nodes.size(), setting.model.nodes_read,
      setting.target.machine.name, setting.target.cost_file, options.target.dtype,
      options.model.seed, SYSTOLE_VERSION);
  MeasureOptions how;
  how.solve = options.solve;
  how.threads = options.target.threads;
  how.checks = options.checks;
  for (const solver::Strategy* strategy : strategies) {
    measure(*strategy, setting, how, comparison.rows);
  }
  std::fputs(comparison_text(comparison, setting.timing, options).c_str(), stdout);
  std::fputs(times_text(comparison).c_str(), stderr);
  if (!options.json.empty()) {
    write_file(options.json, comparison_json(comparison, setting.timing));
  }
  bool any = false;
  bool right = true;
  for (const Measured& row : comparison.rows) {
    any = any || row.compiled();
    right = right && (!row.error || *row.error <= comparison.tolerance);
  }
  return !any ? 3 : right ? 0 : 1;
}

}  // namespace systole::driver
