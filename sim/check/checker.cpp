#include "sim/check/checker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

namespace systole::sim {
namespace {

constexpr std::int64_t chip_block = 1024;
constexpr std::int64_t hbm_block = 65536;

isa::TensorId written_tensor(const isa::Operation& operation) {
  if (const auto* dma = operation.get_if<isa::Dma>()) {
    return dma->destination.space == isa::Space::hbm ? dma->destination.tensor : isa::TensorId();
  }
  if (const auto* indirect = operation.get_if<isa::DmaIndirect>()) {
    const isa::DmaAccess& to = indirect->scatter ? indirect->table : indirect->rows_side;
    return to.space == isa::Space::hbm ? to.tensor : isa::TensorId();
  }
  return {};
}

bool exists_at_start(isa::Role role) {
  return role == isa::Role::input || role == isa::Role::constant;
}

}  // namespace

Checker::Checker(const isa::Program& program, const isa::Machine& machine)
    : program_(program),
      machine_(machine),
      clocks_(program, machine.dma_rings),
      sbuf_shadow_(machine.sbuf_bytes, chip_block),
      psum_shadow_(machine.psum_banks * machine.psum_bank_bytes, chip_block),
      sbuf_written_(machine.sbuf_bytes),
      psum_written_(machine.psum_banks * machine.psum_bank_bytes),
      psum_started_(machine.psum_banks * machine.psum_bank_bytes),
      loaded_rows_(static_cast<std::size_t>(machine.array_columns)),
      tensors_(program.tensors.size()) {
  if (machine.partitions > PartitionSet::capacity || machine.array_rows > PartitionSet::capacity) {
    throw Error(
        "machine " + machine.name,
        fmt::format("checks support at most {} partitions and array rows", PartitionSet::capacity),
        "run without checks");
  }
  for (const auto& stream : program.streams) {
    for (const isa::Instruction& instruction : stream) {
      const isa::TensorId id = written_tensor(instruction.operation);
      if (id.valid() && id.index() < tensors_.size()) {
        tensors_[id.index()].written_by_program = true;
      }
    }
  }
  for (std::size_t t = 0; t < tensors_.size(); ++t) {
    const isa::HbmTensor& tensor = program.tensors[isa::TensorId(t)];
    const std::int64_t bytes = isa::storage_bytes(tensor);
    if (tensors_[t].written_by_program) {
      tensors_[t].shadow = std::make_unique<Shadow>(bytes, hbm_block);
    }
    if (!exists_at_start(tensor.role)) {
      tensors_[t].written = std::make_unique<WrittenBytes>(bytes);
    }
  }
}

std::string Checker::describe(const Footprint& footprint) const {
  if (footprint.space == isa::Space::hbm) {
    return fmt::format("bytes {} to {} of tensor {}", footprint.begin, footprint.end - 1,
                       program_.tensors[footprint.tensor].name);
  }
  return fmt::format("bytes {} to {} of a partition of {}", footprint.begin, footprint.end - 1,
                     footprint.space == isa::Space::psum ? "PSUM" : "SBUF");
}

Shadow* Checker::shadow_of(const Footprint& footprint) {
  switch (footprint.space) {
    case isa::Space::hbm:
      return tensors_[footprint.tensor.index()].shadow.get();
    case isa::Space::sbuf:
      return &sbuf_shadow_;
    case isa::Space::psum:
      return &psum_shadow_;
  }
  return nullptr;
}

std::optional<Checker::Problem> Checker::check_read(const Footprint& footprint) {
  bool written = true;
  switch (footprint.space) {
    case isa::Space::hbm: {
      const Tensor& tensor = tensors_[footprint.tensor.index()];
      written = !tensor.written || tensor.written->contains(footprint);
      break;
    }
    case isa::Space::sbuf:
      written = sbuf_written_.contains(footprint);
      break;
    case isa::Space::psum:
      written = psum_written_.contains(footprint);
      break;
  }
  if (written) {
    return std::nullopt;
  }
  return Problem{FaultKind::uninitialised,
                 "reads " + describe(footprint) + ", not all of which were ever written"};
}

std::optional<Checker::Problem> Checker::check_race(const Access& access,
                                                    const Footprint& footprint) {
  Shadow* shadow = shadow_of(footprint);
  const Access* other = shadow == nullptr ? nullptr : shadow->enter(access, footprint, clocks_);
  if (other == nullptr) {
    return std::nullopt;
  }
  const isa::Instruction& instruction =
      program_.streams[static_cast<std::size_t>(other->engine)][other->instruction];
  return Problem{
      FaultKind::race,
      fmt::format("{} {}, which {} instruction {} ({}) of {} {}; no semaphore orders them",
                  access.is_write ? "writes" : "reads", describe(footprint),
                  isa::name_of(other->engine), other->instruction,
                  isa::name_of(instruction.operation), isa::source_name(program_, instruction),
                  other->is_write ? "writes" : "reads")};
}

std::optional<Checker::Problem> Checker::check_array(const isa::Operation& operation) {
  if (const auto* load = operation.get_if<isa::LoadStationary>()) {
    const PartitionSet rows =
        partition_range(load->stationary.partition, load->stationary.partitions);
    const int end = load->column + static_cast<int>(isa::columns_of(*load));
    if (last_load_.covers(rows, load->column, end)) {
      return std::nullopt;
    }
    last_load_ = {rows, load->column, end};
    const auto first = loaded_rows_.begin() + load->column;
    std::for_each(first, first + isa::columns_of(*load),
                  [&rows](PartitionSet& set) { set.add(rows); });
    return std::nullopt;
  }
  const auto* multiply = operation.get_if<isa::Multiply>();
  if (multiply == nullptr) {
    return std::nullopt;
  }
  const PartitionSet rows =
      partition_range(multiply->moving.partition, multiply->moving.partitions);
  const auto first = loaded_rows_.begin() + multiply->out.partition;
  const bool loaded = last_load_.covers(rows, multiply->out.partition,
                                        multiply->out.partition + multiply->out.partitions);
  if (!loaded && !std::all_of(first, first + multiply->out.partitions,
                              [&rows](const PartitionSet& set) { return rows.within(set); })) {
    return Problem{FaultKind::uninitialised, "multiplies with weights that were never loaded"};
  }
  return std::nullopt;
}

std::optional<Checker::Problem> Checker::check_accumulation(const Footprint& footprint) {
  if (psum_started_.contains(footprint)) {
    return std::nullopt;
  }
  return Problem{FaultKind::unstarted_accumulation,
                 "accumulates onto " + describe(footprint) + ", which no multiply has started"};
}

void Checker::note_write(const isa::Operation& operation, const Footprint& footprint) {
  switch (footprint.space) {
    case isa::Space::hbm:
      if (tensors_[footprint.tensor.index()].written) {
        tensors_[footprint.tensor.index()].written->add(footprint);
      }
      return;
    case isa::Space::sbuf:
      sbuf_written_.add(footprint);
      return;
    case isa::Space::psum:
      psum_written_.add(footprint);
      if (operation.holds<isa::Multiply>()) {
        psum_started_.add(footprint);
      } else {
        psum_started_.remove(footprint);
      }
      return;
  }
}

std::optional<Checker::Problem> Checker::start(isa::Engine engine, std::size_t index,
                                               const std::vector<std::int64_t>* rows) {
  const isa::Instruction& instruction = program_.streams[static_cast<std::size_t>(engine)][index];
  const Stamp stamp = clocks_.start(engine, instruction);
  if (auto refused = check_array(instruction.operation)) {
    return refused;
  }
  const auto* multiply = instruction.operation.get_if<isa::Multiply>();
  const bool accumulates = multiply != nullptr && multiply->accumulate;
  std::optional<Problem> problem;
  for_each_touch(instruction.operation, rows, [&](const Footprint& footprint, bool is_write) {
    const Access access{engine, is_write, static_cast<std::uint32_t>(index), stamp};
    if (!is_write) {
      problem = check_read(footprint);
    } else if (accumulates) {
      problem = check_accumulation(footprint);
    }
    if (!problem) {
      problem = check_race(access, footprint);
    }
    if (!problem && is_write && !accumulates) {  // what is started is written
      note_write(instruction.operation, footprint);
    }
    return !problem;
  });
  if (problem) {
    return problem;
  }
  if (instruction.signal.valid()) {
    clocks_.signal(engine, instruction.signal, stamp);
  }
  return std::nullopt;
}

std::optional<std::string> Checker::unwritten_output() const {
  for (std::size_t t = 0; t < tensors_.size(); ++t) {
    const isa::HbmTensor& tensor = program_.tensors[isa::TensorId(t)];
    std::int64_t logical = 1;
    for (const std::int64_t extent : tensor.shape) {
      logical *= extent;
    }
    if (tensor.role == isa::Role::output && logical == isa::elements(tensor) &&
        !tensors_[t].written->all()) {
      return tensor.name;
    }
  }
  return std::nullopt;
}

}  // namespace systole::sim
