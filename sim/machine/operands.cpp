#include "sim/machine/operands.hpp"

#include <algorithm>

namespace systole::sim {
bool overlaps(const Box& a, const Box& b) {
  return a.space == b.space && a.first_partition < b.end_partition &&
         b.first_partition < a.end_partition && a.begin < b.end && b.begin < a.end;
}

Operands operands_of(const isa::Operation& operation, const isa::Machine& machine) {
  Operands operands;
  isa::for_each_access(operation, [&](const isa::Access& access, bool is_write) {
    const isa::ByteRange range = isa::byte_range(access);
    const Box box{access.space, access.partition, access.partition + access.partitions, range.begin,
                  range.end};
    if (is_write) {
      operands.writes[static_cast<std::size_t>(std::min(operands.write_count++, 1))] = box;
    } else if (operands.read_count < Operands::max_reads) {
      operands.reads[static_cast<std::size_t>(operands.read_count++)] = box;
    }
    if (access.space == isa::Space::psum) {
      operands.psum = true;
      const std::int64_t last =
          std::min<std::int64_t>((range.end - 1) / machine.psum_bank_bytes, 31);
      for (std::int64_t bank = range.begin / machine.psum_bank_bytes; bank <= last; ++bank) {
        operands.banks |= 1U << static_cast<unsigned>(bank);
      }
    } else {
      operands.sbuf = true;
    }
  });
  operands.write_count = std::min(operands.write_count, 2);
  return operands;
}

}  // namespace systole::sim
