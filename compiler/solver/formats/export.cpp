#include "compiler/solver/formats/export.hpp"

#include "compiler/solver/formats/json.hpp"
#include "compiler/solver/formats/linear.hpp"
#include "compiler/solver/formats/wcnf.hpp"
#include "compiler/solver/formats/wcsp.hpp"
#include "compiler/solver/text.hpp"
#include "compiler/solver/treewidth/bounds.hpp"
#include "compiler/solver/treewidth/graph.hpp"
#include "compiler/solver/treewidth/pace.hpp"
#include "isa/base/error.hpp"

namespace systole::solver::formats {

std::string exported(const Problem& problem, const std::string& format) {
  if (format == "wcnf-old" || format == "wcnf") {
    return print_wcnf(wcnf_of(problem).formula,
                      format == "wcnf" ? WcnfDialect::new_marks : WcnfDialect::old_header);
  }
  if (format == "wcsp") {
    return print_wcsp(wcsp_of(problem), "layout-selection");
  }
  if (format == "cfn") {
    return print_cfn(wcsp_of(problem), "layout-selection");
  }
  if (format == "lp") {
    return print_lp(linear_program_of(problem));
  }
  if (format == "opb") {
    return print_opb(linear_program_of(problem));
  }
  if (format == "gr") {
    return print_gr(treewidth::graph_of(problem));
  }
  if (format == "td") {
    const treewidth::Graph graph = treewidth::graph_of(problem);
    return print_td(graph, decomposition_of(graph, treewidth::width_bounds(graph).order));
  }
  if (format == "ls") {
    return print_ls(problem);
  }
  if (format == "json") {
    return print_json(problem);
  }
  if (format == "text") {
    return print_problem(problem);
  }
  throw Error("--export", "unknown format " + format,
              "use text, json, ls, wcnf, wcnf-old, wcsp, cfn, lp, opb, gr or td");
}

}  // namespace systole::solver::formats
