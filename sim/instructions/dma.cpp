// DMA transfers as moves between two patterns over host memory.
#include <fmt/format.h>

#include <algorithm>

#include "sim/instructions/execute.hpp"
#include "sim/memory/transfer.hpp"

namespace systole::sim {
namespace {

std::int64_t pitch_of(const isa::DmaAccess& access, const Memory& memory) {
  return access.space == isa::Space::hbm ? 0 : memory.pitch(access.space);
}

const std::byte* first_element(const isa::DmaAccess& access, Memory& memory) {
  if (access.space == isa::Space::hbm) {
    return memory.tensor(access.tensor) + access.offset * isa::size_of(access.dtype);
  }
  return memory.partition(access.space, access.partition) + access.offset;
}

std::byte* writable_element(const isa::DmaAccess& access, Memory& memory) {
  if (access.space == isa::Space::hbm) {
    return memory.writable_tensor(access.tensor) + access.offset * isa::size_of(access.dtype);
  }
  return memory.partition(access.space, access.partition) + access.offset;
}

// The pattern of one row of rows_side: its dims but the first.
isa::DmaAccess one_row(const isa::DmaAccess& rows) {
  isa::DmaAccess row = rows;
  row.rank = static_cast<std::int8_t>(rows.rank > 0 ? rows.rank - 1 : 0);
  for (int d = 1; d < rows.rank; ++d) {
    row.dims[static_cast<std::size_t>(d - 1)] = rows.dims[static_cast<std::size_t>(d)];
  }
  return row;
}

}  // namespace

void execute(const isa::Dma& op, Context& context) {
  Memory& memory = context.memory;
  if (isa::elements(op.source) == 0) {
    return;
  }
  const TransferPlan plan = plan_transfer(op.source, pitch_of(op.source, memory), op.destination,
                                          pitch_of(op.destination, memory));
  std::byte* destination = writable_element(op.destination, memory);
  run_transfer(plan, {op.source.dtype, op.destination.dtype, op.accumulate},
               first_element(op.source, memory), destination);
}

std::vector<std::int64_t> selected_rows(const isa::DmaIndirect& op, Context& context) {
  std::vector<std::int64_t> rows;
  const std::int64_t count = op.rows_side.rank > 0 ? op.rows_side.dims[0].extent : 1;
  Reader<std::int64_t> index(context, op.index, 0);
  std::int64_t i = 0;
  for (int p = 0; p < op.index.partitions; ++p) {
    const std::int64_t* values = index.row(p);
    for (std::int64_t j = 0; j < index.size() && i < count; ++j, ++i) {
      if (values[j] >= 0 && values[j] < op.bound) {
        rows.push_back(values[j]);
      }
    }
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

void execute(const isa::DmaIndirect& op, Context& context) {
  Memory& memory = context.memory;
  const isa::DmaAccess row = one_row(op.rows_side);
  const isa::DmaAccess& source = op.scatter ? row : op.table;
  const isa::DmaAccess& destination = op.scatter ? op.table : row;
  const TransferPlan plan =
      plan_transfer(source, pitch_of(source, memory), destination, pitch_of(destination, memory));
  const TransferKind kind{source.dtype, destination.dtype, false};

  const isa::DmaDim rows = op.rows_side.rank > 0 ? op.rows_side.dims[0] : isa::DmaDim{};
  const std::int64_t row_step =
      rows.stride * (rows.across ? pitch_of(row, memory) : std::int64_t{isa::size_of(row.dtype)});
  const std::int64_t table_step = op.row_stride * isa::size_of(op.table.dtype);

  Reader<std::int64_t> index(context, op.index, 0);
  std::byte* to = writable_element(destination, memory);
  const std::byte* from = first_element(source, memory);
  std::int64_t i = 0;
  for (int p = 0; p < op.index.partitions; ++p) {
    const std::int64_t* values = index.row(p);
    for (std::int64_t j = 0; j < index.size() && i < rows.extent; ++j, ++i) {
      if (values[j] < 0 || values[j] >= op.bound) {
        context.fault =
            fmt::format("index {} of row {} is outside [0, {})", values[j], i, op.bound);
        return;
      }
      const std::int64_t table = values[j] * table_step;
      run_transfer(plan, kind, from + (op.scatter ? i * row_step : table),
                   to + (op.scatter ? table : i * row_step));
    }
  }
}

}  // namespace systole::sim
