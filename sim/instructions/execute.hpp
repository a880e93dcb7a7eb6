// What each instruction does to memory: pure functions of the operation and the context, without
// time. The meaning of every operation stands beside its struct in isa/instruction.hpp.
//
// An operand that lies outside its memory is a bug of the caller (sim/check refuses such programs
// first). An index that is out of range sets context.fault and leaves the destination unchanged
// from that row on.
#pragma once

#include <cstdint>
#include <vector>

#include "isa/instruction.hpp"
#include "sim/instructions/context.hpp"

namespace systole::sim {

// Executes any operation; Nop and LoadTable do nothing.
void execute_operation(const isa::Operation& operation, Context& context);

void execute(const isa::LoadStationary& op, Context& context);
void execute(const isa::Multiply& op, Context& context);
void execute(const isa::TensorTensor& op, Context& context);
void execute(const isa::TensorScalar& op, Context& context);
void execute(const isa::ScalarTensorTensor& op, Context& context);
void execute(const isa::TensorReduce& op, Context& context);
void execute(const isa::TensorScan& op, Context& context);
void execute(const isa::Copy& op, Context& context);
void execute(const isa::CopyPredicated& op, Context& context);
void execute(const isa::Memset& op, Context& context);
void execute(const isa::Reciprocal& op, Context& context);
void execute(const isa::Transpose32& op, Context& context);
void execute(const isa::Shuffle32& op, Context& context);
void execute(const isa::BatchNormStats& op, Context& context);
void execute(const isa::BatchNormAggregate& op, Context& context);
void execute(const isa::Max8& op, Context& context);
void execute(const isa::FindIndex8& op, Context& context);
void execute(const isa::MatchReplace8& op, Context& context);
void execute(const isa::Activation& op, Context& context);
void execute(const isa::Iota& op, Context& context);
void execute(const isa::AffineSelect& op, Context& context);
void execute(const isa::PartitionReduce& op, Context& context);
void execute(const isa::LocalGather& op, Context& context);
void execute(const isa::Dma& op, Context& context);
void execute(const isa::DmaIndirect& op, Context& context);
void execute(const isa::Nop& op, Context& context);
void execute(const isa::LoadTable& op, Context& context);

// The rows of its table that an indirect transfer selects now, each once, in order. Indices out of range are left out.
[[nodiscard]] std::vector<std::int64_t> selected_rows(const isa::DmaIndirect& op, Context& context);

}  // namespace systole::sim
