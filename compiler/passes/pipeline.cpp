// The one place that knows the order of the passes.
#include <algorithm>
#include <utility>

#include "compiler/passes/passes.hpp"
#include "compiler/passes/rewrite.hpp"
#include "isa/base/error.hpp"

namespace systole::passes {

const std::vector<Pass>& all_passes() {
  static const std::vector<Pass> passes = {
      {"drop_identities", "drop what changes nothing", drop_identities},
      {"slice_gathers", "gathers by evenly spaced constants are slices", slice_gathers},
      {"merge_movement", "merge chains of transposes, reshapes, slices and expands",
       merge_movement},
      {"merge_pads", "pads become padding of convolutions and pooling", merge_pads},
      // Before folding: copies of one operator on a weight without values must not become several
      // weights.
      {"merge_duplicates", "compute equal things once", merge_duplicates},
      {"fold_constants", "compute what depends on constants alone", fold_constants},
      {"narrow_operands", "read operands of maps unexpanded", narrow_operands},
      {"simplify_maps", "maps with neutral, repeated or constant operands", simplify_maps},
      {"delay_divisions", "divide products of softmax, not its shares", delay_divisions},
      {"advance_scales", "powers of two before products that something is added to",
       advance_scales},
      {"fold_scales", "scales behind products go into constant weights", fold_scales},
      {"remove_dead", "drop what no output needs", remove_dead},
  };
  return passes;
}

graph::Graph canonicalize(graph::Graph graph, const Options& given, std::vector<Step>* steps) {
  // Every rewrite lowers (nodes and constants, length of movement chains, maps of two operands) in
  // lexicographic order or folds a node for good, so rounds end by themselves; the bound only turns
  // a mistake here into a message.
  constexpr int round_limit = 1000;
  Options options = given;
  if (options.fold_total == 0) {
    const std::int64_t total = constant_elements(graph);
    options.fold_total = saturating_add(total, std::max(total, options.fold_growth));
  }
  for (int round = 0; round < round_limit; ++round) {
    std::int64_t rewrites = 0;
    for (const Pass& pass : all_passes()) {
      if (pass.run == fold_scales && !options.fold_scales) {
        continue;
      }
      const std::int64_t done = pass.run(graph, options);
      rewrites += done;
      if (steps != nullptr) {
        steps->push_back({pass.name, done});
      }
      if (options.verify_each) {
        const std::vector<std::string> faults = graph::verify(graph);
        check(faults.empty(), faults.empty() ? "" : std::string(pass.name) + ": " + faults.front());
      }
    }
    if (rewrites == 0) {
      return graph;
    }
  }
  check(false, "canonicalize does not come to rest");
  return graph;
}

}  // namespace systole::passes
