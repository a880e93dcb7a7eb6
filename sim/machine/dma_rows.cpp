#include "sim/machine/dma_rows.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "isa/base/error.hpp"
#include "isa/engine_share.hpp"
#include "isa/jumps.hpp"
#include "isa/transposition.hpp"

namespace systole::sim {
namespace {

// A long row within HBM is cut so finely that the engines end at nearly the same time.
constexpr std::int64_t pieces_per_engine = 8;

// `total` split in proportion to the weights; the first engines take what is left over.
std::vector<std::int64_t> split(std::int64_t total, std::vector<std::int64_t> weights) {
  std::int64_t sum = 0;
  for (const std::int64_t weight : weights) {
    sum += weight;
  }
  if (sum > 0 && total % sum == 0) {  // whole rows of every partition: nearly always
    for (std::int64_t& weight : weights) {
      weight *= total / sum;
    }
    return weights;
  }
  std::vector<std::int64_t> share(weights.size(), 0);
  std::int64_t given = 0;
  for (std::size_t e = 0; e < weights.size(); ++e) {
    share[e] = sum == 0 ? 0 : total * weights[e] / sum;
    given += share[e];
  }
  for (std::size_t e = 0; given < total && e < share.size();
       e = e + 1 == share.size() ? 0 : e + 1) {
    if (weights[e] > 0) {
      ++share[e];
      ++given;
    }
  }
  return share;
}

std::vector<std::int64_t> weights_of(const isa::DmaAccess& source,
                                     const isa::DmaAccess& destination,
                                     const isa::Machine& machine) {
  if (destination.space == isa::Space::sbuf) {
    return isa::partitions_per_engine(destination, machine);
  }
  if (source.space == isa::Space::sbuf) {
    return isa::partitions_per_engine(source, machine);
  }
  return std::vector<std::int64_t>(static_cast<std::size_t>(machine.dma_engines), 1);
}

std::int64_t ceiling(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// Bytes of a descriptor of rows that go on in HBM: a few rows, up to a size.
std::int64_t merged_bytes(std::int64_t row, std::int64_t hbm_run_bytes, const Timing& timing) {
  return std::min<std::int64_t>(
      {hbm_run_bytes, timing.dma_merge_bytes, row * timing.dma_merge_rows});
}

// Every engine takes its stretch in equal descriptors of at most `size`.
void merge(TransferShape& shape, std::int64_t size, const std::vector<std::int64_t>& weights) {
  const std::int64_t most = *std::max_element(weights.begin(), weights.end());
  const std::int64_t sum = std::accumulate(weights.begin(), weights.end(), std::int64_t{0});
  const std::int64_t stretch = ceiling(shape.bytes * most, sum);
  const std::int64_t count = ceiling(stretch, size);
  shape.descriptor_bytes = ceiling(stretch, count);
  shape.descriptors = 0;
  shape.share.assign(weights.size(), 0);
  for (std::size_t e = 0; e < weights.size(); ++e) {
    shape.share[e] = ceiling(weights[e] * count, most);
    shape.descriptors += shape.share[e];
  }
}

// Descriptors and their engines, given the runs of both sides together and of the HBM side alone.
void cut(TransferShape& shape, std::int64_t rows, std::int64_t hbm_run_bytes, bool inside_hbm,
         std::vector<std::int64_t> weights, const Timing& timing) {
  std::int64_t row = std::max<std::int64_t>(1, shape.bytes / std::max<std::int64_t>(rows, 1));
  if (const std::int64_t size = merged_bytes(row, hbm_run_bytes, timing);
      shape.bytes > 0 && size > row) {
    merge(shape, size, weights);
    return;
  }
  if (inside_hbm && timing.dma_merge_bytes > 0) {  // no partition binds a long row to one engine
    const auto engines = static_cast<std::int64_t>(weights.size());
    const std::int64_t piece = std::max<std::int64_t>(
        timing.dma_merge_bytes, ceiling(shape.bytes, engines * pieces_per_engine));
    rows *= ceiling(row, piece);
    row = std::max<std::int64_t>(1, shape.bytes / std::max<std::int64_t>(rows, 1));
  }
  shape.descriptor_bytes = row;
  shape.descriptors = rows;
  shape.share = split(rows, std::move(weights));
}

std::int64_t run_bytes(const isa::DmaAccess& access) {
  return isa::contiguous_run(access) * isa::size_of(access.dtype);
}

}  // namespace

TransferShape shape_of(const isa::Dma& dma, const isa::Machine& machine, const Timing& timing) {
  TransferShape shape;
  const std::int64_t elements = isa::elements(dma.source);
  const std::int64_t source_bytes = elements * isa::size_of(dma.source.dtype);
  const std::int64_t destination_bytes = elements * isa::size_of(dma.destination.dtype);
  const bool from_hbm = dma.source.space == isa::Space::hbm;
  const bool to_hbm = dma.destination.space == isa::Space::hbm;
  shape.bytes = std::max(source_bytes, destination_bytes);
  shape.hbm_read =
      (from_hbm ? source_bytes : 0) + (dma.accumulate && to_hbm ? destination_bytes : 0);
  shape.hbm_written = to_hbm ? destination_bytes : 0;
  if (dma.transpose) {
    // All engines write every block together, one of its rows each, filled or not.
    const std::optional<isa::Transposition> turned =
        isa::transposition_of(dma.source, dma.destination);
    check(turned.has_value(), "the verifier lets transpositions through only");
    const std::int64_t blocks = isa::blocks_of(*turned, machine);
    shape.descriptor_bytes = std::int64_t{machine.partitions} * isa::size_of(dma.destination.dtype);
    shape.descriptors = blocks * machine.dma_engines;
    shape.share.assign(static_cast<std::size_t>(machine.dma_engines), blocks);
    shape.rate_fraction = from_hbm ? timing.dma_transpose_hbm : timing.dma_transpose_sbuf;
    shape.pays_row_floor = false;
  } else {
    const std::int64_t hbm_run =
        std::max(from_hbm ? run_bytes(dma.source) : 0, to_hbm ? run_bytes(dma.destination) : 0);
    cut(shape, isa::rows(dma.source, dma.destination), hbm_run, from_hbm && to_hbm,
        weights_of(dma.source, dma.destination, machine), timing);
    shape.jumping = static_cast<double>(isa::double_jumps(dma.source, dma.destination)) /
                    static_cast<double>(std::max<std::int64_t>(shape.descriptors, 1));
  }
  if (dma.accumulate) {
    shape.rate_fraction *= timing.dma_accumulate;
  }
  return shape;
}

TransferShape shape_of(const isa::DmaIndirect& dma, const isa::Machine& machine,
                       const Timing& timing) {
  TransferShape shape;
  const std::int64_t elements = isa::elements(dma.rows_side);
  const std::int64_t rows = dma.rows_side.rank > 0 ? dma.rows_side.dims[0].extent : 1;
  const std::int64_t table_bytes = elements * isa::size_of(dma.table.dtype);
  const std::int64_t side_bytes = elements * isa::size_of(dma.rows_side.dtype);
  const bool side_in_hbm = dma.rows_side.space == isa::Space::hbm;
  shape.bytes = std::max(table_bytes, side_bytes);
  shape.hbm_read = dma.scatter ? (side_in_hbm ? side_bytes : 0) : table_bytes;
  shape.hbm_written = dma.scatter ? table_bytes : (side_in_hbm ? side_bytes : 0);
  isa::DmaAccess row = dma.rows_side;  // one row: the pattern without its first dim
  row.rank = static_cast<std::int8_t>(std::max(0, row.rank - 1));
  for (int d = 1; d < dma.rows_side.rank; ++d) {
    row.dims[static_cast<std::size_t>(d - 1)] = dma.rows_side.dims[static_cast<std::size_t>(d)];
  }
  cut(shape, rows * isa::rows(dma.table, row), 0, side_in_hbm,
      weights_of(dma.table, dma.rows_side, machine), timing);
  return shape;
}

}  // namespace systole::sim
