#include "sim/check/bounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

namespace systole::sim {
namespace {

class Bounds {
 public:
  Bounds(const isa::Program& program, const isa::Machine& machine)
      : program_(program), machine_(machine) {}

  [[nodiscard]] bool sound() const { return problem_.empty(); }
  [[nodiscard]] std::string take() { return std::move(problem_); }

  void inside(const isa::Access& access, bool is_write) {
    const char* name = is_write ? "the output" : "an input";
    if (access.rank < 0 || access.rank > isa::Access::max_rank || access.space == isa::Space::hbm) {
      return report("{} is no pattern over SBUF or PSUM", name);
    }
    for (int d = 0; d < access.rank; ++d) {
      if (access.dims[static_cast<std::size_t>(d)].extent < 1) {
        return report("{} has an empty dimension", name);
      }
    }
    if (access.partition < 0 || access.partitions < 1 ||
        access.partition + access.partitions > machine_.partitions) {
      return report("{} covers partitions {} to {} of {}", name, access.partition,
                    access.partition + access.partitions - 1, machine_.partitions);
    }
    const isa::ByteRange range = isa::byte_range(access);
    const std::int64_t size = partition_bytes(access.space);
    if (range.begin < 0 || range.end > size) {
      report("{} touches bytes {} to {} of a partition of {} bytes", name, range.begin,
             range.end - 1, size);
    }
  }

  void inside(const isa::DmaAccess& access, const char* name) {
    if (access.rank < 0 || access.rank > isa::DmaAccess::max_rank ||
        access.space == isa::Space::psum) {
      return report("{} is no pattern over HBM or SBUF", name);
    }
    for (int d = 0; d < access.rank; ++d) {
      const isa::DmaDim& dim = access.dims[static_cast<std::size_t>(d)];
      if (dim.extent < 1 || (dim.across && access.space == isa::Space::hbm)) {
        return report("{} has an empty dimension or steps across partitions of HBM", name);
      }
    }
    const isa::ByteRange range = isa::byte_range(access);
    if (access.space == isa::Space::hbm) {
      if (!access.tensor.valid() || access.tensor.index() >= program_.tensors.size()) {
        return report("{} names a tensor that the program does not have", name);
      }
      const isa::HbmTensor& tensor = program_.tensors[access.tensor];
      const std::int64_t size = isa::storage_bytes(tensor);
      if (range.begin < 0 || range.end > size) {
        report("{} touches bytes {} to {} of tensor {}, which has {}", name, range.begin,
               range.end - 1, tensor.name, size);
      }
      return;
    }
    const isa::PartitionRange touched = isa::partition_range(access);
    if (touched.begin < 0 || touched.end > machine_.partitions) {
      return report("{} covers partitions {} to {} of {}", name, touched.begin, touched.end - 1,
                    machine_.partitions);
    }
    if (range.begin < 0 || range.end > machine_.sbuf_bytes) {
      report("{} touches bytes {} to {} of a partition of {} bytes", name, range.begin,
             range.end - 1, machine_.sbuf_bytes);
    }
  }

  void equal(std::int64_t a, std::int64_t b, const char* what) {
    if (a != b) {
      report("{}: {} against {}", what, a, b);
    }
  }
  void at_most(std::int64_t value, std::int64_t limit, const char* what) {
    if (value > limit) {
      report("{} is {}, the limit {}", what, value, limit);
    }
  }
  void double_row(bool used) {
    if (used && !machine_.fp8_double_row) {
      report("double_row does not exist on machine {}", machine_.name);
    }
  }
  void not_negative(std::int64_t value, const char* what) {
    if (value < 0) {
      report("{} is {}", what, value);
    }
  }
  void same_shape(const isa::Access& a, const isa::Access& b) {
    equal(a.partitions, b.partitions, "partitions of two operands differ");
    equal(isa::free_elements(a), isa::free_elements(b),
          "elements per partition of two operands differ");
  }
  void scalar(const isa::Scalar& scalar, const isa::Access& data) {
    if (scalar.per_partition) {
      equal(scalar.access.partitions, data.partitions,
            "partitions of a scalar operand and the data differ");
    }
  }

  [[nodiscard]] const isa::Machine& machine() const { return machine_; }

 private:
  [[nodiscard]] std::int64_t partition_bytes(isa::Space space) const {
    return space == isa::Space::psum ? machine_.psum_banks * machine_.psum_bank_bytes
                                     : machine_.sbuf_bytes;
  }
  template <class... A>
  void report(fmt::format_string<A...> format, A&&... arguments) {
    if (problem_.empty()) {
      problem_ = fmt::format(format, std::forward<A>(arguments)...);
    }
  }

  const isa::Program& program_;
  const isa::Machine& machine_;
  std::string problem_;
};

void sizes(const isa::LoadStationary& op, Bounds& b) {
  b.double_row(op.double_row);
  b.not_negative(op.column, "the first column");
  b.at_most(op.stationary.partition + op.stationary.partitions, b.machine().array_rows,
            "the last array row");
  b.at_most(op.column + isa::columns_of(op), b.machine().array_columns, "the last array column");
}
void sizes(const isa::Multiply& op, Bounds& b) {
  b.double_row(op.double_row);
  b.equal(isa::columns_of(op), isa::free_elements(op.out), "moving and output columns differ");
  b.at_most(op.moving.partition + op.moving.partitions, b.machine().array_rows,
            "the last array row");
  b.at_most(op.out.partition + op.out.partitions, b.machine().array_columns,
            "the last array column");
  const isa::ByteRange range = isa::byte_range(op.out);
  const std::int64_t bank = b.machine().psum_bank_bytes;
  b.equal(range.begin / bank, (range.end - 1) / bank,
          "the output crosses from one PSUM bank to another");
}
void sizes(const isa::TensorTensor& op, Bounds& b) {
  b.same_shape(op.a, op.out);
  b.same_shape(op.b, op.out);
}
void sizes(const isa::TensorScalar& op, Bounds& b) {
  b.same_shape(op.in, op.out);
  b.scalar(op.s0, op.in);
  b.scalar(op.s1, op.in);
}
void sizes(const isa::ScalarTensorTensor& op, Bounds& b) {
  b.same_shape(op.in, op.out);
  b.same_shape(op.other, op.out);
  b.scalar(op.scalar, op.in);
}
void sizes(const isa::TensorReduce& op, Bounds& b) {
  b.not_negative(op.axes, "the number of reduced dims");
  b.at_most(op.axes, op.in.rank, "the number of reduced dims");
  if (!b.sound()) {
    return;
  }
  std::int64_t outer = 1;
  for (int d = 0; d < op.in.rank - op.axes; ++d) {
    outer *= op.in.dims[static_cast<std::size_t>(d)].extent;
  }
  b.equal(op.in.partitions, op.out.partitions, "partitions of two operands differ");
  b.equal(outer, isa::free_elements(op.out), "results and output elements differ");
}
void sizes(const isa::TensorScan& op, Bounds& b) {
  b.same_shape(op.a, op.out);
  b.same_shape(op.b, op.out);
  b.scalar(op.initial, op.out);
}
void sizes(const isa::Copy& op, Bounds& b) {
  b.same_shape(op.in, op.out);
}
void sizes(const isa::CopyPredicated& op, Bounds& b) {
  b.same_shape(op.in, op.out);
  b.same_shape(op.predicate, op.out);
}
void sizes(const isa::Memset&, Bounds&) {}
void sizes(const isa::Reciprocal& op, Bounds& b) {
  b.same_shape(op.in, op.out);
}
void sizes(const isa::Transpose32& op, Bounds& b) {
  b.equal(op.in.partitions, isa::free_elements(op.out),
          "input partitions and output elements differ");
  b.equal(isa::free_elements(op.in), op.out.partitions,
          "input elements and output partitions differ");
  b.at_most(op.in.partitions, 32, "the number of rows");
  b.at_most(op.out.partitions, 32, "the number of columns");
}
void sizes(const isa::Shuffle32& op, Bounds& b) {
  b.same_shape(op.in, op.out);
}
void sizes(const isa::BatchNormStats& op, Bounds& b) {
  b.equal(op.in.partitions, op.out.partitions, "partitions of two operands differ");
  b.equal(isa::free_elements(op.out), 6, "output elements");
}
void sizes(const isa::BatchNormAggregate& op, Bounds& b) {
  b.equal(op.in.partitions, op.out.partitions, "partitions of two operands differ");
  b.equal(isa::free_elements(op.out), 2, "output elements");
}
void sizes(const isa::Max8& op, Bounds& b) {
  b.equal(op.in.partitions, op.out.partitions, "partitions of two operands differ");
  b.equal(isa::free_elements(op.out), 8, "output elements");
  b.at_most(8, isa::free_elements(op.in), "eight, the number of results,");
}
void sizes(const isa::FindIndex8& op, Bounds& b) {
  b.equal(op.in.partitions, op.values.partitions, "partitions of two operands differ");
  b.same_shape(op.values, op.out);
}
void sizes(const isa::MatchReplace8& op, Bounds& b) {
  b.same_shape(op.in, op.out);
  b.equal(op.in.partitions, op.values.partitions, "partitions of two operands differ");
}
void sizes(const isa::Activation& op, Bounds& b) {
  b.same_shape(op.in, op.out);
  b.scalar(op.scale, op.in);
  b.scalar(op.bias, op.in);
  if (op.with_reduce) {
    b.equal(op.reduce.partitions, op.in.partitions, "partitions of the sum and the data differ");
    b.equal(isa::free_elements(op.reduce), 1, "elements of the sum");
  }
}
void sizes(const isa::Iota&, Bounds&) {}
void sizes(const isa::AffineSelect& op, Bounds& b) {
  b.same_shape(op.in, op.out);
}
void sizes(const isa::PartitionReduce& op, Bounds& b) {
  b.equal(op.out.partitions, 1, "output partitions");
  b.equal(isa::free_elements(op.in), isa::free_elements(op.out),
          "elements per partition of two operands differ");
}
void sizes(const isa::LocalGather& op, Bounds& b) {
  b.same_shape(op.index, op.out);
  b.equal(op.in.partitions, op.out.partitions, "partitions of two operands differ");
}
void sizes(const isa::Dma& op, Bounds& b) {
  b.inside(op.source, "the source");
  b.inside(op.destination, "the destination");
  if (!b.sound()) {
    return;  // nothing to count
  }
  b.equal(isa::elements(op.source), isa::elements(op.destination),
          "elements of source and destination differ");
  b.at_most(op.ring, b.machine().dma_rings - 1, "the ring");
}
void sizes(const isa::DmaIndirect& op, Bounds& b) {
  b.not_negative(op.bound - 1, "the number of table rows less one");
  b.at_most(op.ring, b.machine().dma_rings - 1, "the ring");
  if (op.table.space != isa::Space::hbm) {
    b.equal(0, 1, "the table lies outside HBM");
    return;
  }
  isa::DmaAccess last = op.table;
  std::int64_t reach = 0;
  if (__builtin_mul_overflow(op.bound - 1, op.row_stride, &reach) ||
      __builtin_add_overflow(last.offset, reach, &last.offset)) {
    b.at_most(op.bound, 0, "the number of table rows");
    return;
  }
  b.inside(op.table, "the table's first row");
  b.inside(last, "the table's last row");
  b.inside(op.rows_side, "the side of the rows");
  if (!b.sound()) {
    return;
  }
  const std::int64_t rows = op.rows_side.rank > 0 ? op.rows_side.dims[0].extent : 1;
  const std::int64_t moved = isa::elements(op.rows_side);
  b.equal(isa::elements(op.table), moved / std::max<std::int64_t>(rows, 1),
          "elements of the rows differ");
  b.equal(isa::elements(op.index), rows, "indices and rows differ");
}
void sizes(const isa::Nop&, Bounds&) {}
void sizes(const isa::LoadTable&, Bounds&) {}

void check_sizes(const isa::Operation& operation, Bounds& bounds) {
  visit([&bounds](const auto& op) { sizes(op, bounds); }, operation);
}

}  // namespace

std::string find_out_of_range(const isa::Instruction& instruction, const isa::Program& program,
                              const isa::Machine& machine) {
  Bounds bounds(program, machine);
  isa::for_each_access(instruction.operation, [&bounds](const isa::Access& access, bool is_write) {
    bounds.inside(access, is_write);
  });
  if (bounds.sound()) {
    check_sizes(instruction.operation, bounds);
  }
  return bounds.take();
}

}  // namespace systole::sim
