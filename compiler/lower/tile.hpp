// The tile program: instructions in one sequential order on virtual buffers. Executed one after another it gives the
// right values; everything after it (allocation, scheduling) only places buffers and adds concurrency.
//
// A buffer is a piece of SBUF or PSUM, `bytes` per partition, over all partitions. Operands of instructions are
// isa::Access / isa::DmaAccess patterns whose offset counts from the start of their buffer; `buffers` names the buffer of each
// operand, in the order in which isa::for_each_access reports operands (for Dma: source then destination, HBM sides
// omitted; for DmaIndirect: index, then the rows side). A PSUM buffer is a whole number of banks.
#pragma once

#include <string>
#include <vector>

#include "isa/program.hpp"

namespace systole::lower {

struct BufferTag;
using BufferId = Id<BufferTag>;

struct Buffer {
  isa::Space space = isa::Space::sbuf;
  std::int64_t bytes = 0;  // per partition
  std::string name;        // what it holds, for reports
  bool lasting = false;    // serves several operators: a resident tensor, a constant of the machine
};

struct TileInstruction {
  isa::Instruction instruction;  // no waits, no signal yet; Dma rings chosen by schedule
  std::vector<BufferId> buffers;
  bool any_engine = false;  // schedule may move it to another engine that executes it
};

struct TileProgram {
  std::string name;
  IdVector<BufferId, Buffer> buffers;
  IdVector<isa::TensorId, isa::HbmTensor> tensors;
  IdVector<isa::SourceId, isa::Source> sources;
  std::vector<TileInstruction> instructions;
};

// What allocation decided: the byte offset of each buffer in its memory's partitions.
struct Allocation {
  IdVector<BufferId, std::int64_t> offsets;
  std::int64_t sbuf_peak = 0;  // bytes per partition
  std::int64_t psum_peak = 0;
  std::vector<std::string> tight;  // "operator: what had no hole; what was done", for reports
};

}  // namespace systole::lower
