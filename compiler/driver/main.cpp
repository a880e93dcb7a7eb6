// The command line: argument parsing, the one catch, exit codes. 0 done, 1 a check failed, 2 the user's mistake or an
// unsupported model (one line on the error stream), 3 budget exhausted without an answer.
#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <functional>
#include <new>

#include "compiler/driver/commands.hpp"
#include "isa/base/error.hpp"
#include "isa/base/heap.hpp"

namespace {

using namespace systole::driver;

void add_model(CLI::App& app, ModelOptions& options, bool required) {
  auto* model = app.add_option("MODEL", options.model,
                               "ONNX file, recipe (*.yaml), or the name of a recipe in models/");
  model->required(required);
  app.add_option("--dim", options.dims,
                 "Value of a symbolic extent or recipe parameter, NAME=VALUE");
  app.add_option("--input", options.inputs, "Values of an input, NAME=FILE.npy; others are seeded");
  app.add_option("--weights", options.weights, "Weights that the model lacks: random:SEED");
  app.add_option("--seed", options.seed, "Seed of inputs that are not given")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

void add_target(CLI::App& app, TargetOptions& options) {
  app.add_option("--machine", options.machine, "Name in configs/ or a file")->capture_default_str();
  app.add_option("--costs", options.costs, "Cost file (default: the machine's analytic one)");
  app.add_option("--dtype", options.dtype, "bf16: operands rounded, fp32 accumulation; or fp32")
      ->capture_default_str();
  app.add_option("--threads", options.threads, "Threads; never changes a result")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
}

// What is wrong with a number of seconds; empty: nothing.
std::string seconds(const std::string& word) {
  double value = -1;
  const bool number = CLI::detail::lexical_cast(word, value);
  return number && value >= 0 && value <= 1e9
             ? ""
             : "'" + word + "' is not a number of seconds from 0 to 1e9";
}

void add_budget(CLI::App& app, SolveOptions& options) {
  app.add_option("--budget", options.budget_seconds, "Seconds per strategy (default: its own)")
      ->check(seconds, "SECONDS");
  app.add_option("--memory", options.memory_bytes, "Bytes of tables a strategy may hold")
      ->check(CLI::NonNegativeNumber);
}

struct Commands {
  CompareOptions compare;
  CompileOptions compile;
  RunOptions run;
  InspectOptions inspect;
  SolveFileOptions solve;
  BenchOptions bench;
  CalibrateOptions calibrate;
  ExplainOptions explain;
  DiffOptions diff;
  std::string validate_only;
  std::string validate_json;
};

using Action = std::function<int()>;

void add_compare(CLI::App& app, Commands& c, Action& action) {
  auto* sub = app.add_subcommand("compare", "Every strategy, predicted and measured");
  sub->footer("Example: systole compare model.onnx --strategies local,exact --dim batch=1");
  add_model(*sub, c.compare.model, false);
  add_target(*sub, c.compare.target);
  add_budget(*sub, c.compare.solve);
  sub->add_option("--strategies", c.compare.strategies,
                  "Comma-separated (see: systole strategies)");
  sub->add_flag("--timing-only", c.compare.timing_only, "Count cycles without computing values");
  sub->add_flag("!--no-checks", c.compare.checks, "Switch the machine's run-time checks off");
  sub->add_flag("--conversions", c.compare.list_conversions, "List every conversion");
  sub->add_flag("--terms", c.compare.terms, "Predicted and measured cycles per operator");
  sub->add_option("--json", c.compare.json, "Write the report as JSON lines");
  sub->callback([&c, &action] { action = [&c] { return compare(c.compare); }; });
}

void add_compile(CLI::App& app, Commands& c, Action& action) {
  auto* sub = app.add_subcommand("compile", "Compile a model to a program");
  sub->footer("Example: systole compile models/bert.yaml -o bert.bin --strategy exact");
  add_model(*sub, c.compile.model, false);
  add_target(*sub, c.compile.target);
  add_budget(*sub, c.compile.solve);
  sub->add_option("--strategy", c.compile.strategy, "Layout strategy")->capture_default_str();
  sub->add_option("-o,--output", c.compile.output, "File to write (default: print as text)");
  sub->add_option("--emit", c.compile.emit,
                  "asm, bin, problem or dot (default: bin if -o ends in .bin, else asm)")
      ->check(CLI::IsMember({"asm", "bin", "problem", "dot"}));
  sub->add_option(
      "--dump-after", c.compile.dump_after,
      "Print a stage: read, canonicalize, state, solve, apply, plan, tile, allocate, schedule");
  sub->callback([&c, &action] { action = [&c] { return compile(c.compile); }; });
}

void add_run(CLI::App& app, Commands& c, Action& action) {
  auto* sub =
      app.add_subcommand("run", "Compile if needed, simulate, read outputs from simulated memory");
  sub->footer("Example: systole run model.onnx --input x=x.npy --expect y=y.npy --dtype fp32");
  add_model(*sub, c.run.model, false);
  add_target(*sub, c.run.target);
  add_budget(*sub, c.run.solve);
  sub->add_option("--strategy", c.run.strategy, "Layout strategy")->capture_default_str();
  sub->add_option("--output", c.run.output_folder, "Folder for the outputs as .npy");
  sub->add_option("--expect", c.run.expect,
                  "Expected values of an output, NAME=FILE.npy (exit 1 if they differ)");
  sub->add_option("--rtol", c.run.rtol, "Relative tolerance of --expect")->capture_default_str();
  sub->add_option("--atol", c.run.atol, "Absolute tolerance of --expect")->capture_default_str();
  sub->add_flag("--timing-only", c.run.timing_only, "Count cycles without computing values");
  sub->add_flag("!--no-checks", c.run.checks, "Switch the machine's run-time checks off");
  sub->add_option("--trace", c.run.trace, "Write a timeline that Perfetto opens");
  sub->add_option("--report", c.run.report, "Write the machine's report as YAML");
  sub->add_option("--json", c.run.json, "Write the result as JSON lines");
  sub->callback([&c, &action] { action = [&c] { return run(c.run); }; });
}

void add_solve(CLI::App& app, Commands& c, Action& action) {
  auto* sub = app.add_subcommand("solve", "Solve a Layout Selection problem file");
  sub->footer("Example: systole solve problem.ls --strategy exact --budget 10");
  sub->add_option("PROBLEM", c.solve.problem,
                  "Problem file; .json, .wcnf, .wcsp, .cfn, .lp and .opb are read too")
      ->required();
  add_budget(*sub, c.solve.solve);
  sub->add_option("--strategy", c.solve.strategy, "Strategy")->capture_default_str();
  sub->add_option("--threads", c.solve.threads, "Threads; never changes a result")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  sub->add_option("--export", c.solve.export_to,
                  "FORMAT FILE: write the problem in another form, do not solve")
      ->expected(2);
  sub->add_option("--td", c.solve.decomposition,
                  "Tree decomposition (PACE .td, vertices: operators) for treewidth");
  sub->add_option("--result", c.solve.result, "Write the result file");
  sub->add_option("--json", c.solve.json, "Write the result as JSON lines");
  sub->callback([&c, &action] { action = [&c] { return solve_file(c.solve); }; });
}

void add_bench(CLI::App& app, Commands& c, Action& action) {
  auto* sub = app.add_subcommand(
      "bench", "Every configuration of a suite by every strategy, into one result file");
  sub->footer("Example: systole bench paper --output paper.jsonl");
  sub->add_option("SUITE", c.bench.suite, "Name in models/suites/ or a file")->required();
  add_target(*sub, c.bench.target);
  add_budget(*sub, c.bench.solve);
  sub->add_option("--strategies", c.bench.strategies, "Comma-separated (see: systole strategies)");
  sub->add_option("--filter", c.bench.filter, "Only configurations whose name contains this");
  sub->add_option("--shard", c.bench.shard, "I/N: every N-th configuration, from the I-th");
  sub->add_option("--merge", c.bench.merge,
                  "Take over these result files of other shards, run nothing");
  sub->add_option("--output", c.bench.output,
                  "Result file, JSON lines; a run goes on where it stopped (default: SUITE.jsonl)");
  sub->add_option("--seed", c.bench.seed, "Seed of inputs and weights")->capture_default_str();
  sub->add_option("--jobs", c.bench.jobs, "Processes at once")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  sub->add_option(
         "--memory-limit", c.bench.memory_limit_gb,
         "GB that all processes together may hold (default: 3/4 of the machine's, at most 8)")
      ->check(CLI::PositiveNumber);
  sub->add_option(
      "--traces", c.bench.traces,
      "Folder for timelines: of each configuration run, that of the fastest program with "
      "up to 100,000 instructions");
  sub->add_flag("--timing-only", c.bench.timing_only, "Count cycles without computing values");
  sub->add_flag("--predict-only", c.bench.predict_only,
                "Solve and predict, neither compile nor simulate");
  sub->add_flag("!--no-checks", c.bench.checks, "Switch the machine's run-time checks off");
  sub->add_flag("--list", c.bench.list, "Print the names of the configurations, run nothing");
  sub->callback([&c, &action] { action = [&c] { return bench(c.bench); }; });
}

void add_calibrate(CLI::App& app, Commands& c, Action& action) {
  auto* sub = app.add_subcommand("calibrate", "Fit a cost file to what the machine measures");
  sub->footer("Example: systole calibrate --machine trn1 --output trn1.calibrated.yaml");
  add_target(*sub, c.calibrate.target);
  sub->add_option("--suite", c.calibrate.suites,
                  "Suites; of each the configurations for calibration")
      ->capture_default_str();
  sub->add_option("--output", c.calibrate.output,
                  "Cost file to write (default: MACHINE.calibrated.yaml)");
  sub->add_option(
      "--profile", c.calibrate.profile,
      "File of measurements; a run goes on where it stopped (default: MACHINE.profile.jsonl)");
  sub->add_option("--check", c.calibrate.check,
                  "Say whether this cost file still fits the machine (exit 1 if not)");
  sub->add_option("--probes", c.calibrate.probes, "Layouts per configuration besides the best one")
      ->capture_default_str();
  sub->add_option("--rounds", c.calibrate.rounds,
                  "Times to solve by the fitted prices and judge what was chosen, at most; between "
                  "two, a new fit")
      ->capture_default_str();
  sub->add_option("--seed", c.calibrate.seed, "Seed of the layouts")->capture_default_str();
  sub->add_option("--jobs", c.calibrate.jobs, "Processes at once")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  sub->callback([&c, &action] { action = [&c] { return calibrate(c.calibrate); }; });
}

void add_explain(CLI::App& app, Commands& c, Action& action) {
  auto* sub =
      app.add_subcommand("explain", "One strategy's layouts, predicted and measured per operator");
  sub->footer("Example: systole explain model.onnx --strategy exact --json exact.json");
  add_model(*sub, c.explain.model, false);
  add_target(*sub, c.explain.target);
  add_budget(*sub, c.explain.solve);
  sub->add_option("--strategy", c.explain.strategy, "Layout strategy")->capture_default_str();
  sub->add_option("--json", c.explain.json, "Write it as JSON lines, for systole diff");
  sub->callback([&c, &action] { action = [&c] { return explain(c.explain); }; });

  auto* between =
      app.add_subcommand("diff", "Two files of explain --json: one line per operator that moved");
  between->footer("Example: systole diff local.json exact.json");
  between->add_option("A", c.diff.first, "File of systole explain --json")->required();
  between->add_option("B", c.diff.second, "Another one of the same model")->required();
  between->callback([&c, &action] { action = [&c] { return diff(c.diff); }; });
}

void add_others(CLI::App& app, Commands& c, Action& action) {
  auto* look = app.add_subcommand("inspect", "Operators, shapes, parameters, FLOPs of a model");
  look->footer("Example: systole inspect model.onnx --dim batch=1");
  add_model(*look, c.inspect.model, false);
  add_target(*look, c.inspect.target);
  add_budget(*look, c.inspect.solve);
  look->add_option("--strategy", c.inspect.strategy, "Layout strategy of --dot")
      ->capture_default_str();
  look->add_option("--dot", c.inspect.dot, "Write the graph with its layouts for Graphviz");
  look->callback([&c, &action] { action = [&c] { return inspect(c.inspect); }; });

  auto* points =
      app.add_subcommand("validate", "The published hardware points against the machine");
  points->footer("Example: systole validate --only T1");
  points->add_option("--only", c.validate_only, "Points whose id begins so");
  points->add_option("--json", c.validate_json, "Write the table as JSON lines");
  points->callback(
      [&c, &action] { action = [&c] { return validate(c.validate_only, c.validate_json); }; });

  app.add_subcommand("models", "The recipes in models/")->callback([&action] {
    action = list_models;
  });
  app.add_subcommand("machines", "The machines in configs/")->callback([&action] {
    action = list_machines;
  });
  app.add_subcommand("strategies", "The layout strategies")->callback([&action] {
    action = list_strategies;
  });
}

int fail(const char* text) {
  std::fprintf(stderr, "systole: %s\n", text);
  return 2;
}

// The first word when it is neither an option nor a subcommand: the library would only say that one is missing.
void expect_subcommand(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') {
    return;
  }
  std::string names;
  for (const CLI::App* sub : app.get_subcommands({})) {
    if (sub->get_name() == argv[1]) {
      return;
    }
    names += (names.empty() ? "" : ", ") + sub->get_name();
  }
  throw systole::Error("'" + std::string(argv[1]) + "'", "is no subcommand",
                       "they are: " + names + "; see systole --help");
}

}  // namespace

int main(int argc, char** argv) {
  systole::prefer_large_pages();
  CLI::App app{"Systole: layout selection, compilation and simulation for a systolic-array core",
               "systole"};
  app.set_version_flag("--version", SYSTOLE_VERSION);
  app.require_subcommand(1);
  Commands commands;
  Action action;
  add_compare(app, commands, action);
  add_compile(app, commands, action);
  add_run(app, commands, action);
  add_solve(app, commands, action);
  add_bench(app, commands, action);
  add_calibrate(app, commands, action);
  add_explain(app, commands, action);
  add_others(app, commands, action);
  try {
    expect_subcommand(app, argc, argv);
    app.parse(argc, argv);
    return action();
  } catch (const CLI::Success& request) {
    return app.exit(request);  // --help, --version
  } catch (const CLI::ParseError& error) {
    return fail((std::string(error.what()) + "; see systole --help").c_str());
  } catch (const systole::Error& error) {
    return fail(error.what());
  } catch (const std::bad_alloc&) {
    return fail("out of memory; use a smaller model or --timing-only");
  } catch (const std::exception& error) {
    return fail(error.what());
  }
}
