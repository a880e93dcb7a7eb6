#include "compiler/lower/kernels/map_chain.hpp"

#include <algorithm>
#include <cmath>

#include "compiler/lower/kernels/map_emit.hpp"
#include "compiler/lower/pieces.hpp"
#include "isa/base/error.hpp"

namespace systole::lower {
namespace {

using graph::MapFunction;
using isa::AluOp;

bool is_exact_reciprocal(float value) {
  int exponent = 0;
  return std::abs(std::frexp(value, &exponent)) == 0.5F && std::isfinite(1.0F / value);
}

std::optional<AluOp> pair_of(MapFunction function) {
  return function == MapFunction::add        ? std::optional(AluOp::add)
         : function == MapFunction::subtract ? std::optional(AluOp::subtract)
         : function == MapFunction::multiply ? std::optional(AluOp::multiply)
                                             : std::nullopt;
}

// The piece of `other` that lies in it as `piece` lies in `whole`; both tiles have the same extents. Nothing if `piece`
// is no box of whole's dims, in their order.
std::optional<Tile> same_part(const Tile& whole, const isa::Access& piece, const Tile& other) {
  const std::int64_t size = isa::size_of(whole.dtype);
  std::int64_t rest = (piece.offset - whole.offset) / size;
  if (other.dims.size() != whole.dims.size() || piece.dtype != whole.dtype || rest < 0 ||
      !std::ranges::is_sorted(whole.dims, std::ranges::greater(), &isa::Dim::stride)) {
    return std::nullopt;
  }
  std::vector<std::int64_t> begins;
  for (const isa::Dim& dim : whole.dims) {
    const bool moves = dim.extent > 1 && dim.stride > 0;
    begins.push_back(moves ? rest / dim.stride : 0);
    rest -= begins.back() * (moves ? dim.stride : 0);
  }
  Tile out = slice_partitions(other, piece.partition - whole.partition, piece.partitions);
  std::vector<isa::Dim> left;  // dims of the piece that are not found yet, innermost last
  for (int d = 0; d < piece.rank; ++d) {
    const auto& dim = piece.dims[static_cast<std::size_t>(d)];
    if (dim.extent > 1) {
      left.push_back(make_dim(dim.stride, dim.extent));
    }
  }
  for (std::size_t d = whole.dims.size(); d-- > 0;) {
    const isa::Dim& own = whole.dims[d];
    std::int64_t count = 1;
    if (!left.empty() && own.extent > 1 && left.back().stride == own.stride) {
      const isa::Dim dim = left.back();
      left.pop_back();
      count = std::min(dim.extent, own.extent);
      if (begins[d] + count > own.extent || dim.extent % count != 0) {
        return std::nullopt;
      }
      if (dim.extent > count) {
        left.push_back(make_dim(own.stride * count, dim.extent / count));
      }
    }
    out = slice(out, static_cast<int>(d), begins[d], count);
  }
  return left.empty() && rest == 0 ? std::optional(out) : std::nullopt;
}

// One element per partition, for the partitions [first, first + count) of the tile that it was made for.
isa::Scalar part_of(const ScalarOperand& operand, int first, int count,
                    std::vector<BufferId>& buffers) {
  isa::Scalar out;
  out.value = operand.value;
  out.per_partition = operand.per_partition;
  if (operand.per_partition) {
    out.access = access(slice_partitions(operand.tile, first, count));
    buffers.push_back(operand.tile.buffer);
  }
  return out;
}

}  // namespace

MapChain::MapChain(Builder& builder, const std::vector<graph::NodeId>& nodes, graph::TensorId value)
    : b_(builder), output_(operand_of(builder, builder.laid().graph.nodes[nodes.back()].output)) {
  const layout::LaidGraph& laid = builder.laid();
  for (const graph::NodeId id : nodes) {
    const graph::Node& node = laid.graph.nodes[id];
    Step step;
    step.op = std::get<graph::Map>(node.op);
    step.dtype = laid.storage[node.output];
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (value.valid() && node.inputs[i] == value) {
        step.through = static_cast<int>(i);
        step.readers.emplace_back();
      } else {
        step.readers.emplace_back(MapReader(builder, node.inputs[i], output_));
      }
    }
    step.source = value.valid()
                      ? builder.add_source(source_name(laid, id), isa::SourceKind::operation)
                      : builder.source();
    if (!value.valid()) {
      choose_source(step);
    } else if (steps_.empty()) {
      value_type_ = laid.storage[value];
    }
    steps_.push_back(std::move(step));
    value = node.output;
  }
}

// A first step that reads everything itself: the one operand that is no scalar stands for the value before it, so that
// the step can join its followers.
void MapChain::choose_source(Step& step) {
  int longer = -1;
  for (std::size_t i = 0; i < step.readers.size(); ++i) {
    if (!step.readers[i]->may_be_scalar() && step.readers[i]->row_elements() == 0) {
      if (longer >= 0) {
        return;
      }
      longer = static_cast<int>(i);
    }
  }
  if (longer >= 0) {
    step.through = longer;
    source_.emplace(*step.readers[static_cast<std::size_t>(longer)]);
    step.readers[static_cast<std::size_t>(longer)].reset();
  }
}

std::int64_t MapChain::bytes() const {
  std::int64_t out = output_.resident ? 0 : isa::size_of(output_.dtype);
  out += source_ ? source_->staged_bytes() : 0;
  std::int64_t temporary = 0;
  for (const Step& step : steps_) {
    for (const std::optional<MapReader>& reader : step.readers) {
      out += reader ? reader->staged_bytes() : 0;
    }
    temporary = std::max(temporary, map_temporary_bytes(step.op.function, step.dtype));
  }
  // Values between steps: two at a time.
  return out + temporary + (steps_.size() > 1 ? 8 : 0);
}

bool MapChain::reads_blocks() const {
  return (!source_ || source_->reads_blocks()) && std::ranges::all_of(steps_, [](const Step& step) {
           return std::ranges::all_of(
               step.readers, [](const auto& reader) { return !reader || reader->reads_blocks(); });
         });
}

bool MapChain::has_partition_scalars() const {
  return std::ranges::any_of(steps_, [](const Step& step) {
    return std::ranges::any_of(step.readers, [](const auto& reader) {
      return reader &&
             ((reader->may_be_scalar() && !reader->immediate()) || reader->row_elements() > 0);
    });
  });
}

std::int64_t MapChain::row_elements() const {
  std::int64_t out = 0;
  for (const Step& step : steps_) {
    for (const std::optional<MapReader>& reader : step.readers) {
      const std::int64_t row = reader ? reader->row_elements() : 0;
      out = out == 0 || row == 0 ? std::max(out, row) : std::min(out, row);
    }
  }
  return out;
}

bool MapChain::ends_in_function() const {
  return table_function(steps_.back().op.function).has_value() && isa::is_float(output_.dtype);
}

// A step's other operand if it is one number per partition (or one altogether); only for steps with at most one other.
std::optional<ScalarOperand> MapChain::scalar_of(Step& step, const MapChunk& chunk, bool negative) {
  for (std::optional<MapReader>& reader : step.readers) {
    if (!reader || chunk.by_blocks || !reader->is_scalar_in(chunk)) {
      continue;
    }
    if (const std::optional<Tile> made = negative ? reader->negative_of(chunk) : std::nullopt) {
      return ScalarOperand(*made);
    }
    const MapInput input = reader->read(chunk);
    std::optional<ScalarOperand> out;
    if (input.form == MapInput::Form::immediate) {
      out = ScalarOperand(input.value);
    } else if (free_elements(input.tile) == 1) {
      Tile element = input.tile;
      element.dims.clear();
      out = ScalarOperand(element);
    }
    if (out) {
      return negative ? scaled(*out, -1.0F) : *out;
    }
  }
  return std::nullopt;
}

// Takes the step into the group if one instruction still does.
bool MapChain::extend(Group& group, Step& step, const MapChunk& chunk) {
  if (!isa::is_float(step.dtype) || step.through < 0 || group.function) {
    return false;
  }
  const MapFunction f = step.op.function;
  if (f == MapFunction::relu) {
    group.function = isa::Function::relu;
    return true;
  }
  if (step.readers.size() == 1) {
    group.function = table_function(f);
    return group.function.has_value();
  }
  const bool shift = f == MapFunction::add || f == MapFunction::subtract;
  const bool scale = f == MapFunction::multiply || f == MapFunction::divide;
  const bool inverse = f == MapFunction::subtract || f == MapFunction::divide;
  if (step.readers.size() != 2 || !(shift || scale) || (shift && group.bias) ||
      (scale && group.scale) || (inverse && step.through != 0)) {
    return false;
  }
  std::optional<ScalarOperand> operand = scalar_of(step, chunk, f == MapFunction::subtract);
  if (!operand) {
    return false;
  }
  const bool exact = !operand->per_partition && is_exact_reciprocal(operand->value);
  if (!exact && (f == MapFunction::divide || (scale && group.bias))) {
    return false;
  }
  if (f == MapFunction::divide) {
    operand->value = 1.0F / operand->value;
  }
  if (scale && group.bias) {
    group.bias = scaled(*group.bias, operand->value);
  }
  (shift ? group.bias : group.scale) = operand;
  return true;
}

MapChain::Group MapChain::group_at(std::size_t begin, const MapChunk& chunk) {
  Group group;
  group.begin = group.end = begin;
  while (group.end < steps_.size() && extend(group, steps_[group.end], chunk)) {
    ++group.end;
  }
  return group;
}

// Length of the first group as far as it can be told without a chunk.
std::size_t MapChain::static_group() const {
  bool scaled = false;
  bool shifted = false;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    const MapFunction f = step.op.function;
    if (!isa::is_float(step.dtype)) {
      return i;
    }
    if (f == MapFunction::relu || (step.readers.size() == 1 && table_function(f))) {
      return i + 1;
    }
    const std::optional<MapReader>* other = nullptr;
    for (const std::optional<MapReader>& reader : step.readers) {
      other = reader ? &reader : other;
    }
    const bool scalar = step.readers.size() == 2 && other != nullptr && (*other)->may_be_scalar();
    const std::optional<float> number = scalar ? (*other)->immediate() : std::nullopt;
    const bool inverts = number && step.through == 0;
    const bool shift = scalar && !shifted &&
                       (f == MapFunction::add || (f == MapFunction::subtract && step.through == 0));
    const bool exact = number && is_exact_reciprocal(*number);
    const bool scale = scalar && !scaled &&
                       ((f == MapFunction::multiply && (exact || !shifted)) ||
                        (f == MapFunction::divide && inverts && exact));
    if (!shift && !scale) {
      return i;
    }
    (shift ? shifted : scaled) = true;
  }
  return steps_.size();
}

bool MapChain::is_one_instruction() const {
  return static_group() == steps_.size();
}

isa::DType MapChain::handover_type() const {
  const std::size_t group = static_group();
  return group == 0 ? value_type_ : steps_[group - 1].dtype;
}

// The exponent of a root of few numbers, or a square of not too many: as a power it takes Vector no longer than Scalar takes
// to change its table. A square's sum, which would ride along on Scalar, is then an instruction of its own.
std::optional<float> MapChain::power_of(const Group& group, const isa::Access& in) {
  constexpr std::int64_t few = 64;
  constexpr std::int64_t few_squares = 512;
  if (!group.function || group.scale || (group.bias && group.bias->per_partition)) {
    return std::nullopt;
  }
  const bool square = *group.function == isa::Function::square;
  if (isa::free_elements(in) > (square ? few_squares : few)) {
    return std::nullopt;
  }
  return square                                    ? std::optional(2.0F)
         : *group.function == isa::Function::rsqrt ? std::optional(-0.5F)
         : *group.function == isa::Function::sqrt  ? std::optional(0.5F)
                                                   : std::nullopt;
}

isa::Operation MapChain::operation_of(const Group& group, const isa::Access& in,
                                      const isa::Access& out, int first_partition,
                                      std::vector<BufferId>& buffers, bool activation) const {
  if (const std::optional<float> exponent = power_of(group, in); exponent && !activation) {
    isa::TensorScalar op;
    op.in = in;
    op.out = out;
    op.op0 = group.bias ? AluOp::add : AluOp::power;
    op.s0.value = group.bias ? group.bias->value : *exponent;
    if (group.bias) {
      op.op1 = AluOp::power;
      op.s1.value = *exponent;
    }
    return op;
  }
  const bool plain_relu = group.function == isa::Function::relu && !group.scale && !group.bias;
  if (activation || (group.function && !plain_relu)) {
    isa::Activation op;
    op.in = in;
    op.out = out;
    op.function = group.function.value_or(isa::Function::copy);
    if (group.scale) {
      op.scale = part_of(*group.scale, first_partition, in.partitions, buffers);
    }
    if (group.bias) {
      op.bias = part_of(*group.bias, first_partition, in.partitions, buffers);
    }
    return op;
  }
  isa::TensorScalar op;
  op.in = in;
  op.out = out;
  if (plain_relu) {
    op.op0 = AluOp::max;
  } else if (group.scale) {
    op.op0 = AluOp::multiply;
    op.s0 = part_of(*group.scale, first_partition, in.partitions, buffers);
    if (group.bias) {
      op.op1 = AluOp::add;
      op.s1 = part_of(*group.bias, first_partition, in.partitions, buffers);
    }
  } else {
    op.op0 = AluOp::add;
    op.s0 = part_of(*group.bias, first_partition, in.partitions, buffers);
  }
  return op;
}

void MapChain::emit_group(const Group& group, const Tile& out, const Tile& in) {
  for_each_piece(b_.machine(), {in, out}, [&](const std::vector<Tile>& t) {
    std::vector<BufferId> buffers{t[0].buffer, t[1].buffer};
    isa::Operation operation = operation_of(group, access(t[0]), access(t[1]), 0, buffers);
    const bool activation = operation.holds<isa::Activation>();
    b_.emit(std::move(operation), activation ? isa::Engine::scalar : isa::Engine::vector,
            std::move(buffers), !activation);
  });
}

bool MapChain::emit_summing(const Group& group, const Tile& out, const Tile& in, const Tile& sum) {
  if (!isa::is_float(in.dtype) || !isa::is_float(out.dtype) || !fits_access(b_.machine(), in) ||
      !fits_access(b_.machine(), out) || power_of(group, access(in))) {
    return false;
  }
  std::vector<BufferId> buffers{in.buffer, out.buffer};
  auto op = operation_of(group, access(in), access(out), 0, buffers, true).get<isa::Activation>();
  op.with_reduce = true;
  op.reduce = access(sum);
  buffers.push_back(sum.buffer);
  b_.emit(op, isa::Engine::scalar, std::move(buffers));
  return true;
}

// A number per partition is scaled by an instruction of its own, on one element.
ScalarOperand MapChain::scaled(const ScalarOperand& operand, float factor) {
  if (!operand.per_partition) {
    return {operand.value * factor};
  }
  const Tile out =
      b_.scratch(operand.tile.partitions, {}, isa::DType::f32, "scaled", operand.tile.partition);
  b_.tensor_scalar(out, operand.tile, AluOp::multiply, factor);
  return {out};
}

Tile MapChain::like(const Tile& tile, isa::DType dtype) {
  std::vector<std::int64_t> extents;
  for (const isa::Dim& dim : tile.dims) {
    extents.push_back(dim.extent);
  }
  return b_.scratch(tile.partitions, extents, dtype, "value between maps", tile.partition);
}

bool MapChain::run(const MapChunk& chunk, const std::optional<Tile>& value, const Tile& out,
                   const std::optional<Tile>& sum) {
  if (value || !source_) {
    return go(0, chunk, value, value.has_value(), out, sum);
  }
  const MapInput input = source_->read(chunk);
  Tile first = input.tile;
  if (input.form == MapInput::Form::per_partition) {
    first.dims = out.dims;
    for (isa::Dim& dim : first.dims) {
      dim.stride = 0;
    }
  }
  return go(0, chunk, first, false, out, sum);
}

// owned: the value's tile may be overwritten (it is no operand of anything else).
bool MapChain::go(std::size_t begin, const MapChunk& chunk, std::optional<Tile> value, bool owned,
                  const Tile& out, const std::optional<Tile>& sum) {
  bool summed = false;
  std::size_t i = begin;
  while (i < steps_.size()) {
    const Group group = value ? group_at(i, chunk) : Group{i, i, {}, {}, {}};
    const std::size_t end = std::max(group.end, i + 1);
    const Step& last = steps_[end - 1];
    const bool select = last.op.function == MapFunction::select;
    // The result's own tile serves the values before it as well, if their type is the same.
    Tile to = out;
    if (end < steps_.size() && out.dtype != last.dtype) {
      to = owned && value->dtype == last.dtype ? *value : like(out, last.dtype);
    }
    const isa::SourceId before = b_.charge(last.source);
    if (group.end > i && group.end == steps_.size() && sum &&
        emit_summing(group, to, *value, *sum)) {
      summed = true;
    } else if (group.end > i) {
      emit_group(group, to, *value);
    } else {
      Step& step = steps_[i];
      std::vector<MapInput> inputs;
      for (std::optional<MapReader>& reader : step.readers) {
        if (reader) {
          inputs.push_back(reader->read(chunk));
        } else {
          MapInput input;
          input.tile = *value;
          input.dtype = value->dtype;
          inputs.push_back(input);
        }
      }
      const bool in_place = value && to.buffer == value->buffer;
      const Tile target = select && in_place ? like(to, to.dtype) : to;
      emit_map(b_, step.op, target, inputs);
      if (select && in_place) {
        b_.copy(to, target);
      }
    }
    (void)b_.charge(before);
    value = to;
    owned = true;
    i = end;
  }
  return summed;
}

bool MapChain::absorb(const MapChunk& chunk, const Tile& value, std::size_t first) {
  absorbed_ = 0;
  absorbing_.clear();
  std::vector<TileInstruction>& emitted = b_.emitted();
  std::vector<std::size_t> copies;
  for (std::size_t i = first; i < emitted.size(); ++i) {
    bool writes = false;
    std::size_t operand = 0;
    isa::for_each_access(emitted[i].instruction.operation, [&](const isa::Access&, bool write) {
      writes = writes || (write && emitted[i].buffers[operand] == value.buffer);
      ++operand;
    });
    const bool transfers = emitted[i].instruction.operation.holds<isa::Dma>() ||
                           emitted[i].instruction.operation.holds<isa::DmaIndirect>();
    writes = writes || (transfers && std::ranges::find(emitted[i].buffers, value.buffer) !=
                                         emitted[i].buffers.end());
    if (!writes) {
      continue;
    }
    if (!emitted[i].instruction.operation.holds<isa::Copy>()) {
      return false;
    }
    copies.push_back(i);
  }
  if (copies.empty()) {
    return false;
  }
  const std::size_t before = emitted.size();
  const Group group = group_at(0, chunk);
  if (group.end == 0) {
    return absorb_pair(chunk, value, copies, before);
  }
  if (steps_[group.end - 1].dtype != value.dtype) {
    return false;
  }
  // Operands of the group that have been loaded just now come before the copies.
  const auto at = [&](std::size_t i) { return emitted.begin() + static_cast<std::ptrdiff_t>(i); };
  const std::size_t loads = emitted.size() - before;
  std::rotate(at(copies.front()), at(before), emitted.end());
  for (const std::size_t i : copies) {
    TileInstruction& item = emitted[i + loads];
    const auto copy = item.instruction.operation.get<isa::Copy>();
    item.instruction.operation =
        operation_of(group, copy.in, copy.out, copy.out.partition - value.partition, item.buffers);
    const bool activation = item.instruction.operation.holds<isa::Activation>();
    item.instruction.engine = activation ? isa::Engine::scalar : isa::Engine::vector;
    item.any_engine = !activation;
    absorbing_.push_back(i + loads);
  }
  absorbed_ = group.end;
  return true;
}

// The first step's other operand is a tile, or a divisor per partition: out of PSUM the two take no longer than the copy
// alone. before: where loads of its operands begin.
bool MapChain::absorb_pair(const MapChunk& chunk, const Tile& value,
                           const std::vector<std::size_t>& copies, std::size_t before) {
  Step& step = steps_.front();
  const bool divides = step.op.function == MapFunction::divide && step.through == 0;
  const std::optional<AluOp> op = divides ? AluOp::divide : pair_of(step.op.function);
  if (!op || step.through < 0 || step.readers.size() != 2 || !isa::is_float(step.dtype) ||
      step.dtype != value.dtype) {
    return false;
  }
  std::vector<TileInstruction>& emitted = b_.emitted();
  const MapInput other = step.readers[static_cast<std::size_t>(1 - step.through)]->read(chunk);
  if (other.form != (divides ? MapInput::Form::per_partition : MapInput::Form::tile) ||
      !isa::is_float(other.dtype)) {
    return false;
  }
  std::vector<Tile> parts;
  for (const std::size_t i : copies) {
    const auto& copy = emitted[i].instruction.operation.get<isa::Copy>();
    const std::optional<Tile> part =
        divides ? std::optional(slice_partitions(other.tile, copy.out.partition - value.partition,
                                                 copy.out.partitions))
                : same_part(value, copy.out, other.tile);
    if (copy.in.space != isa::Space::psum || !part || !fits_access(b_.machine(), *part)) {
      return false;
    }
    parts.push_back(*part);
  }
  const auto at = [&](std::size_t i) { return emitted.begin() + static_cast<std::ptrdiff_t>(i); };
  const std::size_t loads = emitted.size() - before;
  std::rotate(at(copies.front()), at(before), emitted.end());
  for (std::size_t c = 0; c < copies.size(); ++c) {
    TileInstruction& item = emitted[copies[c] + loads];
    const auto copy = item.instruction.operation.get<isa::Copy>();
    absorbing_.push_back(copies[c] + loads);
    if (divides) {
      isa::TensorScalar quotient;
      quotient.in = copy.in;
      quotient.out = copy.out;
      quotient.op0 = AluOp::divide;
      quotient.s0 = part_of(ScalarOperand(parts[c]), 0, copy.out.partitions, item.buffers);
      item.instruction.operation = quotient;
      item.instruction.engine = isa::Engine::vector;
      item.any_engine = true;
      continue;
    }
    isa::TensorTensor pair{copy.in, access(parts[c]), copy.out, *op};
    std::vector<BufferId> buffers{item.buffers[0], parts[c].buffer, item.buffers[1]};
    if (step.through == 1) {
      std::swap(pair.a, pair.b);
      std::swap(buffers[0], buffers[1]);
    }
    item.instruction.operation = pair;
    item.instruction.engine = isa::Engine::vector;
    item.buffers = std::move(buffers);
    item.any_engine = false;
  }
  absorbed_ = 1;
  return true;
}

void MapChain::run_rest(const MapChunk& chunk, const Tile& value, const Tile& out) {
  (void)go(absorbed_, chunk, value, true, out);
  if (absorbed_ == steps_.size() && value.buffer != out.buffer && !redirect(value, out)) {
    b_.copy(out, value);
  }
}

// The instructions that took all steps write the result's own tile instead of the producer's.
bool MapChain::redirect(const Tile& value, const Tile& out) {
  std::vector<TileInstruction>& emitted = b_.emitted();
  std::vector<Tile> parts;
  for (const std::size_t i : absorbing_) {
    isa::Access piece;
    isa::for_each_access(
        emitted[i].instruction.operation,
        [&](const isa::Access& item, bool write) { piece = write ? item : piece; });
    const std::optional<Tile> part = same_part(value, piece, out);
    if (out.dtype != value.dtype || !part || !fits_access(b_.machine(), *part)) {
      return false;
    }
    parts.push_back(*part);
  }
  for (std::size_t p = 0; p < parts.size(); ++p) {
    TileInstruction& item = emitted[absorbing_[p]];
    const auto redirected = [&](auto op, std::size_t operand) {
      op.out = access(parts[p]);
      item.instruction.operation = op;
      item.buffers[operand] = parts[p].buffer;
    };
    if (item.instruction.operation.holds<isa::TensorTensor>()) {
      redirected(item.instruction.operation.get<isa::TensorTensor>(), 2);
    } else if (item.instruction.operation.holds<isa::TensorScalar>()) {
      redirected(item.instruction.operation.get<isa::TensorScalar>(), 1);
    } else {
      redirected(item.instruction.operation.get<isa::Activation>(), 1);
    }
  }
  return true;
}

namespace {

class ChainEpilogue : public Epilogue {
 public:
  ChainEpilogue(Builder& builder, const std::vector<graph::NodeId>& followers,
                graph::TensorId value)
      : b_(builder), chain_(builder, followers, value) {}

  Tile open(const Region& region) override {
    first_ = b_.emitted().size();
    const graph::TensorId result = chain_.output().tensor;
    if (chain_.is_one_instruction()) {
      return b_.write(result, region);
    }
    std::vector<std::int64_t> extents;
    if (region.blocks || region.partitions.extent > b_.machine().partitions) {
      extents.push_back(region.partitions.extent / b_.machine().partitions);
    }
    for (const Span& span : region.free) {
      extents.push_back(span.extent);
    }
    return b_.scratch(
        static_cast<int>(std::min<std::int64_t>(region.partitions.extent, b_.machine().partitions)),
        extents, chain_.handover_type(), "value before maps");
  }

  void close(const Region& region, const Tile& tile) override {
    const graph::TensorId result = chain_.output().tensor;
    const bool by_blocks = region.blocks || region.partitions.extent > b_.machine().partitions;
    const MapChunk chunk{region.partitions, by_blocks, region.free};
    const bool one = chain_.is_one_instruction();
    const bool absorbed = chain_.absorb(chunk, tile, first_);
    const Tile out = one ? tile : b_.write(result, region);
    if (absorbed) {
      chain_.run_rest(chunk, tile, out);
    } else {
      (void)chain_.run(chunk, tile, out);
    }
    b_.finish(result, region, out);
  }

  [[nodiscard]] bool resident() const override {
    return chain_.is_one_instruction() && b_.is_resident(chain_.output().tensor);
  }
  [[nodiscard]] bool in_place(const Region& region) const override {
    return chain_.is_one_instruction() && b_.writes_in_place(chain_.output().tensor, region);
  }

 private:
  Builder& b_;
  MapChain chain_;
  std::size_t first_ = 0;
};

}  // namespace

std::shared_ptr<Epilogue> make_epilogue(Builder& builder,
                                        const std::vector<graph::NodeId>& followers,
                                        graph::TensorId value) {
  return std::make_shared<ChainEpilogue>(builder, followers, value);
}

}  // namespace systole::lower
