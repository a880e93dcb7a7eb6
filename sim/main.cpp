// systole-sim: runs a program file on the simulated machine, without the compiler.
//
// Exit codes: 0 done, 1 the machine refused the program or it deadlocked, 2 the user's mistake.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "isa/base/error.hpp"
#include "isa/binary.hpp"
#include "isa/verify.hpp"
#include "sim/npy.hpp"
#include "sim/report/print.hpp"
#include "sim/simulate.hpp"

namespace {

using systole::Error;
namespace isa = systole::isa;
namespace sim = systole::sim;

struct Arguments {
  std::string program;
  std::string machine = "trn1";
  std::vector<std::string> inputs;
  std::string output;
  std::string report;
  std::string trace;
  bool timing_only = false;
  bool no_timing = false;
  bool no_checks = false;
};

// Whole or not at all.
void write_text(const std::string& path, const std::string& text) {
  const std::string temporary = path + ".tmp";
  {
    std::ofstream stream(temporary, std::ios::binary);
    stream << text;
    stream.flush();
    if (!stream) {
      std::filesystem::remove(temporary);
      throw Error(path, "cannot be written", "check the folder and the permissions");
    }
  }
  std::filesystem::rename(temporary, path);
}

sim::Inputs read_inputs(const Arguments& arguments, const isa::Program& program) {
  sim::Inputs inputs;
  for (const std::string& argument : arguments.inputs) {
    const std::size_t split = argument.find('=');
    if (split == std::string::npos) {
      throw Error("--input " + argument, "is not NAME=FILE",
                  "give the input's name and its .npy file");
    }
    const std::string name = argument.substr(0, split);
    const isa::HbmTensor* found = nullptr;
    for (const isa::HbmTensor& tensor : program.tensors) {
      found = tensor.role == isa::Role::input && tensor.name == name ? &tensor : found;
    }
    if (found == nullptr) {
      throw Error("--input " + name, "the program has no such input",
                  "use the names of the program's inputs");
    }
    inputs.arrays[name] = sim::read_npy(argument.substr(split + 1), *found);
  }
  return inputs;
}

int run(const Arguments& arguments) {
  if (!arguments.report.empty() && arguments.report == arguments.trace) {
    throw Error("--report, --trace", "name one file", "give each a name of its own");
  }
  const isa::Machine machine = isa::read_machine(arguments.machine);
  const sim::Timing timing = sim::read_timing(arguments.machine);
  const isa::Program program = isa::read_program(arguments.program);
  isa::expect_machine(program, machine);
  isa::expect_valid(program, machine);
  sim::Options options;
  options.values = !arguments.timing_only;
  options.timing = !arguments.no_timing;
  options.checks = !arguments.no_checks;
  options.trace = !arguments.trace.empty();
  const sim::Inputs inputs = options.values ? read_inputs(arguments, program) : sim::Inputs{};
  const sim::Outcome outcome = sim::simulate(program, machine, timing, inputs, options);
  for (const sim::Fault& fault : outcome.faults) {
    std::fprintf(stderr, "systole-sim: %s\n", fault.text.c_str());
  }
  if (outcome.status != sim::Status::done) {
    return 1;
  }
  if (options.timing) {
    std::fputs(sim::print_table(outcome.report, program, timing).c_str(), stdout);
  }
  if (!arguments.report.empty()) {
    write_text(arguments.report, sim::print_yaml(outcome.report, program, timing));
  }
  if (!arguments.trace.empty()) {
    write_text(arguments.trace, sim::print_trace(outcome.trace, program, timing.tick_ghz));
  }
  if (!arguments.output.empty()) {
    std::filesystem::create_directories(arguments.output);
    for (const isa::HbmTensor& tensor : program.tensors) {
      if (tensor.role == isa::Role::output && options.values) {
        std::string file = tensor.name;
        for (char& c : file) {
          c = c == '/' || c == '\\' ? '_' : c;
        }
        write_text(arguments.output + "/" + file + ".npy",
                   sim::npy_text(tensor, outcome.outputs.at(tensor.name)));
      }
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Runs a program on the simulated machine. Example: systole-sim program.asm --input x=x.npy "
      "--output out");
  Arguments arguments;
  app.add_option("program", arguments.program, "program file, assembly or binary")->required();
  app.add_option("--machine", arguments.machine, "machine by name or file (default trn1)");
  app.add_option("--input", arguments.inputs, "NAME=FILE.npy, once per input");
  app.add_option("--output", arguments.output, "folder for the outputs, one .npy each");
  app.add_option("--report", arguments.report, "file for the full report (YAML)");
  app.add_option("--trace", arguments.trace, "file for a timeline (JSON, for Perfetto)");
  app.add_flag("--timing-only", arguments.timing_only, "no values, only time");
  app.add_flag("--no-timing", arguments.no_timing, "no time, only values");
  app.add_flag("--no-checks", arguments.no_checks, "no watch for races and uninitialised reads");
  try {
    app.parse(argc, argv);
    return run(arguments);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "systole-sim: %s; see --help\n", error.what());
    return 2;
  } catch (const Error& error) {
    std::fprintf(stderr, "systole-sim: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "systole-sim: %s\n", error.what());
    return 2;
  }
}
