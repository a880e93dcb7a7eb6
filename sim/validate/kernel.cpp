#include "sim/validate/kernel.hpp"

namespace systole::sim {

isa::Access row(isa::Space space, isa::DType dtype, int partitions, std::int64_t n,
                std::int64_t offset, int partition) {
  isa::Access access;
  access.space = space;
  access.dtype = dtype;
  access.partition = static_cast<std::int16_t>(partition);
  access.partitions = static_cast<std::int16_t>(partitions);
  access.rank = 1;
  access.offset = static_cast<std::int32_t>(offset);
  access.dims[0] = {1, static_cast<std::int32_t>(n)};
  return access;
}

Kernel::Kernel(std::string name, const isa::Machine& machine) {
  program_.name = std::move(name);
  program_.machine = machine.name;
  program_.fingerprint = isa::fingerprint(machine);
  source(program_.name);
}

isa::TensorId Kernel::matrix(const std::string& name, isa::Role role, isa::DType dtype,
                             std::int64_t rows, std::int64_t columns) {
  isa::HbmTensor tensor;
  tensor.name = name;
  tensor.role = role;
  tensor.dtype = dtype;
  tensor.shape = {rows, columns};
  tensor.order = {0, 1};
  tensor.storage = {rows, columns};
  return program_.tensors.add(std::move(tensor));
}

void Kernel::source(const std::string& name) {
  source_ = program_.sources.add({name, isa::SourceKind::operation});
}

isa::Instruction& Kernel::emit(isa::Engine engine, isa::Operation operation,
                               std::vector<isa::SemaphoreWait> waits, isa::SemaphoreId signal) {
  isa::Instruction instruction;
  instruction.engine = engine;
  instruction.source = source_;
  instruction.signal = signal;
  std::erase_if(waits, [](const isa::SemaphoreWait& wait) { return wait.at_least <= 0; });
  instruction.waits = std::move(waits);
  instruction.operation = std::move(operation);
  auto& stream = program_.streams[static_cast<std::size_t>(engine)];
  stream.push_back(std::move(instruction));
  return stream.back();
}

isa::DmaAccess Kernel::hbm_side(const Tile& tile) const {
  isa::DmaAccess access;
  access.space = isa::Space::hbm;
  access.dtype = program_.tensors[tile.tensor].dtype;
  access.tensor = tile.tensor;
  access.offset = tile.row * tile.pitch + tile.column;
  access.rank = 2;
  access.dims[0] = {tile.pitch, tile.rows, false};
  access.dims[1] = {1, static_cast<std::int32_t>(tile.columns), false};
  return access;
}

isa::DmaAccess Kernel::sbuf_side(const Tile& tile, std::int64_t offset) const {
  isa::DmaAccess access;
  access.space = isa::Space::sbuf;
  access.dtype = program_.tensors[tile.tensor].dtype;
  access.offset = offset;
  access.rank = 2;
  access.dims[0] = {1, tile.rows, true};
  access.dims[1] = {1, static_cast<std::int32_t>(tile.columns), false};
  return access;
}

void Kernel::load(const Tile& tile, std::int64_t offset, int ring,
                  std::vector<isa::SemaphoreWait> waits, isa::SemaphoreId signal,
                  isa::Engine engine) {
  isa::Dma dma;
  dma.source = hbm_side(tile);
  dma.destination = sbuf_side(tile, offset);
  dma.ring = static_cast<std::uint8_t>(ring);
  emit(engine, dma, std::move(waits), signal);
}

void Kernel::store(const Tile& tile, std::int64_t offset, int ring,
                   std::vector<isa::SemaphoreWait> waits, isa::SemaphoreId signal,
                   isa::Engine engine) {
  isa::Dma dma;
  dma.source = sbuf_side(tile, offset);
  dma.destination = hbm_side(tile);
  dma.ring = static_cast<std::uint8_t>(ring);
  emit(engine, dma, std::move(waits), signal);
}

}  // namespace systole::sim
