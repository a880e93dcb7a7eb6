#include "compiler/lower/transfer.hpp"

#include <doctest/doctest.h>

#include <map>
#include <set>
#include <vector>

#include "isa/base/random.hpp"
#include "isa/machine.hpp"

namespace systole::lower {
namespace {

isa::Machine small_machine() {
  isa::Machine machine;
  machine.partitions = 8;
  machine.partition_quantum = 2;
  machine.sbuf_bytes = 1 << 20;
  return machine;
}

// Where an element lies: partition (0 in HBM) and byte or element offset.
using Spot = std::pair<std::int64_t, std::int64_t>;

// The pairs (source, destination) that the box means, by its definition.
std::map<Spot, Spot> meant(const Transfer& transfer, std::int64_t partitions) {
  std::map<Spot, Spot> out;
  std::vector<std::int64_t> index(transfer.steps.size(), 0);
  const auto spot = [&](const End& end, Motion TransferStep::*motion) {
    std::int64_t p = end.partition;
    std::int64_t e = end.elements;
    for (std::size_t i = 0; i < index.size(); ++i) {
      p += (transfer.steps[i].*motion).partitions * index[i];
      e += (transfer.steps[i].*motion).elements * index[i];
    }
    if (end.space == isa::Space::hbm) {
      return Spot{0, e};
    }
    return Spot{p % partitions, end.bytes + (e + p / partitions * end.block) * isa::size_of(end.dtype)};
  };
  while (true) {
    out[spot(transfer.destination, &TransferStep::destination)] = spot(transfer.source, &TransferStep::source);
    std::size_t d = index.size();
    while (d > 0 && ++index[d - 1] == transfer.steps[d - 1].extent) {
      index[--d] = 0;
    }
    if (d == 0) {
      return out;
    }
  }
}

// The spots of one side of a DMA in order of its enumeration.
std::vector<Spot> walked(const isa::DmaAccess& access) {
  std::vector<Spot> out{{access.partition, access.offset}};
  const std::int64_t size = access.space == isa::Space::hbm ? 1 : isa::size_of(access.dtype);
  for (int d = 0; d < access.rank; ++d) {
    const isa::DmaDim& dim = access.dims[static_cast<std::size_t>(d)];
    std::vector<Spot> next;
    for (const Spot& spot : out) {
      for (std::int32_t i = 0; i < dim.extent; ++i) {
        next.push_back(dim.across ? Spot{spot.first + dim.stride * i, spot.second}
                                  : Spot{spot.first, spot.second + dim.stride * i * size});
      }
    }
    out = std::move(next);
  }
  return out;
}

std::map<Spot, Spot> planned(const Transfer& transfer, const isa::Machine& machine, std::size_t& transfers) {
  std::map<Spot, Spot> out;
  plan_dma(transfer, machine, [&](const PlannedDma& plan) {
    ++transfers;
    const std::vector<Spot> source = walked(plan.dma.source);
    const std::vector<Spot> destination = walked(plan.dma.destination);
    REQUIRE(source.size() == destination.size());
    for (std::size_t i = 0; i < source.size(); ++i) {
      for (const auto& [dma, spot] : {std::pair{&plan.dma.source, source[i]}, {&plan.dma.destination, destination[i]}}) {
        CHECK((dma->space == isa::Space::hbm || (spot.first >= 0 && spot.first < machine.partitions)));
      }
      CHECK(out.emplace(destination[i], source[i]).second);  // nothing is written twice
    }
  });
  return out;
}

Transfer random_transfer(Random& random) {
  Transfer out;
  // A resident tensor with random axes on one side, a dense HBM tensor on the other.
  const bool to_chip = random.integer(0, 1) == 1;
  End chip;
  chip.space = isa::Space::sbuf;
  chip.bytes = 4 * random.integer(0, 3);
  End hbm;
  const int across = static_cast<int>(random.integer(0, 3));
  const int along = static_cast<int>(random.integer(0, 5));
  std::int64_t partitions = 1;
  std::int64_t elements = 1;
  std::int64_t linear = 1;
  for (int i = 0; i < across + along; ++i) {
    const std::int64_t full = random.integer(1, i < across ? 9 : 3);
    const std::int64_t step = random.integer(1, 2);
    const std::int64_t extent = (full - 1) / step + 1;
    Motion motion = i < across ? Motion{partitions * step, 0} : Motion{0, elements * step};
    Motion other{0, linear * step};
    (i < across ? partitions : elements) *= full;
    linear *= full;
    if (random.integer(0, 3) == 0) {  // backwards on chip
      (i < across ? chip.partition : chip.elements) += (motion.partitions + motion.elements) * (extent - 1);
      motion = {-motion.partitions, -motion.elements};
    }
    out.steps.push_back(to_chip ? TransferStep{extent, other, motion} : TransferStep{extent, motion, other});
  }
  chip.block = elements;
  out.source = to_chip ? hbm : chip;
  out.destination = to_chip ? chip : hbm;
  return out;
}

}  // namespace

TEST_CASE("planned transfers move exactly the elements of the box") {
  const isa::Machine machine = small_machine();
  Random random(5);
  std::size_t transfers = 0;
  for (int i = 0; i < 2000; ++i) {
    const Transfer transfer = random_transfer(random);
    CHECK(planned(transfer, machine, transfers) == meant(transfer, machine.partitions));
  }
  CHECK(transfers > 2000);  // some had to be cut
}

TEST_CASE("whole blocks go in one transfer, the rest in a second") {
  const isa::Machine machine = small_machine();
  End chip;
  chip.space = isa::Space::sbuf;
  chip.block = 5;
  const auto count = [&](std::int64_t rows) {
    std::size_t transfers = 0;
    const Transfer transfer{{}, chip, {{rows, {0, 5}, {1, 0}}, {5, {0, 1}, {0, 1}}}};
    CHECK(planned(transfer, machine, transfers) == meant(transfer, machine.partitions));
    return transfers;
  };
  CHECK(count(8) == 1);
  CHECK(count(24) == 1);
  CHECK(count(27) == 2);
}

TEST_CASE("neighbouring dims are merged and rows stay long") {
  const isa::Machine machine = small_machine();
  End chip;
  chip.space = isa::Space::sbuf;
  const Transfer transfer{{}, chip, {{3, {0, 1}, {0, 1}}, {4, {0, 60}, {1, 0}}, {5, {0, 3}, {0, 3}}, {4, {0, 15}, {0, 15}}}};
  int transfers = 0;
  plan_dma(transfer, machine, [&](const PlannedDma& plan) {
    ++transfers;
    CHECK(plan.dma.source.rank == 1);  // 4 * 60 elements in one run
    CHECK(plan.dma.destination.rank == 2);
    CHECK(isa::rows(plan.dma.source, plan.dma.destination) == 4);
  });
  CHECK(transfers == 1);
}

TEST_CASE("an empty box is no transfer") {
  plan_dma({{}, {}, {{0, {0, 1}, {0, 1}}}}, small_machine(), [](const PlannedDma&) { FAIL("a transfer"); });
}

}  // namespace systole::lower
