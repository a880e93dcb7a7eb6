#include "compiler/lower/join_evictions.hpp"

#include <algorithm>
#include <optional>

#include "compiler/lower/pieces.hpp"
#include "compiler/lower/schedule_engines.hpp"

namespace systole::lower {
namespace {

// Elements up to which a tile is short: an instruction's fixed time is then a third of its whole time or more.
constexpr std::int64_t short_tile = 128;

// out = in, or in / divisor, of a whole short tile in PSUM.
struct Eviction {
  isa::Access in, out;
  std::optional<isa::Access> divisor;  // one per partition
  BufferId in_buffer, out_buffer, divisor_buffer;
};

std::optional<Eviction> eviction_of(const TileInstruction& item) {
  Eviction out;
  const isa::Operation& operation = item.instruction.operation;
  if (const auto* copy = operation.get_if<isa::Copy>()) {
    out = {copy->in, copy->out, {}, item.buffers[0], item.buffers[1], {}};
  } else if (const auto* scalar = operation.get_if<isa::TensorScalar>();
             scalar != nullptr && scalar->op0 == isa::AluOp::divide &&
             scalar->op1 == isa::AluOp::bypass && !scalar->reverse0 && scalar->s0.per_partition) {
    out = {scalar->in,      scalar->out,     scalar->s0.access,
           item.buffers[0], item.buffers[1], item.buffers[2]};
  } else {
    return std::nullopt;
  }
  const bool dense = out.in.rank == 1 && out.in.dims[0].stride == 1 && out.in.offset == 0;
  const bool row = out.out.rank == 1 && out.out.dims[0].stride == 1 &&
                   out.out.dims[0].extent == out.in.dims[0].extent;
  return out.in.space == isa::Space::psum && out.out.space == isa::Space::sbuf && dense && row &&
                 out.in.dims[0].extent <= short_tile
             ? std::optional(out)
             : std::nullopt;
}

// The same but for where it lies.
bool alike(isa::Access a, const isa::Access& b) {
  a.offset = b.offset;
  return a == b;
}

// The step, in bytes, from one to the next; nothing if the two cannot be one instruction.
struct Steps {
  std::int64_t out = 0;
  std::int64_t divisor = 0;
  bool operator==(const Steps&) const = default;
};
std::optional<Steps> steps_between(const Eviction& a, const Eviction& b) {
  if (!alike(a.in, b.in) || !alike(a.out, b.out) || a.out_buffer != b.out_buffer ||
      a.in_buffer == b.in_buffer || a.divisor.has_value() != b.divisor.has_value() ||
      (a.divisor && (!alike(*a.divisor, *b.divisor) || a.divisor_buffer != b.divisor_buffer))) {
    return std::nullopt;
  }
  const Steps steps{b.out.offset - a.out.offset,
                    a.divisor ? b.divisor->offset - a.divisor->offset : 0};
  const int size = isa::size_of(a.out.dtype);
  const bool whole = steps.out > 0 && steps.out % size == 0 && steps.divisor >= 0 &&
                     (!a.divisor || steps.divisor % isa::size_of(a.divisor->dtype) == 0);
  return whole ? std::optional(steps) : std::nullopt;
}

isa::Access rows(isa::Access access, std::int64_t step_bytes, std::int64_t count, isa::Dim row) {
  const isa::Dim outer = make_dim(step_bytes / isa::size_of(access.dtype), count);
  access.rank = 2;
  access.dims[0] = outer;
  access.dims[1] = row;
  if (outer.stride == std::int64_t{row.stride} * row.extent) {
    access.rank = 1;
    access.dims[0] = make_dim(row.stride, count * row.extent);
    access.dims[1] = {};
  }
  return access;
}

class Joining {
 public:
  Joining(TileProgram& program, const isa::Machine& machine)
      : program_(program), machine_(machine), place_(program.buffers.size()) {}

  void run() {
    std::vector<TileInstruction>& items = program_.instructions;
    std::vector<bool> gone(items.size(), false);
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (gone[i]) {
        continue;
      }
      const std::vector<std::size_t> group = group_at(i);
      if (group.size() > 1) {
        join(group);
        for (std::size_t k = 0; k + 1 < group.size(); ++k) {
          gone[group[k]] = true;
        }
      }
    }
    std::size_t index = 0;
    std::erase_if(items, [&](const TileInstruction&) { return gone[index++]; });
    move_products();
  }

 private:
  struct Place {  // of a buffer in another
    BufferId in;
    std::int64_t at = 0;
  };

  // The evictions from `begin` on that can be one in the place of the last. Between two of them there is only work of the
  // array that takes it less than the first takes its engine.
  [[nodiscard]] std::vector<std::size_t> group_at(std::size_t begin) const {
    const std::vector<TileInstruction>& items = program_.instructions;
    std::vector<std::size_t> group{begin};
    const std::optional<Eviction> first = eviction_of(items[begin]);
    if (!first) {
      return group;
    }
    const std::int64_t most = machine_.psum_bank_bytes / tile_bytes(*first);
    const std::int64_t patience =
        estimated(items[begin].instruction.operation, isa::Engine::vector, machine_).interval;
    std::optional<Steps> steps;
    Eviction last = *first;
    std::int64_t array = 0;  // ticks since the last one
    for (std::size_t i = begin + 1;
         i < items.size() && static_cast<std::int64_t>(group.size()) < most; ++i) {
      const isa::Instruction& instruction = items[i].instruction;
      if (instruction.engine == isa::Engine::tensor) {
        if (instruction.operation.holds<isa::Multiply>()) {  // loads go on beside these
          array += estimated(instruction.operation, isa::Engine::tensor, machine_).interval;
        }
        if (array > patience ||
            std::ranges::find(items[i].buffers, first->out_buffer) != items[i].buffers.end()) {
          break;
        }
        continue;
      }
      const std::optional<Eviction> next = eviction_of(items[i]);
      const std::optional<Steps> step = next ? steps_between(last, *next) : std::nullopt;
      if (!step || (steps && *steps != *step) ||
          instruction.source != items[begin].instruction.source) {
        break;
      }
      array = 0;
      steps = step;
      last = *next;
      group.push_back(i);
    }
    return group;
  }

  [[nodiscard]] static std::int64_t tile_bytes(const Eviction& eviction) {
    return std::int64_t{eviction.in.dims[0].extent} * isa::size_of(eviction.in.dtype);
  }

  void join(const std::vector<std::size_t>& group) {
    std::vector<TileInstruction>& items = program_.instructions;
    const Eviction first = *eviction_of(items[group[0]]);
    const Steps steps = *steps_between(first, *eviction_of(items[group[1]]));
    const auto count = static_cast<std::int64_t>(group.size());
    for (std::int64_t k = 1; k < count; ++k) {
      place_[items[group[static_cast<std::size_t>(k)]].buffers[0]] = {first.in_buffer,
                                                                      k * tile_bytes(first)};
    }
    const isa::Access in = rows(first.in, tile_bytes(first), count, first.in.dims[0]);
    const isa::Access out = rows(first.out, steps.out, count, first.out.dims[0]);
    TileInstruction& item = items[group.back()];
    if (!first.divisor) {
      item.instruction.operation = isa::Copy{in, out};
      item.buffers = {first.in_buffer, first.out_buffer};
      return;
    }
    const isa::Access divisors =
        rows(*first.divisor, steps.divisor, count, make_dim(0, first.in.dims[0].extent));
    item.instruction.operation = isa::TensorTensor{in, divisors, out, isa::AluOp::divide};
    item.buffers = {first.in_buffer, first.divisor_buffer, first.out_buffer};
    item.any_engine = false;
  }

  void move_products() {
    for (TileInstruction& item : program_.instructions) {
      std::size_t operand = 0;
      isa::for_each_access(item.instruction.operation, [&](isa::Access& access, bool) {
        BufferId& buffer = item.buffers[operand++];
        if (const Place& place = place_[buffer]; place.in.valid()) {
          access.offset += static_cast<std::int32_t>(place.at);
          buffer = place.in;
        }
      });
    }
  }

  TileProgram& program_;
  const isa::Machine& machine_;
  IdVector<BufferId, Place> place_;  // of buffers that have become part of another
};

}  // namespace

void join_evictions(TileProgram& program, const isa::Machine& machine) {
  Joining(program, machine).run();
}

}  // namespace systole::lower
