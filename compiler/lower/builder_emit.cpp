// The instruction emitters of Builder: every one cuts its tiles to what one instruction can take.
#include <algorithm>
#include <utility>

#include "compiler/lower/builder.hpp"
#include "compiler/lower/builder_state.hpp"
#include "compiler/lower/pieces.hpp"
#include "isa/base/error.hpp"
#include "isa/convert.hpp"

namespace systole::lower {
namespace {

isa::Engine preferred(const isa::Operation& operation, const isa::Machine& machine) {
  for (const isa::Engine engine : {isa::Engine::vector, isa::Engine::scalar, isa::Engine::gpsimd}) {
    if (isa::executes_on(operation, engine, machine.scalar_copy)) {
      return engine;
    }
  }
  check(false, "no engine executes an operation of the tile program");
  return isa::Engine::vector;
}

// A per-partition operand is cut along with the data only in its partitions.
isa::Scalar scalar_of(const ScalarOperand& operand, int partitions,
                      std::vector<BufferId>& buffers) {
  isa::Scalar out;
  out.value = operand.value;
  out.per_partition = operand.per_partition;
  if (operand.per_partition) {
    check(operand.tile.partitions == partitions && free_elements(operand.tile) == 1,
          "a scalar operand is one element per partition");
    out.access = access(operand.tile);
    buffers.push_back(operand.tile.buffer);
  }
  return out;
}

bool all_integer(std::initializer_list<const Tile*> tiles) {
  return std::ranges::none_of(tiles, [](const Tile* tile) { return isa::is_float(tile->dtype); });
}

}  // namespace

void Builder::emit(isa::Operation operation, isa::Engine engine, std::vector<BufferId> buffers,
                   bool any_engine) {
  TileInstruction out;
  out.instruction.engine = engine;
  out.instruction.source = state_->source;
  out.instruction.operation = std::move(operation);
  out.buffers = std::move(buffers);
  out.any_engine = any_engine;
  state_->program.instructions.push_back(std::move(out));
}

void Builder::load_stationary(const Tile& stationary, int column) {
  emit(isa::LoadStationary{access(stationary), static_cast<std::int16_t>(column)},
       isa::Engine::tensor, {stationary.buffer});
}

void Builder::multiply(const Tile& moving, const Tile& out, bool accumulate, bool zero_one) {
  emit(isa::Multiply{access(moving), access(out), accumulate, false, zero_one}, isa::Engine::tensor,
       {moving.buffer, out.buffer});
}

void Builder::tensor_tensor(isa::AluOp op, const Tile& out, const Tile& a, const Tile& b) {
  for_each_piece(machine(), {a, b, out}, [&](const std::vector<Tile>& t) {
    const isa::Operation operation =
        isa::TensorTensor{access(t[0]), access(t[1]), access(t[2]), op};
    const bool exact = all_integer({&t[0], &t[1], &t[2]}) &&
                       isa::executes_on(operation, isa::Engine::gpsimd, machine().scalar_copy);
    emit(operation, exact ? isa::Engine::gpsimd : preferred(operation, machine()),
         {t[0].buffer, t[1].buffer, t[2].buffer}, !exact);
  });
}

void Builder::tensor_scalar(const Tile& out, const Tile& in, isa::AluOp op0,
                            const ScalarOperand& s0, isa::AluOp op1, const ScalarOperand& s1,
                            bool reverse0, bool reverse1) {
  for_each_piece(machine(), {in, out}, [&](const std::vector<Tile>& t) {
    std::vector<BufferId> buffers{t[0].buffer, t[1].buffer};
    isa::TensorScalar op{access(t[0]), access(t[1]), op0, op1, reverse0, reverse1, {}, {}};
    op.s0 = scalar_of(s0, t[0].partitions, buffers);
    op.s1 = scalar_of(s1, t[0].partitions, buffers);
    const isa::Operation operation = op;
    const bool exact = all_integer({&t[0], &t[1]}) &&
                       isa::executes_on(operation, isa::Engine::gpsimd, machine().scalar_copy);
    emit(operation, exact ? isa::Engine::gpsimd : preferred(operation, machine()),
         std::move(buffers), !exact);
  });
}

void Builder::scalar_tensor_tensor(const Tile& out, const Tile& in, isa::AluOp op0,
                                   const ScalarOperand& scalar, isa::AluOp op1, const Tile& other) {
  for_each_piece(machine(), {in, other, out}, [&](const std::vector<Tile>& t) {
    std::vector<BufferId> buffers{t[0].buffer, t[1].buffer, t[2].buffer};
    isa::ScalarTensorTensor op{access(t[0]), access(t[1]), access(t[2]), op0, op1, {}};
    op.scalar = scalar_of(scalar, t[0].partitions, buffers);
    emit(op, isa::Engine::vector, std::move(buffers));
  });
}

void Builder::copy(const Tile& out, const Tile& in) {
  for_each_piece(machine(), {in, out}, [&](const std::vector<Tile>& t) {
    const isa::Operation operation = isa::Copy{access(t[0]), access(t[1])};
    emit(operation, preferred(operation, machine()), {t[0].buffer, t[1].buffer}, true);
  });
}

void Builder::copy_predicated(const Tile& out, const Tile& in, const Tile& predicate) {
  for_each_piece(machine(), {predicate, in, out}, [&](const std::vector<Tile>& t) {
    emit(isa::CopyPredicated{access(t[0]), access(t[1]), access(t[2])}, isa::Engine::vector,
         {t[0].buffer, t[1].buffer, t[2].buffer});
  });
}

void Builder::memset(const Tile& out, float value) {
  for_each_piece(machine(), {out}, [&](const std::vector<Tile>& t) {
    const isa::Operation operation = isa::Memset{access(t[0]), value};
    emit(operation, preferred(operation, machine()), {t[0].buffer}, true);
  });
}

void Builder::reciprocal(const Tile& out, const Tile& in) {
  for_each_piece(machine(), {in, out}, [&](const std::vector<Tile>& t) {
    emit(isa::Reciprocal{access(t[0]), access(t[1])}, isa::Engine::vector,
         {t[0].buffer, t[1].buffer});
  });
}

void Builder::activation(isa::Function function, const Tile& out, const Tile& in,
                         const ScalarOperand& scale, const ScalarOperand& bias) {
  for_each_piece(machine(), {in, out}, [&](const std::vector<Tile>& t) {
    std::vector<BufferId> buffers{t[0].buffer, t[1].buffer};
    isa::Activation op;
    op.in = access(t[0]);
    op.out = access(t[1]);
    op.function = function;
    op.scale = scalar_of(scale, t[0].partitions, buffers);
    op.bias = scalar_of(bias, t[0].partitions, buffers);
    emit(op, isa::Engine::scalar, std::move(buffers));
  });
}

void Builder::reduce(isa::AluOp op, const Tile& out, const Tile& in, int axes) {
  const std::size_t reduced = static_cast<std::size_t>(axes);
  check(axes >= 1 && reduced <= in.dims.size(), "a reduction has dims to reduce");
  const std::vector<isa::Dim> kept(in.dims.begin(), in.dims.end() - axes);
  std::vector<isa::Dim> inner = merged({in.dims.end() - axes, in.dims.end()});
  inner.resize(std::max<std::size_t>(inner.size(), 1), isa::Dim{1, 1});
  std::int64_t inner_elements = 1;
  for (const isa::Dim& dim : inner) {
    inner_elements *= dim.extent;
  }
  check(inner.size() <= isa::Access::max_rank && inner_elements <= machine().access_extent_max,
        "a reduction's reduced dims fit one instruction");
  check(out.dims.size() == kept.size(), "a reduction's output has the kept dims");
  // Kept dims that are too many or too long are looped over or cut, outermost first.
  Tile kept_in = in;
  kept_in.dims = kept;
  const std::int64_t most = std::max<std::int64_t>(1, machine().access_extent_max / inner_elements);
  const std::function<void(const Tile&, const Tile&)> run = [&](const Tile& i, const Tile& o) {
    std::vector<isa::Dim> dims = merged(i.dims);
    const bool rank_fits = dims.size() + inner.size() <= isa::Access::max_rank;
    if (rank_fits && free_elements(o) <= most && fits_access(machine(), i) &&
        fits_access(machine(), o)) {
      dims.insert(dims.end(), inner.begin(), inner.end());
      isa::TensorReduce operation;
      operation.in = access_of(i, dims);
      operation.out = access(o);
      operation.op = op;
      operation.axes = static_cast<std::int8_t>(inner.size());
      emit(operation, isa::Engine::vector, {i.buffer, o.buffer});
      return;
    }
    check(!o.dims.empty(), "a reduction to one element fits one instruction");
    const std::int64_t extent = o.dims[0].extent;
    const bool by_parts = rank_fits && o.dims.size() == 1 && most < extent && most > 1;
    for (std::int64_t begin = 0; begin < extent; begin += by_parts ? most : 1) {
      if (by_parts) {
        const std::int64_t count = std::min(most, extent - begin);
        run(slice(i, 0, begin, count), slice(o, 0, begin, count));
      } else {
        run(drop_dim(i, 0, begin), drop_dim(o, 0, begin));
      }
    }
  };
  if (free_elements(in) > 0 && in.partitions > 0) {
    run(kept_in, out);
  }
}

// ---- constants of the machine

namespace {
enum MachineConstant : int { identity_matrix, all_ones, all_zeros };
}

Tile Builder::identity(isa::DType dtype) {
  const auto [entry, fresh] = state_->constants.try_emplace({identity_matrix, dtype});
  if (fresh) {
    const std::int64_t n = machine().array_rows;
    std::vector<std::byte> bytes(static_cast<std::size_t>(n * n * isa::size_of(dtype)));
    for (std::int64_t i = 0; i < n; ++i) {
      isa::store_float(dtype, 1.0F, bytes.data() + (i * n + i) * isa::size_of(dtype));
    }
    isa::HbmTensor tensor{"identity/" + std::string(isa::name_of(dtype)),
                          isa::Role::constant,
                          dtype,
                          {n, n},
                          {0, 1},
                          {n, n},
                          std::make_shared<const std::vector<std::byte>>(std::move(bytes))};
    entry->second = scratch(static_cast<int>(n), {n}, dtype, "identity");
    state_->program.buffers[entry->second.buffer].lasting = true;
    End from;
    from.dtype = dtype;
    from.tensor = state_->program.tensors.add(std::move(tensor));
    state_->emit_dma({from, end_of(entry->second), {{n, {0, n}, {1, 0}}, {n, {0, 1}, {0, 1}}}});
  }
  return entry->second;
}

Tile Builder::ones(isa::DType dtype) {
  const auto [entry, fresh] = state_->constants.try_emplace({all_ones, dtype});
  if (fresh) {
    entry->second = scratch(machine().partitions, {machine().array_columns}, dtype, "ones");
    state_->program.buffers[entry->second.buffer].lasting = true;
    memset(entry->second, 1.0F);
  }
  return entry->second;
}

Tile Builder::zeros(isa::DType dtype) {
  const auto [entry, fresh] = state_->constants.try_emplace({all_zeros, dtype});
  if (fresh) {
    entry->second = scratch(machine().partitions, {machine().moving_max}, dtype, "zeros");
    state_->program.buffers[entry->second.buffer].lasting = true;
    memset(entry->second, 0.0F);
  }
  return entry->second;
}

}  // namespace systole::lower
