// Simulated memory: the HBM tensors of a program, SBUF and PSUM, as bytes.
//
// Every partition of SBUF and PSUM is one byte array; consecutive partitions lie `pitch` bytes
// apart in the host's memory, so an access pattern that also steps across partitions is one affine
// pattern over host memory. All bytes are 0 at the start (or 0xff, which is NaN in every floating
// type, if poisoned): a run is deterministic even where a program reads what it never wrote.
// Constants are shared with the program, not copied, until a program writes to one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "isa/program.hpp"

namespace systole::sim {

class Memory {
 public:
  Memory(const isa::Machine& machine, const isa::Program& program, bool poison = false);

  // Byte 0 of a partition; space is sbuf or psum.
  [[nodiscard]] std::byte* partition(isa::Space space, int index) {
    return space == isa::Space::psum ? psum_.get() + static_cast<std::size_t>(index) * psum_pitch_
                                     : sbuf_.get() + static_cast<std::size_t>(index) * sbuf_pitch_;
  }
  [[nodiscard]] std::int64_t pitch(isa::Space space) const {
    return static_cast<std::int64_t>(space == isa::Space::psum ? psum_pitch_ : sbuf_pitch_);
  }
  // Byte 0 of an HBM tensor.
  [[nodiscard]] const std::byte* tensor(isa::TensorId id) const;
  [[nodiscard]] std::byte* writable_tensor(isa::TensorId id);

 private:
  struct Free {
    void operator()(std::byte* bytes) const;
  };
  using Block = std::unique_ptr<std::byte[], Free>;
  [[nodiscard]] static Block allocate(std::size_t bytes, bool poison);

  struct Tensor {
    std::shared_ptr<const std::vector<std::byte>>
        constant;  // set while the bytes are the program's own
    Block bytes;
    std::size_t size = 0;
  };

  std::size_t sbuf_pitch_ = 0;
  std::size_t psum_pitch_ = 0;
  Block sbuf_;
  Block psum_;
  std::vector<Tensor> tensors_;
};

}  // namespace systole::sim
