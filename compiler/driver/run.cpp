// systole run: one program on the machine; outputs come from simulated memory, and are compared when asked.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "compiler/driver/commands.hpp"
#include "compiler/driver/output_file.hpp"
#include "compiler/driver/pipeline.hpp"
#include "compiler/driver/table.hpp"
#include "compiler/driver/values.hpp"
#include "compiler/frontend/npy.hpp"
#include "isa/base/error.hpp"
#include "isa/binary.hpp"
#include "isa/text.hpp"
#include "sim/report/print.hpp"
#include "sim/simulate.hpp"

namespace systole::driver {
namespace {

namespace fs = std::filesystem;

graph::ElementType element_type(isa::DType dtype) {
  const auto found =
      graph::find_element_type(dtype == isa::DType::b8 ? "boolean" : isa::name_of(dtype));
  return found.value_or(graph::ElementType::f32);
}

// A graph with only the boundary of a program: what inputs and outputs need.
graph::Graph boundary_of(const isa::Program& program) {
  graph::Graph graph;
  graph.name = program.name;
  for (const isa::HbmTensor& tensor : program.tensors) {
    if (tensor.role == isa::Role::input) {
      graph::add_input(graph, tensor.name, element_type(tensor.dtype), tensor.shape);
    } else if (tensor.role == isa::Role::output) {
      graph.outputs.push_back(graph.tensors.add({tensor.name,
                                                 element_type(tensor.dtype),
                                                 tensor.shape,
                                                 graph::TensorKind::intermediate,
                                                 {},
                                                 nullptr}));
      graph.output_names.push_back(tensor.name);
    }
  }
  return graph;
}

// By its ending, or by how it begins: with the binary's mark, or with the text's first line below comments.
bool is_program(const std::string& path) {
  if (path.size() > 4 && (path.ends_with(".asm") || path.ends_with(".bin"))) {
    return true;
  }
  std::ifstream file(path, std::ios::binary);
  std::array<char, 64> start{};
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  if (isa::is_binary(
          std::as_bytes(std::span(start)).first(static_cast<std::size_t>(file.gcount())))) {
    return true;
  }
  file.clear();
  file.seekg(0);
  std::string line;
  do {
    line.assign(start.size(), '\0');
    file.getline(line.data(), static_cast<std::streamsize>(line.size()));
    line.resize(std::min(line.size(), line.find('\0')));
    line.erase(0, line.find_first_not_of(" \t\r"));
  } while (file && (line.empty() || line.front() == ';'));
  return line.starts_with("systole program ");
}

// The float types of a program's HBM tensors, in order of appearance.
std::string types_of(const isa::Program& program) {
  std::vector<std::string_view> names;
  for (const isa::HbmTensor& tensor : program.tensors) {
    if (isa::is_float(tensor.dtype) &&
        std::find(names.begin(), names.end(), isa::name_of(tensor.dtype)) == names.end()) {
      names.push_back(isa::name_of(tensor.dtype));
    }
  }
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, "+"));
}

struct Loaded {
  graph::Graph graph;
  isa::Program program;
  isa::Machine machine;
  std::string strategy;
  std::string dtype;
  bool from_file = false;  // nothing has verified the program yet
  bool weights_absent = false;
};

Loaded load(const RunOptions& options) {
  Loaded out;
  if (!options.model.model.empty() && is_program(options.model.model)) {
    out.program = isa::read_program(options.model.model);
    out.machine = isa::read_machine(options.target.machine);
    isa::expect_machine(out.program, out.machine);
    out.graph = boundary_of(out.program);
    out.strategy = "program file";
    out.dtype = types_of(out.program);
    out.from_file = true;
    for (const isa::HbmTensor& tensor : out.program.tensors) {
      out.weights_absent =
          out.weights_absent || (tensor.role == isa::Role::constant && tensor.data == nullptr);
    }
    return out;
  }
  static_cast<void>(
      strategy_named(options.strategy));  // a wrong name is refused before a long import
  const Model model = load_model(options.model);
  Target target = load_target(options.target);
  if (options.timing_only || model.weights_absent) {
    target = with_room(std::move(target));
  }
  const layout::Statement statement = state(model, target);
  const solver::Assignment chosen =
      select_layouts(statement, options.strategy, options.solve, options.target.threads);
  out.program = compile_assignment(model, target, statement, chosen).program;
  out.graph = model.graph;
  out.machine = target.machine;
  out.strategy = options.strategy;
  out.dtype = options.target.dtype;
  out.weights_absent = model.weights_absent;
  return out;
}

// 0 if every expectation holds, 1 if one does not.
int compare_expected(const std::map<std::string, std::string>& expected, const graph::Graph& graph,
                     const std::vector<graph::Array>& outputs, const RunOptions& options) {
  int code = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto file = expected.find(graph.output_names[i]);
    if (file == expected.end()) {
      continue;
    }
    const graph::Array want = frontend::read_npy(file->second);
    if (want.shape != outputs[i].shape || want.type != outputs[i].type) {
      std::printf("output %s: shape or type differs: got %s %s, expected %s %s\n",
                  file->first.c_str(), std::string(graph::name_of(outputs[i].type)).c_str(),
                  graph::to_string(outputs[i].shape).c_str(),
                  std::string(graph::name_of(want.type)).c_str(),
                  graph::to_string(want.shape).c_str());
      code = 1;
      continue;
    }
    const bool exact = !graph::is_float(want.type);
    const Difference d =
        compare(outputs[i], want, exact ? 0 : options.rtol, exact ? 0 : options.atol);
    std::printf("output %s: %s, largest difference %.3g (of %.3g)%s%s\n", file->first.c_str(),
                d.outside == 0 ? "as expected" : "DIFFERS", d.largest, d.magnitude,
                d.outside == 0 ? "" : "; first at ", d.first.c_str());
    code = d.outside == 0 ? code : 1;
  }
  return code;
}

void expect_outputs_named(const std::map<std::string, std::string>& expected,
                          const graph::Graph& graph) {
  for (const auto& [name, file] : expected) {
    if (std::find(graph.output_names.begin(), graph.output_names.end(), name) ==
        graph.output_names.end()) {
      throw Error("--expect " + name, "the model has no such output",
                  fmt::format("its outputs are: {}", fmt::join(graph.output_names, ", ")));
    }
  }
}

std::string file_name(std::string name) {
  for (char& c : name) {
    c = std::string_view("/\\:*?\"<>| ").find(c) == std::string_view::npos ? c : '_';
  }
  return name + ".npy";
}

std::vector<std::string> run_reads(const RunOptions& options) {
  std::vector<std::string> read = files_read(options.model, options.target);
  for (const auto& [name, file] : pairs("--expect", options.expect)) {
    read.push_back(file);
  }
  return read;
}

void prepare_output_folder(const RunOptions& options, const graph::Graph& graph) {
  make_folder(options.output_folder);
  std::vector<std::string> files{options.trace, options.report, options.json};
  for (const std::string& name : graph.output_names) {
    files.push_back(fs::path(options.output_folder) / file_name(name));
  }
  expect_outputs(files, run_reads(options));
}

void check_options(const RunOptions& options) {
  if (!(options.rtol >= 0 && std::isfinite(options.rtol) && options.atol >= 0 &&
        std::isfinite(options.atol))) {
    throw Error("--rtol, --atol", "must be finite and not negative",
                "give tolerances such as 1e-4");
  }
  if (options.timing_only && (!options.expect.empty() || !options.output_folder.empty())) {
    throw Error("--timing-only", "computes no values to compare or write",
                "leave out --expect and --output, or --timing-only");
  }
  expect_outputs({options.trace, options.report, options.json}, run_reads(options));
  if (!options.output_folder.empty() && fs::exists(options.output_folder) &&
      !fs::is_directory(options.output_folder)) {
    throw Error("--output " + options.output_folder, "is not a folder", "give a folder");
  }
}

std::string result_json(const Loaded& loaded, const sim::Report& report, int code) {
  nlohmann::ordered_json line;
  line["schema"] = "systole-run-1";
  line["model"] = loaded.program.name;
  line["machine"] = loaded.program.machine;
  line["strategy"] = loaded.strategy;
  line["version"] = SYSTOLE_VERSION;
  line["cycles"] = report.cycles;
  line["microseconds"] = report.microseconds;
  line["hbm_read_bytes"] = report.hbm_read_bytes;
  line["hbm_written_bytes"] = report.hbm_written_bytes;
  line["utilisation"] = report.utilisation;
  line["exit"] = code;
  return line.dump() + "\n";
}

}  // namespace

int run(const RunOptions& options) {
  check_options(options);
  const auto expected = pairs("--expect", options.expect);
  const Loaded loaded = load(options);
  expect_outputs_named(expected, loaded.graph);
  const bool values = !options.timing_only && !loaded.weights_absent;
  if (!values && (!expected.empty() || !options.output_folder.empty())) {
    throw Error(loaded.program.name,
                "has weights without data, so there are no values to write or compare",
                "use --weights random:SEED, or --timing-only without --expect and --output");
  }
  if (!options.output_folder.empty()) {
    prepare_output_folder(options, loaded.graph);
  }
  const sim::Timing timing = sim::read_timing(options.target.machine);
  sim::Options sim_options;
  sim_options.values = values;
  sim_options.checks = options.checks;
  sim_options.rules = loaded.from_file;
  sim_options.trace = !options.trace.empty();
  const sim::Inputs inputs =
      values ? machine_inputs(loaded.program, model_inputs(loaded.graph, options.model))
             : sim::Inputs{};
  const sim::Outcome outcome =
      sim::simulate(loaded.program, loaded.machine, timing, inputs, sim_options);
  if (outcome.status != sim::Status::done) {
    for (const sim::Fault& fault : outcome.faults) {
      std::fprintf(stderr, "systole: %s\n", fault.text.c_str());
    }
    return 1;
  }
  std::printf("model %s  machine %s  strategy %s  dtype %s  seed %llu  systole %s\n",
              loaded.program.name.c_str(), loaded.program.machine.c_str(), loaded.strategy.c_str(),
              loaded.dtype.c_str(), static_cast<unsigned long long>(options.model.seed),
              SYSTOLE_VERSION);
  std::fputs(sim::print_table(outcome.report, loaded.program, timing).c_str(), stdout);
  int code = 0;
  if (values) {
    const auto outputs = model_outputs(loaded.graph, loaded.program, outcome.outputs);
    code = compare_expected(expected, loaded.graph, outputs, options);
    if (!options.output_folder.empty()) {
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        frontend::write_npy(
            fs::path(options.output_folder) / file_name(loaded.graph.output_names[i]), outputs[i]);
      }
    }
  }
  if (!options.trace.empty()) {
    write_file(options.trace, sim::print_trace(outcome.trace, loaded.program, timing.tick_ghz));
  }
  if (!options.report.empty()) {
    write_file(options.report, sim::print_yaml(outcome.report, loaded.program, timing));
  }
  if (!options.json.empty()) {
    write_file(options.json, result_json(loaded, outcome.report, code));
  }
  return code;
}

}  // namespace systole::driver
