// Operands: where an access pattern may lie.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

#include "isa/limits.hpp"
#include "isa/names.hpp"
#include "isa/rules/context.hpp"

namespace systole::isa::rules {
namespace {

struct Step {
  std::int64_t stride = 0;  // magnitude
  std::int64_t extent = 1;
};

// Steps of one direction (elements, or partitions) that move at all, from the smallest stride up.
struct Steps {
  std::array<Step, DmaAccess::max_rank> items{};
  std::size_t count = 0;

  void add(std::int64_t stride, std::int64_t extent) {
    if (extent <= 1) {
      return;
    }
    const std::int64_t magnitude = stride < 0 ? -stride : stride;
    std::size_t at = count++;
    for (; at > 0 && items[at - 1].stride > magnitude; --at) {
      items[at] = items[at - 1];
    }
    items[at] = {magnitude, extent};
  }
};

constexpr std::int64_t exact_limit = 1 << 20;
constexpr std::int64_t beyond_memory = std::int64_t{1} << 50;

// Exact, by listing every offset.
bool lists_twice(const Steps& steps) {
  std::vector<std::int64_t> offsets = {0};
  for (std::size_t i = 0; i < steps.count; ++i) {
    const std::size_t size = offsets.size();
    for (std::int64_t k = 1; k < steps.items[i].extent; ++k) {
      for (std::size_t j = 0; j < size; ++j) {
        offsets.push_back(offsets[j] + k * steps.items[i].stride);
      }
    }
  }
  std::sort(offsets.begin(), offsets.end());
  return std::adjacent_find(offsets.begin(), offsets.end()) != offsets.end();
}

// Does some element appear twice? From the smallest stride up, each must pass what the smaller ones reach; only odd
// interleaved patterns fail that without repeating, and these are listed (refused if too long to list).
bool touches_twice(const Steps& steps) {
  std::int64_t reach = 0;
  std::int64_t elements = 1;
  bool nested = true;
  for (std::size_t i = 0; i < steps.count; ++i) {
    const Step& step = steps.items[i];
    if (step.stride == 0) {
      return true;
    }
    if (step.stride > beyond_memory / step.extent) {
      return false;  // the bounds are broken, and reported
    }
    nested = nested && step.stride > reach;
    reach += step.stride * (step.extent - 1);
    elements = std::min(elements * step.extent, exact_limit + 1);
  }
  return !nested && (elements > exact_limit || lists_twice(steps));
}

bool check_dims(Context& c, std::string_view name, const Access& access) {
  if (access.rank < 0 || access.rank > Access::max_rank) {
    c.report("{} has rank {}, allowed are 0 to {}", name, access.rank, Access::max_rank);
    return false;
  }
  for (int d = 0; d < access.rank; ++d) {
    const Dim& dim = access.dims[static_cast<std::size_t>(d)];
    if (dim.extent < 1 || dim.extent > c.machine.access_extent_max) {
      c.report("{} has extent {} in dim {}, allowed are 1 to {}", name, dim.extent, d,
               c.machine.access_extent_max);
      return false;
    }
    if (std::abs(std::int64_t{dim.stride}) > c.machine.access_stride_max) {
      c.report("{} has stride {} in dim {}, allowed are up to {} elements", name, dim.stride, d,
               c.machine.access_stride_max);
      return false;
    }
  }
  if (free_elements(access) > c.machine.access_extent_max + 1) {
    c.report("{} covers {} elements per partition, an instruction takes up to {}", name,
             free_elements(access), c.machine.access_extent_max + 1);
    return false;
  }
  if (access.space == Space::psum && free_elements(access) > c.psum_bytes / 4) {
    c.report("{} covers {} elements per partition of PSUM, an instruction takes up to {}", name,
             free_elements(access), c.psum_bytes / 4);
    return false;
  }
  return true;
}

bool check_partitions(Context& c, std::string_view name, const Access& access) {
  const int first = access.partition;
  const int count = access.partitions;
  if (count < 1 || first < 0 || first + count > c.machine.partitions) {
    c.report("{} covers {} partitions from {}, the memory has {}", name, count, first,
             c.machine.partitions);
    return false;
  }
  if (const int step = c.start_step(count); first % step != 0) {
    c.report("{} covers {} partitions from {}, but must start at a multiple of {}", name, count,
             first, step);
  }
  return true;
}

void check_bytes(Context& c, std::string_view name, const Access& access) {
  const ByteRange range = byte_range(access);
  const std::int64_t bytes = access.space == Space::psum ? c.psum_bytes : c.machine.sbuf_bytes;
  if (range.begin < 0 || range.end > bytes) {
    c.report("{} touches bytes {} to {} of a partition, {} has {}", name, range.begin, range.end,
             enum_name(access.space), bytes);
  }
  if (access.offset % size_of(access.dtype) != 0) {
    c.report("{} starts at byte {}, no multiple of the {} bytes of {}", name, access.offset,
             size_of(access.dtype), name_of(access.dtype));
  }
}

bool check_dims(Context& c, std::string_view name, const DmaAccess& access) {
  if (access.rank < 0 || access.rank > DmaAccess::max_rank) {
    c.report("{} has rank {}, allowed are 0 to {}", name, access.rank, DmaAccess::max_rank);
    return false;
  }
  for (int d = 0; d < access.rank; ++d) {
    const DmaDim& dim = access.dims[static_cast<std::size_t>(d)];
    if (dim.extent < 1) {
      c.report("{} has extent {} in dim {}", name, dim.extent, d);
      return false;
    }
    if (dim.stride < -tensor_bytes_max || dim.stride > tensor_bytes_max) {
      c.report("{} has stride {} in dim {}", name, dim.stride, d);
      return false;
    }
    if (dim.across && access.space == Space::hbm) {
      c.report("{} steps across partitions in dim {}, HBM has none", name, d);
      return false;
    }
  }
  if (elements(access) > tensor_bytes_max) {
    c.report("{} enumerates more than {} elements", name, tensor_bytes_max);
    return false;
  }
  return true;
}

bool check_role(Context& c, std::string_view name, const DmaAccess& access, bool is_write) {
  if (!access.tensor.valid() || access.tensor.index() >= c.program.tensors.size()) {
    c.report("{} names no tensor of the program", name);
    return false;
  }
  const HbmTensor& tensor = c.program.tensors[access.tensor];
  if (access.dtype != tensor.dtype) {
    c.report("{} sees tensor \"{}\" as {}, it holds {}", name, tensor.name, name_of(access.dtype),
             name_of(tensor.dtype));
  }
  if (is_write && (tensor.role == Role::input || tensor.role == Role::constant)) {
    c.report("{} writes the {} \"{}\"", name, enum_name(tensor.role), tensor.name);
  }
  return true;
}

void check_sbuf_range(Context& c, std::string_view name, const DmaAccess& access) {
  const PartitionRange partitions = partition_range(access);
  if (partitions.begin < 0 || partitions.end > c.machine.partitions) {
    c.report("{} touches partitions {} to {}, SBUF has {}", name, partitions.begin, partitions.end,
             c.machine.partitions);
  }
  const ByteRange bytes = byte_range(access);
  if (bytes.begin < 0 || bytes.end > c.machine.sbuf_bytes) {
    c.report("{} touches bytes {} to {} of a partition, SBUF has {}", name, bytes.begin, bytes.end,
             c.machine.sbuf_bytes);
  }
  if (access.offset % size_of(access.dtype) != 0) {
    c.report("{} starts at byte {}, no multiple of the {} bytes of {}", name, access.offset,
             size_of(access.dtype), name_of(access.dtype));
  }
}

}  // namespace

bool check_access(Context& c, std::string_view name, const Access& access, bool is_write) {
  if (access.space == Space::hbm) {
    c.report("{} lies in HBM, which only transfers reach", name);
    return false;
  }
  if (!check_dims(c, name, access) || !check_partitions(c, name, access)) {
    return false;
  }
  check_bytes(c, name, access);
  if (is_write) {
    Steps steps;
    for (int d = 0; d < access.rank; ++d) {
      const Dim& dim = access.dims[static_cast<std::size_t>(d)];
      steps.add(dim.stride, dim.extent);
    }
    if (touches_twice(steps)) {
      c.report("{} writes an element twice", name);
    }
  }
  return true;
}

bool check_side(Context& c, std::string_view name, const DmaAccess& access, bool is_write) {
  if (access.space == Space::psum) {
    c.report("{} lies in PSUM, which transfers do not reach", name);
    return false;
  }
  if (!check_dims(c, name, access)) {
    return false;
  }
  if (access.space == Space::hbm) {
    if (!check_role(c, name, access, is_write)) {
      return false;
    }
  } else {
    check_sbuf_range(c, name, access);
  }
  if (is_write) {
    Steps inside;
    Steps across;
    for (int d = 0; d < access.rank; ++d) {
      const DmaDim& dim = access.dims[static_cast<std::size_t>(d)];
      (dim.across ? across : inside).add(dim.stride, dim.extent);
    }
    if (touches_twice(inside) || touches_twice(across)) {
      c.report("{} writes an element twice", name);
    }
  }
  return true;
}

void check_tensor_range(Context& c, std::string_view name, const DmaAccess& access,
                        std::int64_t shift) {
  const HbmTensor& tensor = c.program.tensors[access.tensor];
  DmaAccess shifted = access;
  if (__builtin_add_overflow(access.offset, shift, &shifted.offset)) {
    c.report("{} has offset {}, tensor \"{}\" has {} bytes", name, access.offset, tensor.name,
             storage_bytes(tensor));
    return;
  }
  const ByteRange range = byte_range(shifted);
  if (range.begin < 0 || range.end > storage_bytes(tensor)) {
    c.report("{} touches bytes {} to {}, tensor \"{}\" has {}", name, range.begin, range.end,
             tensor.name, storage_bytes(tensor));
  }
}

}  // namespace systole::isa::rules
