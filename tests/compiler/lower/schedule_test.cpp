#include <doctest/doctest.h>
#include <fmt/format.h>

#include "compiler/lower/stages.hpp"
#include "isa/base/random.hpp"
#include "tests/compiler/lower/happens_before.hpp"
#include "tests/compiler/lower/tile_item.hpp"

namespace systole::lower {
namespace {

isa::Machine toy_machine(int rings) {
  isa::Machine machine;
  machine.name = "toy";
  machine.partitions = 8;
  machine.partition_quantum = 2;
  machine.sbuf_bytes = 1024;
  machine.psum_banks = 4;
  machine.psum_bank_bytes = 64;
  machine.array_rows = 8;
  machine.array_columns = 8;
  machine.moving_max = 16;
  machine.dma_rings = rings;
  return machine;
}

// A random program: loads, stores, copies inside SBUF by DMA, matrix products, elementwise work on
// several engines.
class Generator {
 public:
  // Segments of a tensor's history grow with its size: from 1 byte to all that the patterns reach.
  explicit Generator(std::uint64_t seed) : random_(seed) {
    const std::int64_t extent = std::int64_t{64} << (seed % 20);
    for (int t = 0; t < 3; ++t) {
      isa::HbmTensor tensor;
      tensor.name = fmt::format("t{}", t);
      tensor.shape = {extent};
      tensor.order = {0};
      tensor.storage = {extent};
      program_.tensors.add(tensor);
    }
    program_.sources.add({"op", isa::SourceKind::operation});
  }

  TileProgram take(int instructions) {
    for (int i = 0; i < instructions; ++i) {
      step();
    }
    return std::move(program_);
  }

 private:
  std::int64_t draw(std::int64_t low, std::int64_t high) { return random_.integer(low, high); }

  BufferId buffer(isa::Space space) {
    auto& pool = space == isa::Space::psum ? psum_ : sbuf_;
    if (pool.size() < 3 || draw(0, 4) == 0) {
      pool.push_back(program_.buffers.add({space, 64, "b"}));
      if (pool.size() > 3) {
        pool.erase(pool.begin());
      }
    }
    return pool[static_cast<std::size_t>(draw(0, static_cast<std::int64_t>(pool.size()) - 1))];
  }

  // 4 x stride pattern of f32 inside the 64 bytes of a buffer.
  isa::Access access(isa::Space space, int partition, int partitions) {
    isa::Access out;
    out.space = space;
    out.partition = static_cast<std::int16_t>(partition);
    out.partitions = static_cast<std::int16_t>(partitions);
    out.rank = 1;
    out.dims[0] = {static_cast<std::int32_t>(draw(1, 3)), 4};
    out.offset = static_cast<std::int32_t>(4 * draw(0, 3));
    return out;
  }

  isa::DmaAccess on_chip(int partition) {
    isa::DmaAccess out;
    out.space = isa::Space::sbuf;
    out.rank = 2;
    out.partition = static_cast<std::int16_t>(partition);
    out.dims[0] = {1, 2, true};
    out.dims[1] = {draw(1, 3), 4, false};
    out.offset = 4 * draw(0, 3);
    return out;
  }

  isa::DmaAccess off_chip() {
    isa::DmaAccess out;
    out.space = isa::Space::hbm;
    out.rank = 2;
    out.tensor = isa::TensorId(static_cast<std::size_t>(draw(0, 2)));
    out.dims[0] = {draw(4, 12), 2, false};
    out.dims[1] = {1, 4, false};
    out.offset = draw(0, 40);
    return out;
  }

  void emit(isa::Operation operation, isa::Engine engine, std::vector<BufferId> buffers,
            bool any = false) {
    program_.instructions.push_back(
        tile_item(std::move(operation), engine, std::move(buffers), any));
  }

  void transfer() {
    isa::Dma dma;
    std::vector<BufferId> buffers;
    const std::int64_t kind = draw(0, 2);
    dma.source = off_chip();
    dma.destination = off_chip();
    if (kind != 0) {  // stores, and copies inside SBUF
      dma.source = on_chip(static_cast<int>(draw(0, 6)));
      buffers.push_back(buffer(isa::Space::sbuf));
    }
    if (kind != 1) {
      dma.destination = on_chip(static_cast<int>(draw(0, 6)));
      buffers.push_back(buffer(isa::Space::sbuf));
    }
    emit(dma, isa::Engine::sync, buffers);
  }

  void step() {
    const int partition = static_cast<int>(2 * draw(0, 3));
    const auto from = draw(0, 1) == 0 ? isa::Space::sbuf : isa::Space::psum;
    switch (draw(0, 5)) {
      case 0:
      case 1:
        return transfer();
      case 2:
        return emit(isa::Multiply{access(isa::Space::sbuf, partition, 2),
                                  access(isa::Space::psum, partition, 2)},
                    isa::Engine::tensor, {buffer(isa::Space::sbuf), buffer(isa::Space::psum)});
      case 3:
        return emit(isa::Copy{access(from, partition, 2), access(isa::Space::sbuf, partition, 2)},
                    isa::Engine::vector, {buffer(from), buffer(isa::Space::sbuf)}, true);
      case 4:
        return emit(isa::TensorTensor{access(isa::Space::sbuf, partition, 2),
                                      access(isa::Space::sbuf, partition, 2),
                                      access(isa::Space::sbuf, partition, 2)},
                    draw(0, 1) == 0 ? isa::Engine::gpsimd : isa::Engine::vector,
                    {buffer(isa::Space::sbuf), buffer(isa::Space::sbuf), buffer(isa::Space::sbuf)});
      default:
        return emit(isa::Memset{access(isa::Space::sbuf, partition, 2), 1.0F}, isa::Engine::vector,
                    {buffer(isa::Space::sbuf)}, true);
    }
  }

  Random random_;
  TileProgram program_;
  std::vector<BufferId> sbuf_, psum_;
};

// Schedules with every instruction as its own source, as the judge wants it.
isa::Program scheduled(TileProgram program, const isa::Machine& machine) {
  const Allocation allocation = allocate(program, machine);
  program.sources = {};
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    program.sources.add({fmt::format("{}", i), isa::SourceKind::operation});
    program.instructions[i].instruction.source = isa::SourceId(i);
  }
  return schedule(program, allocation, machine);
}

std::string joined(const std::vector<std::string>& lines) {
  return fmt::format("{}", fmt::join(lines, "; "));
}

}  // namespace

TEST_CASE("random programs: every dependence is covered, and no order gets stuck") {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    const isa::Machine machine = toy_machine(1 + static_cast<int>(seed % 5));
    const TileProgram tiles = Generator(seed).take(60);
    const isa::Program program = scheduled(tiles, machine);
    INFO("seed ", seed);
    CHECK(joined(testing::faults(program, tiles.instructions.size())) == "");
    for (std::uint64_t run = 0; run < 5; ++run) {
      CHECK(testing::runs_to_end(program, run));
    }
    CHECK(scheduled(tiles, machine) == program);
  }
}

TEST_CASE("waits that others imply are left out") {
  // load a; vector: b = a; scalar: c = f(b), which also reads a: knows the load through vector.
  TileProgram program;
  program.sources.add({"op", isa::SourceKind::operation});
  isa::HbmTensor tensor;
  tensor.storage = {4};
  program.tensors.add(tensor);
  const BufferId a = program.buffers.add({isa::Space::sbuf, 16, "a"});
  const BufferId b = program.buffers.add({isa::Space::sbuf, 16, "b"});
  isa::Dma load;
  load.source.rank = load.destination.rank = 1;
  load.source.dims[0] = load.destination.dims[0] = {1, 4, false};
  load.source.tensor = isa::TensorId(0);
  load.destination.space = isa::Space::sbuf;
  isa::Access row;
  row.rank = 1;
  row.dims[0] = {1, 4};
  const auto add = [&program](isa::Operation operation, isa::Engine engine,
                              std::vector<BufferId> buffers) {
    TileInstruction item;
    item.instruction.engine = engine;
    item.instruction.source = isa::SourceId(0);
    item.instruction.operation = std::move(operation);
    item.buffers = std::move(buffers);
    program.instructions.push_back(item);
  };
  add(load, isa::Engine::sync, {a});
  add(isa::Copy{row, row}, isa::Engine::vector, {a, b});
  isa::Activation activation;
  activation.in = row;
  activation.out = row;
  activation.scale.per_partition = true;
  activation.scale.access.rank = 0;
  add(activation, isa::Engine::scalar, {b, b, a});
  add(isa::Memset{row, 0.0F}, isa::Engine::vector, {a});
  const isa::Program result = schedule(program, allocate(program, toy_machine(4)), toy_machine(4));
  const auto& vector = result.streams[static_cast<std::size_t>(isa::Engine::vector)];
  const auto& scalar = result.streams[static_cast<std::size_t>(isa::Engine::scalar)];
  REQUIRE(vector.size() == 2);
  REQUIRE(scalar.size() == 1);
  CHECK(result.semaphores == 3);
  CHECK(vector[0].waits.size() == 1);
  CHECK(scalar[0].waits.size() == 1);  // not for the load
  CHECK(vector[1].waits.size() == 1);  // for scalar's read of a; the load is known
  CHECK_FALSE(vector[1].signal.valid());
}

TEST_CASE(
    "a load that waits for another transfer is not queued behind all that could start before") {
  TileProgram program;
  program.sources.add({"op", isa::SourceKind::operation});
  for (int t = 0; t < 3; ++t) {
    isa::HbmTensor tensor;
    tensor.name = fmt::format("t{}", t);
    tensor.shape = {8 * 4096};
    tensor.order = {0};
    tensor.storage = {8 * 4096};
    program.tensors.add(tensor);
  }
  const auto transfer = [&program](std::int32_t rows, std::vector<BufferId> buffers,
                                   std::size_t from) {
    isa::Dma dma;
    dma.source.space = isa::Space::hbm;
    dma.source.tensor = isa::TensorId(from);
    dma.source.rank = 1;
    dma.source.dims[0] = {1, rows, false};
    dma.destination = dma.source;
    if (buffers.empty()) {
      dma.destination.tensor = isa::TensorId(1);
    } else {
      dma.destination.space = isa::Space::sbuf;
    }
    TileInstruction item;
    item.instruction.engine = isa::Engine::sync;
    item.instruction.source = isa::SourceId(0);
    item.instruction.operation = dma;
    item.buffers = std::move(buffers);
    program.instructions.push_back(item);
  };
  const auto buffer = [&program] {
    return program.buffers.add({isa::Space::sbuf, 4 * 16384, "b"});
  };
  isa::Machine machine = toy_machine(4);
  machine.sbuf_bytes = std::int64_t{1} << 24;
  transfer(64, {}, 0);          // puts t1 in order
  transfer(64, {buffer()}, 1);  // needed first, but later than the rest can start
  constexpr int others = 60;
  for (int i = 0; i < others; ++i) {
    transfer(16384, {buffer()}, 2);
  }
  const isa::Program result = schedule(program, allocate(program, machine), machine);
  const auto& loads = result.streams[static_cast<std::size_t>(isa::Engine::sync)];
  REQUIRE(loads.size() == others + 2);
  std::size_t at = 0;
  while (at < loads.size() &&
         loads[at].operation.get<isa::Dma>().source.tensor != isa::TensorId(1)) {
    ++at;
  }
  CHECK(at > 1);
  CHECK(at < 16);  // 26 triggers take as long as the first transfer
}

TEST_CASE("work for any engine goes to the less busy one") {
  TileProgram program;
  program.sources.add({"op", isa::SourceKind::operation});
  isa::Access row;
  row.rank = 1;
  row.dims[0] = {1, 16};
  for (int i = 0; i < 20; ++i) {
    TileInstruction item;
    item.instruction.engine = isa::Engine::vector;
    item.instruction.source = isa::SourceId(0);
    item.instruction.operation = isa::Copy{row, row};
    item.buffers = {program.buffers.add({isa::Space::sbuf, 64, "in"}),
                    program.buffers.add({isa::Space::sbuf, 64, "out"})};
    item.any_engine = true;
    program.instructions.push_back(item);
  }
  const isa::Program result = schedule(program, allocate(program, toy_machine(4)), toy_machine(4));
  const auto& scalar = result.streams[static_cast<std::size_t>(isa::Engine::scalar)];
  CHECK(scalar.size() >= 8);
  CHECK(scalar.size() <= 13);
  CHECK(scalar.front().operation.holds<isa::Activation>());  // v2: no copy on Scalar
}

namespace {

// On Scalar: exp, a copy of what `before_copy` makes, and the logarithm of that.
struct Chain {
  TileProgram program;
  isa::Access row;

  explicit Chain(bool waits) {
    program.sources.add({"op", isa::SourceKind::operation});
    isa::HbmTensor tensor;
    tensor.name = "t";
    tensor.shape = {16};
    tensor.storage = {16};
    tensor.order = {0};
    program.tensors.add(tensor);
    row.rank = 1;
    row.dims[0] = {1, 16};
    const BufferId loaded = buffer();
    const BufferId copied = buffer();
    isa::Activation exp{row, row};
    exp.function = isa::Function::exp;
    add(exp, isa::Engine::scalar, {buffer(), buffer()});
    if (waits) {  // for three transfers
      const BufferId first = buffer();
      const BufferId second = buffer();
      isa::Dma dma;
      dma.source.space = isa::Space::hbm;
      dma.source.tensor = isa::TensorId(0);
      dma.source.rank = dma.destination.rank = 1;
      dma.source.dims[0] = dma.destination.dims[0] = {1, 16, false};
      dma.destination.space = isa::Space::sbuf;
      add(dma, isa::Engine::sync, {first});
      dma.source = dma.destination;
      add(dma, isa::Engine::sync, {first, second});
      add(dma, isa::Engine::sync, {second, loaded});
    }
    add(isa::Activation{row, row}, isa::Engine::scalar, {loaded, copied});
    isa::Activation log{row, row};
    log.function = isa::Function::log;
    add(log, isa::Engine::scalar, {copied, buffer()});
  }

  BufferId buffer() { return program.buffers.add({isa::Space::sbuf, 64, "b"}); }

  void add(isa::Operation operation, isa::Engine engine, std::vector<BufferId> buffers) {
    program.instructions.push_back(tile_item(std::move(operation), engine, std::move(buffers)));
  }

  // Mnemonics of Scalar's stream: the functions, "load" for a table.
  [[nodiscard]] std::string scalar() const {
    const isa::Program result =
        schedule(program, allocate(program, toy_machine(4)), toy_machine(4));
    std::string out;
    for (const isa::Instruction& i :
         result.streams[static_cast<std::size_t>(isa::Engine::scalar)]) {
      const auto* load = i.operation.get_if<isa::LoadTable>();
      out += load != nullptr ? "load " : "";
      const isa::Function function =
          load != nullptr ? load->function : i.operation.get<isa::Activation>().function;
      out += function == isa::Function::exp   ? "exp; "
             : function == isa::Function::log ? "log; "
                                              : "copy; ";
    }
    return out;
  }
};

}  // namespace

TEST_CASE("a function's table is loaded in a pause before the copies that precede the function") {
  CHECK(Chain(true).scalar() == "exp; load log; copy; log; ");
  CHECK(Chain(false).scalar() == "exp; copy; log; ");
}

}  // namespace systole::lower
