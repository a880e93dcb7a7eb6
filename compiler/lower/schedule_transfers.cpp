#include "compiler/lower/schedule_transfers.hpp"

#include <algorithm>
#include <numeric>

#include "isa/engine_share.hpp"
#include "isa/jumps.hpp"
#include "isa/transposition.hpp"

namespace systole::lower {
namespace {

using Time = std::int64_t;  // ticks

struct Rates {
  Time start;                        // from the trigger to the first engine
  Time stagger;                      // from one engine to the next
  Time completion;                   // from the last byte to the signal
  std::int64_t bytes_per_ktick;      // of one engine
  std::int64_t hbm_bytes_per_ktick;  // of all together
  Time descriptor;                   // at least
};
constexpr Rates v2 = {4256, 140, 1680, 3036, 73214, 353};
constexpr Rates v3 = {3648, 120, 1440, 4792, 90625, 302};

const Rates& rates_of(const isa::Machine& machine) {
  return machine.generation == isa::Generation::v2 ? v2 : v3;
}

constexpr std::int64_t descriptor_bytes = 2048;  // neighbouring rows share a descriptor up to this
constexpr std::int64_t descriptor_rows = 8;      // and so many
constexpr std::int64_t jump_percent = 67;        // added where both sides jump at the end of a row
constexpr Time backlog = 7300;                   // of the engines, when the next load arrives

struct Work {
  std::int64_t bytes = 0;
  std::int64_t hbm_bytes = 0;  // read and written
  std::int64_t descriptors = 0;
  std::int64_t jumps = 0;            // descriptors at whose ends both sides jump
  std::int64_t percent = 100;        // of the engines' rate
  std::vector<std::int64_t> shares;  // by DMA engine
};

std::int64_t bytes_of(const isa::DmaAccess& access) {
  return isa::elements(access) * isa::size_of(access.dtype);
}

// Longest contiguous stretch, in HBM; elsewhere none.
std::int64_t hbm_run(const isa::DmaAccess& access) {
  return access.space == isa::Space::hbm ? isa::contiguous_run(access) * isa::size_of(access.dtype)
                                         : 0;
}

std::vector<std::int64_t> shares_of(const isa::DmaAccess& source, const isa::DmaAccess& destination,
                                    const isa::Machine& machine) {
  if (destination.space == isa::Space::sbuf) {
    return isa::partitions_per_engine(destination, machine);
  }
  if (source.space == isa::Space::sbuf) {
    return isa::partitions_per_engine(source, machine);
  }
  return std::vector<std::int64_t>(static_cast<std::size_t>(machine.dma_engines), 1);
}

// In blocks that all engines write together, at nine tenths of the rate from HBM and at half of it from SBUF.
Work transposing_work(const isa::Dma& dma, const isa::Machine& machine) {
  Work work;
  const auto turned = isa::transposition_of(dma.source, dma.destination);
  work.bytes = isa::blocks_of(turned.value(), machine) * machine.partitions * machine.dma_engines *
               isa::size_of(dma.destination.dtype);
  work.percent = dma.source.space == isa::Space::hbm ? 90 : 50;
  work.shares.assign(static_cast<std::size_t>(machine.dma_engines), 1);
  return work;
}

// Rows, of which a few that are neighbours in HBM share a descriptor up to its size.
Work work_of(const isa::Dma& dma, const isa::Machine& machine) {
  if (dma.transpose) {
    return transposing_work(dma, machine);
  }
  Work work;
  work.bytes = std::max(bytes_of(dma.source), bytes_of(dma.destination));
  work.hbm_bytes = (dma.source.space == isa::Space::hbm ? bytes_of(dma.source) : 0) +
                   (dma.destination.space == isa::Space::hbm ? bytes_of(dma.destination) : 0);
  work.descriptors = isa::rows(dma.source, dma.destination);
  const std::int64_t row = work.bytes / std::max<std::int64_t>(work.descriptors, 1);
  const std::int64_t merged = std::min({std::max(hbm_run(dma.source), hbm_run(dma.destination)),
                                        descriptor_bytes, row * descriptor_rows});
  if (merged > row) {
    work.descriptors = work.bytes / merged + 1;
  }
  work.jumps = std::min(isa::double_jumps(dma.source, dma.destination), work.descriptors);
  work.percent = dma.accumulate ? 50 : 100;
  work.shares = shares_of(dma.source, dma.destination, machine);
  return work;
}

// A row of the table for each index.
Work work_of(const isa::DmaIndirect& dma, const isa::Machine& machine) {
  isa::DmaAccess row = dma.rows_side;
  const std::int64_t rows = row.rank > 0 ? row.dims[0].extent : 1;
  if (row.rank > 0) {
    std::rotate(row.dims.begin(), row.dims.begin() + 1, row.dims.begin() + row.rank);
    --row.rank;
  }
  Work work;
  work.bytes = bytes_of(dma.rows_side);
  work.hbm_bytes = work.bytes * (dma.rows_side.space == isa::Space::hbm ? 2 : 1);
  work.descriptors = rows * isa::rows(dma.table, row);
  work.shares = shares_of(dma.table, dma.rows_side, machine);
  return work;
}

}  // namespace

TransferEngines::TransferEngines(const isa::Machine& machine)
    : machine_(machine), free_(static_cast<std::size_t>(machine.dma_engines), 0) {}

Time TransferEngines::add(const isa::Operation& operation, Time now) {
  const auto* dma = operation.get_if<isa::Dma>();
  const Work work = dma != nullptr ? work_of(*dma, machine_)
                                   : work_of(operation.get<isa::DmaIndirect>(), machine_);
  const Rates& rates = rates_of(machine_);
  const auto engines = static_cast<std::int64_t>(free_.size());
  const std::int64_t all = std::reduce(work.shares.begin(), work.shares.end());
  const Time descriptors =
      rates.descriptor * (100 * work.descriptors + jump_percent * work.jumps) / 100;
  const Time moving =
      std::max({work.bytes * 100'000 / (work.percent * rates.bytes_per_ktick), descriptors,
                work.hbm_bytes * 1000 * engines / rates.hbm_bytes_per_ktick});
  Time arrival = now + rates.start;
  last_byte_ = arrival;
  for (std::size_t e = 0; e < free_.size(); ++e) {
    if (work.shares[e] > 0) {
      free_[e] = std::max(free_[e], arrival) + moving * work.shares[e] / all;
      last_byte_ = std::max(last_byte_, free_[e]);
      arrival += rates.stagger;
    }
  }
  return last_byte_ + rates.completion;
}

Time TransferEngines::next_load() const {
  return last_byte_ - backlog - rates_of(machine_).start;
}

}  // namespace systole::lower
