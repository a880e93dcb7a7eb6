#include "sim/memory/memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "isa/base/error.hpp"

namespace systole::sim {
namespace {

// Partitions start at different cache sets: with a pitch that is a multiple of 4 KiB, the same
// offset of all partitions would fall into one set of the host's cache.
std::size_t pitch_of(std::int64_t bytes) {
  const std::size_t line = 64;
  const std::size_t lines = (static_cast<std::size_t>(bytes) + line - 1) / line;
  return (lines + 2 + lines % 2) * line - line;
}

}  // namespace

void Memory::Free::operator()(std::byte* bytes) const {
  std::free(bytes);
}

Memory::Block Memory::allocate(std::size_t bytes, bool poison) {
  // calloc hands out untouched zero pages: memory that a program never touches costs nothing.
  auto* block = static_cast<std::byte*>(std::calloc(std::max<std::size_t>(bytes, 1), 1));
  if (block == nullptr) {
    throw std::bad_alloc();
  }
  if (poison) {
    std::memset(block, 0xff, bytes);
  }
  return Block(block);
}

Memory::Memory(const isa::Machine& machine, const isa::Program& program, bool poison)
    : sbuf_pitch_(pitch_of(machine.sbuf_bytes)),
      psum_pitch_(pitch_of(machine.psum_banks * machine.psum_bank_bytes)),
      sbuf_(allocate(sbuf_pitch_ * static_cast<std::size_t>(machine.partitions), poison)),
      psum_(allocate(psum_pitch_ * static_cast<std::size_t>(machine.partitions), poison)) {
  tensors_.reserve(program.tensors.size());
  for (const isa::HbmTensor& tensor : program.tensors) {
    Tensor& added = tensors_.emplace_back();
    added.size = static_cast<std::size_t>(isa::storage_bytes(tensor));
    if (tensor.data && tensor.data->size() == added.size) {
      added.constant = tensor.data;
    } else {
      added.bytes = allocate(added.size, poison);
    }
  }
}

const std::byte* Memory::tensor(isa::TensorId id) const {
  const Tensor& tensor = tensors_[id.index()];
  return tensor.constant ? tensor.constant->data() : tensor.bytes.get();
}

std::byte* Memory::writable_tensor(isa::TensorId id) {
  Tensor& tensor = tensors_[id.index()];
  if (tensor.constant) {
    tensor.bytes = allocate(tensor.size, false);
    std::memcpy(tensor.bytes.get(), tensor.constant->data(), tensor.size);
    tensor.constant.reset();
  }
  return tensor.bytes.get();
}

}  // namespace systole::sim
