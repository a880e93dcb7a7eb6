// Where an operand lies. Access: an operand of a compute engine in SBUF or PSUM. DmaAccess: one side of a transfer.
//
// Access covers `partitions` contiguous partitions from `partition`; inside each of them the same pattern of up to four
// (stride, extent) pairs, outermost first, strides in elements, from byte `offset`. Enumeration order: partition, then
// dims. Rules (checked by isa/verify, hardware.md section 2): more than 64 partitions start at 0; 33..64 at 0 or 64;
// up to 32 at a multiple of 32; extents fit uint16, strides int16; everything inside the memory.
//
// DmaAccess is freer: up to six pairs in any order, each stepping either through elements of a partition (or of an HBM
// tensor) or across partitions; a stride of 0 on the source repeats (broadcast), a negative one reverses. Both sides of a
// transfer enumerate the same number of elements, in order; dims may be grouped differently on the two sides.
#pragma once

#include <array>
#include <cstdint>

#include "isa/base/error.hpp"
#include "isa/base/id.hpp"
#include "isa/dtype.hpp"

namespace systole::isa {

enum class Space : std::uint8_t { hbm, sbuf, psum };

struct TensorTag;
using TensorId = Id<TensorTag>;  // an HBM tensor of a Program

struct Dim {
  std::int32_t stride = 1;  // elements
  std::int32_t extent = 1;
  bool operator==(const Dim&) const = default;
};

// The same in an instruction's width: 16 bits each, as the machine encodes them. Made from a Dim that fits.
class AccessDim {
 public:
  constexpr AccessDim() = default;
  AccessDim(std::int32_t the_stride, std::int32_t the_extent)
      : stride(static_cast<std::int16_t>(the_stride)),
        extent(static_cast<std::uint16_t>(the_extent)) {
    check(stride == the_stride && extent == the_extent, "an access pattern exceeds 16 bits");
  }
  AccessDim(const Dim& dim) : AccessDim(dim.stride, dim.extent) {}
  constexpr operator Dim() const { return {stride, extent}; }
  bool operator==(const AccessDim&) const = default;

  std::int16_t stride = 1;
  std::uint16_t extent = 1;
};

struct Access {
  static constexpr int max_rank = 4;

  Space space = Space::sbuf;
  DType dtype = DType::f32;
  std::int16_t partition = 0;
  std::int16_t partitions = 1;
  std::int8_t rank = 0;     // used entries of dims; 0 = one element per partition
  std::int32_t offset = 0;  // bytes from the start of the partition
  std::array<AccessDim, max_rank> dims{};

  bool operator==(const Access&) const = default;
};

struct DmaDim {
  std::int64_t stride = 1;  // elements, or partitions if across
  std::int32_t extent = 1;
  bool across = false;      // steps across partitions (SBUF only)
  bool operator==(const DmaDim&) const = default;
};

struct DmaAccess {
  static constexpr int max_rank = 6;

  Space space = Space::hbm;  // hbm or sbuf
  DType dtype = DType::f32;
  std::int8_t rank = 0;
  std::int16_t partition = 0;  // first partition (sbuf)
  TensorId tensor;             // hbm
  std::int64_t offset = 0;     // hbm: elements from the tensor's start; sbuf: bytes in the partition
  std::array<DmaDim, max_rank> dims{};

  bool operator==(const DmaAccess&) const = default;
};

[[nodiscard]] std::int64_t free_elements(const Access& access);   // per partition
[[nodiscard]] std::int64_t elements(const Access& access);        // partitions * free_elements
[[nodiscard]] std::int64_t elements(const DmaAccess& access);

// Elements that lie contiguously, innermost, on this side: one row of it.
[[nodiscard]] std::int64_t contiguous_run(const DmaAccess& access);
// Rows (descriptors) of a transfer: the stretches, as long as possible, in which both sides advance by one element at
// each step. Where the runs of the two sides nest (the usual case): elements / the shorter run. Both sides must
// enumerate the same number of elements.
[[nodiscard]] std::int64_t rows(const DmaAccess& source, const DmaAccess& destination);

// First and one-past-last byte that the pattern touches inside a partition.
struct ByteRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool operator==(const ByteRange&) const = default;
};
[[nodiscard]] ByteRange byte_range(const Access& access);
// The same for one side of a transfer: bytes from the start of the HBM tensor, or bytes inside a partition of SBUF.
[[nodiscard]] ByteRange byte_range(const DmaAccess& access);

// First and one-past-last partition that the pattern touches (hbm: empty).
struct PartitionRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool operator==(const PartitionRange&) const = default;
};
[[nodiscard]] PartitionRange partition_range(const DmaAccess& access);

}  // namespace systole::isa
