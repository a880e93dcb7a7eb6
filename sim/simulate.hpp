// Running a program on the machine.
//
// Given a program, the machine it was compiled for, its timing and the host's arrays: the outputs
// as the program left them in simulated HBM, and what it cost. With timing off the streams run in
// some legal order, with values off only time passes (data-dependent faults such as an index out of
// range are then not seen). Both modes share everything else.
//
// Outcomes are values: `fault` if the program did something the machine refuses (the first refusals
// are listed, the run stops at the first), `deadlock` if streams cannot go on. Throws Error for
// what the user can mend: a program of another machine, a missing or ill-sized input, a constant
// without data in a run with values.
//
// Same arguments, same outcome, whatever ran before in the process. Timed runs of one process are
// serialised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "isa/machine.hpp"
#include "isa/program.hpp"
#include "sim/report/report.hpp"
#include "sim/report/trace.hpp"
#include "sim/timing/timing.hpp"

namespace systole::sim {

// Host arrays by tensor name: row-major over the tensor's shape, in its element type.
using Arrays = std::map<std::string, std::vector<std::byte>>;

struct Inputs {
  Arrays arrays;
};

struct Options {
  bool values = true;
  bool timing = true;
  bool checks = true;   // uninitialised reads, races, ranges, unstarted accumulation
  bool rules = false;   // isa/verify's rules for each instruction, for programs that nothing has verified before
  bool poison = false;  // memory and the inputs' padding start as NaN instead of 0
  bool trace = false;   // fill Outcome::trace (timed runs)
};

enum class Status : std::uint8_t { done, fault, deadlock };
[[nodiscard]] std::string_view name_of(Status status);

enum class FaultKind : std::uint8_t {
  out_of_range,
  uninitialised,
  race,
  unstarted_accumulation,
  bad_index,
  broken_rule,
  deadlock
};
[[nodiscard]] std::string_view name_of(FaultKind kind);

struct Fault {
  FaultKind kind = FaultKind::out_of_range;
  isa::Engine engine = isa::Engine::sync;
  std::size_t instruction = 0;  // position in the engine's stream
  std::string source;           // of the instruction
  std::string text;             // the whole sentence, with engine, instruction and source
};

struct Outcome {
  Status status = Status::done;
  std::vector<Fault> faults;
  Arrays outputs;  // empty without values
  Report report;   // without timing: counts only
  Trace trace;
};

[[nodiscard]] Outcome simulate(const isa::Program& program, const isa::Machine& machine,
                               const Timing& timing, const Inputs& inputs,
                               const Options& options = {});

}  // namespace systole::sim
