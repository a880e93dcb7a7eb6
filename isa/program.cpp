#include "isa/program.hpp"

#include <limits>

namespace systole::isa {

bool HbmTensor::operator==(const HbmTensor& other) const {
  const bool same_data = data == other.data || (data && other.data && *data == *other.data);
  return same_data && name == other.name && role == other.role && dtype == other.dtype &&
         shape == other.shape && order == other.order && storage == other.storage;
}

std::int64_t elements(const HbmTensor& tensor) {
  std::int64_t count = 1;
  for (const std::int64_t extent : tensor.storage) {
    if (__builtin_mul_overflow(count, extent, &count)) {
      return std::numeric_limits<std::int64_t>::max();
    }
  }
  return count;
}

std::int64_t storage_bytes(const HbmTensor& tensor) {
  std::int64_t bytes = 0;
  return __builtin_mul_overflow(elements(tensor), std::int64_t{size_of(tensor.dtype)}, &bytes)
             ? std::numeric_limits<std::int64_t>::max()
             : bytes;
}

std::string source_name(const Program& program, const Instruction& instruction) {
  const SourceId source = instruction.source;
  return source.valid() && source.index() < program.sources.size() ? program.sources[source].name
                                                                   : "no source";
}

}  // namespace systole::isa
