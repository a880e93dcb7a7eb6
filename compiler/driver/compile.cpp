// systole compile: a model to a program file, or the text of any stage on the way.
#include <cstdio>
#include <functional>

#include "compiler/driver/commands.hpp"
#include "compiler/driver/output_file.hpp"
#include "compiler/driver/pipeline.hpp"
#include "compiler/graph/text.hpp"
#include "compiler/layout/apply.hpp"
#include "compiler/layout/text.hpp"
#include "compiler/solver/text.hpp"
#include "isa/base/error.hpp"
#include "isa/binary.hpp"
#include "isa/text.hpp"

namespace systole::driver {
namespace {

// Constants up to this size are written into an assembly file; larger ones are left out (timing only): the binary has all.
constexpr std::size_t assembly_data_bytes = std::size_t{1} << 16U;

constexpr const char* stages =
    "read, canonicalize, state, solve, apply, plan, tile, allocate, schedule";

void put(const std::string& output, const std::string& text) {
  if (output.empty()) {
    std::fputs(text.c_str(), stdout);
  } else {
    write_file(output, text);
  }
}

bool known_stage(const std::string& stage) {
  const std::string list = std::string(stages) + ",";
  return stage.empty() || list.find(stage + ",") != std::string::npos;
}

std::string emit_form(const CompileOptions& options) {
  if (!options.emit.empty()) {
    return options.emit;
  }
  return options.output.ends_with(".bin") ? "bin" : "asm";
}

std::string stage_text(const std::string& stage, const Compiled& compiled) {
  if (stage == "plan") {
    return lower::to_text(compiled.residency, compiled.stripped);
  }
  if (stage != "tile" && stage != "allocate") {
    return isa::print(compiled.program);
  }
  lower::TileProgram tiles =
      lower::tile(compiled.stripped, compiled.residency, compiled.planned_for);
  tiles.name = compiled.program.name;
  return stage == "tile" ? lower::to_text(tiles) : lower::to_text(compiled.allocation, tiles);
}

}  // namespace

int compile(const CompileOptions& options) {
  if (!known_stage(options.dump_after)) {
    throw Error("--dump-after " + options.dump_after, "is no stage",
                std::string("the stages are: ") + stages);
  }
  if (!options.dump_after.empty() && !options.emit.empty()) {
    throw Error("--dump-after and --emit", "cannot both say what is written", "give one of them");
  }
  expect_outputs({options.output}, files_read(options.model, options.target));
  const std::string form = emit_form(options);
  if (form == "bin" && options.output.empty()) {
    throw Error("--emit bin", "needs a file", "give -o FILE");
  }
  const Target target = load_target(options.target);
  const solver::Strategy& strategy = strategy_named(options.strategy);
  graph::Graph read;
  const Model model = load_model(options.model, &read);
  const std::string& dump = options.dump_after;
  if (dump == "read" || dump == "canonicalize") {
    put(options.output, graph::print(dump == "read" ? read : model.graph));
    return 0;
  }
  const layout::Statement statement = state(model, target);
  if (dump == "state" || form == "problem") {
    put(options.output, dump == "state" ? layout::to_text(statement, model.graph)
                                        : solver::print_problem(statement.problem));
    return 0;
  }
  const solver::Result solved =
      solver::solve(strategy, statement.problem, budget_of(options.solve, options.target.threads));
  if (dump == "solve") {
    put(options.output, solver::print_result(statement.problem, solved, options.strategy));
    return 0;
  }
  if (solved.assignment.row.empty() && !statement.problem.operators.empty()) {
    std::fprintf(stderr, "systole: %s found no layout assignment: %s\n", options.strategy.c_str(),
                 solved.note.c_str());
    return 3;
  }
  if (dump == "apply" || form == "dot") {
    const layout::LaidGraph laid = layout::apply(model.graph, statement, solved.assignment);
    put(options.output, dump == "apply" ? layout::to_text(laid) : layout::to_dot(laid));
    return 0;
  }
  const Compiled compiled = compile_assignment(model, target, statement, solved.assignment);
  if (!dump.empty()) {
    put(options.output, stage_text(dump, compiled));
  } else if (form == "bin") {
    write_file(options.output, std::span<const std::byte>(isa::encode(compiled.program)));
  } else {
    isa::PrintOptions print;
    if (!options.output.empty()) {
      print.inline_data_bytes = assembly_data_bytes;
    }
    put(options.output, isa::print(compiled.program, print));
  }
  return 0;
}

}  // namespace systole::driver
