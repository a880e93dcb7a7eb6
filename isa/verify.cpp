#include "isa/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "isa/base/error.hpp"
#include "isa/limits.hpp"
#include "isa/names.hpp"
#include "isa/rules/context.hpp"

namespace systole::isa {
namespace rules {

namespace {

int power_step(int unit, int count) {
  int step = unit;
  while (step < count) {
    step *= 2;
  }
  return step;
}

}  // namespace

Context::Context(const Program& the_program, const Machine& the_machine)
    : program(the_program),
      machine(the_machine),
      psum_bytes(the_machine.psum_banks * the_machine.psum_bank_bytes) {
  for (int count = 0; count <= machine.partitions; ++count) {
    start_steps_.push_back(isa::start_step(machine, count));
  }
  for (int count = 0; count <= std::max(machine.array_rows, machine.array_columns) + 1; ++count) {
    tile_steps_.push_back(power_step(machine.row_tile_min, count));
  }
}

}  // namespace rules

namespace {

using rules::Context;

// ---- The program as a whole.

bool extents_fit(const std::vector<std::int64_t>& extents) {
  return extents.size() <= static_cast<std::size_t>(tensor_rank_max) &&
         std::all_of(extents.begin(), extents.end(),
                     [](std::int64_t e) { return e >= 0 && e <= tensor_bytes_max; });
}

// Storage axis i holds logical axis order[i], padded.
bool order_fits(const HbmTensor& tensor) {
  if (tensor.order.size() != tensor.shape.size() || tensor.storage.size() != tensor.shape.size()) {
    return false;
  }
  std::vector<bool> seen(tensor.order.size());
  for (std::size_t i = 0; i < tensor.order.size(); ++i) {
    const auto axis = static_cast<std::size_t>(tensor.order[i]);
    if (tensor.order[i] < 0 || axis >= seen.size() || seen[axis] ||
        tensor.storage[i] < tensor.shape[axis]) {
      return false;
    }
    seen[axis] = true;
  }
  return true;
}

// Whether its size is known.
bool check_tensor(Context& c, const HbmTensor& tensor) {
  if (!extents_fit(tensor.shape) || !extents_fit(tensor.storage) ||
      storage_bytes(tensor) > tensor_bytes_max) {
    c.report("tensor \"{}\" has an extent, a rank or a size out of range", tensor.name);
    return false;
  }
  const bool has_host_side = tensor.role == Role::input || tensor.role == Role::output;
  if (has_host_side && !order_fits(tensor)) {
    c.report("tensor \"{}\": shape, order and storage do not describe one array", tensor.name);
  }
  if (tensor.data != nullptr && tensor.role != Role::constant) {
    c.report("tensor \"{}\" carries data, only constants do", tensor.name);
  }
  if (tensor.data != nullptr &&
      static_cast<std::int64_t>(tensor.data->size()) != storage_bytes(tensor)) {
    c.report("tensor \"{}\" has {} bytes of data, its storage takes {}", tensor.name,
             tensor.data->size(), storage_bytes(tensor));
  }
  return true;
}

void check_names(Context& c, const Program& program) {
  std::vector<std::string_view> names;
  for (const HbmTensor& tensor : program.tensors) {
    if (tensor.role == Role::input || tensor.role == Role::output) {
      names.emplace_back(tensor.name);
    }
  }
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) {
    c.report("two inputs or outputs are named \"{}\"", *twice);
  }
}

void check_program(Context& c, const Program& program) {
  if (program.semaphores < 0 || program.semaphores > semaphores_max) {
    c.report("{} semaphores, allowed are up to {}", program.semaphores, semaphores_max);
  }
  std::int64_t total = 0;
  for (const HbmTensor& tensor : program.tensors) {
    if (check_tensor(c, tensor)) {
      total = std::min(total + storage_bytes(tensor), 2 * tensor_bytes_max);
    }
  }
  if (total > c.machine.hbm_bytes) {
    c.report("the tensors take {} bytes, HBM has {}", total, c.machine.hbm_bytes);
  }
  check_names(c, program);
}

// ---- Each instruction's frame.

void check_frame(Context& c, Engine stream, const Instruction& instruction) {
  if (instruction.engine != stream) {
    c.report("is marked for {}", name_of(instruction.engine));
  }
  if (!executes_on(instruction.operation, stream, c.machine.scalar_copy)) {
    c.report("{} does not execute it{}", name_of(stream),
             stream == Engine::gpsimd ? " (and reaches no PSUM)" : "");
  }
  const auto semaphores = static_cast<std::size_t>(std::max(c.program.semaphores, 0));
  if (instruction.signal.valid() && instruction.signal.index() >= semaphores) {
    c.report("signals semaphore {}, the program has {}", instruction.signal.index(), semaphores);
  }
  for (const SemaphoreWait& wait : instruction.waits) {
    if (!wait.semaphore.valid() || wait.semaphore.index() >= semaphores) {
      c.report("waits for a semaphore out of range, the program has {}", semaphores);
    }
  }
  if (instruction.source.valid() && instruction.source.index() >= c.program.sources.size()) {
    c.report("names source {}, the program has {}", instruction.source.index(),
             c.program.sources.size());
  }
}

// ---- Can it finish? Streams advance as far as they can, in turn, until none moves. Ids out of range were reported
// before and are ignored.

class Playthrough {
 public:
  explicit Playthrough(const Program& program)
      : program_(program),
        values_(static_cast<std::size_t>(std::clamp(program.semaphores, 0, semaphores_max))) {}

  void run(Context& c) {
    bool moved = true;
    while (moved) {
      moved = false;
      for (std::size_t e = 0; e < program_.streams.size(); ++e) {
        moved = advance(e) || moved;
      }
    }
    for (std::size_t e = 0; e < program_.streams.size(); ++e) {
      if (next_[e] < program_.streams[e].size()) {
        report(c, e);
      }
    }
  }

 private:
  [[nodiscard]] bool reached(const SemaphoreWait& wait) const {
    const std::size_t index = wait.semaphore.index();
    return index >= values_.size() || values_[index] >= wait.at_least;
  }
  [[nodiscard]] bool ready(const Instruction& instruction) const {
    return std::all_of(instruction.waits.begin(), instruction.waits.end(),
                       [this](const SemaphoreWait& wait) { return reached(wait); });
  }
  bool advance(std::size_t engine) {
    const auto& stream = program_.streams[engine];
    std::size_t& next = next_[engine];
    const std::size_t start = next;
    while (next < stream.size() && ready(stream[next])) {
      if (const std::size_t signal = stream[next].signal.index(); signal < values_.size()) {
        ++values_[signal];
      }
      ++next;
    }
    return next != start;
  }
  void report(Context& c, std::size_t engine) const {
    const Instruction& blocked = program_.streams[engine][next_[engine]];
    c.enter(static_cast<Engine>(engine), next_[engine], blocked.source);
    for (const SemaphoreWait& wait : blocked.waits) {
      if (!reached(wait)) {
        c.report("waits for semaphore {} to reach {}, it never passes {}", wait.semaphore.index(),
                 wait.at_least, values_[wait.semaphore.index()]);
      }
    }
    c.leave();
  }

  const Program& program_;
  std::vector<std::int64_t> values_;
  std::array<std::size_t, engine_count> next_{};
};

}  // namespace

std::vector<Diagnostic> verify_frame(const Program& program, const Machine& machine) {
  Context context(program, machine);
  check_program(context, program);
  return context.take();
}

namespace {

void check_streams(Context& context, const Program& program) {
  check_program(context, program);
  for (std::size_t e = 0; e < program.streams.size(); ++e) {
    const auto engine = static_cast<Engine>(e);
    std::size_t index = 0;
    for (const Instruction& instruction : program.streams[e]) {
      context.enter(engine, index++, instruction.source);
      check_frame(context, engine, instruction);
      rules::check_operation(context, instruction.operation);
    }
  }
  context.leave();
}

}  // namespace

std::vector<Diagnostic> verify_instructions(const Program& program, const Machine& machine) {
  Context context(program, machine);
  check_streams(context, program);
  return context.take();
}

std::vector<Diagnostic> verify(const Program& program, const Machine& machine) {
  Context context(program, machine);
  check_streams(context, program);
  Playthrough(program).run(context);
  return context.take();
}

std::string describe(const Diagnostic& diagnostic, const Program& program) {
  if (!diagnostic.engine) {
    return fmt::format("program \"{}\": {}", program.name, diagnostic.what);
  }
  const auto& stream = program.streams[static_cast<std::size_t>(*diagnostic.engine)];
  std::string place =
      fmt::format("{} instruction {}", name_of(*diagnostic.engine), diagnostic.instruction);
  if (diagnostic.instruction < stream.size()) {
    place += fmt::format(" ({}", name_of(stream[diagnostic.instruction].operation));
    const SourceId source = diagnostic.source;
    if (source.valid() && source.index() < program.sources.size()) {
      place += fmt::format(", for \"{}\"", program.sources[source].name);
    }
    place += ")";
  }
  return place + ": " + diagnostic.what;
}

void expect_valid(const Program& program, const Machine& machine) {
  const std::vector<Diagnostic> diagnostics = verify(program, machine);
  if (!diagnostics.empty()) {
    std::string what = describe(diagnostics.front(), program);
    if (diagnostics.size() > 1) {
      what += fmt::format(" (and {} more)", diagnostics.size() - 1);
    }
    throw Error("", what, "correct the program; systole compile writes valid ones");
  }
}

}  // namespace systole::isa
