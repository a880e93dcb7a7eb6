#include <doctest/doctest.h>

#include <optional>

#include "tests/sim/bench.hpp"

namespace systole::sim {
namespace {

using namespace testing;
using isa::DType;

struct DmaBench {
  explicit DmaBench(std::vector<std::int64_t> shape, DType dtype = DType::f32)
      : machine(isa::read_machine("trn1")) {
    isa::HbmTensor tensor;
    tensor.dtype = dtype;
    tensor.shape = tensor.storage = shape;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      tensor.order.push_back(static_cast<int>(i));
    }
    id = program.tensors.add(tensor);
    memory.emplace(machine, program);
    context.emplace(machine, *memory);
  }
  float* hbm() { return reinterpret_cast<float*>(memory->writable_tensor(id)); }
  float at(int partition, int offset) {
    return isa::load_float(DType::f32, memory->partition(isa::Space::sbuf, partition) + offset);
  }

  isa::Machine machine;
  isa::Program program;
  isa::TensorId id;
  std::optional<Memory> memory;
  std::optional<Context> context;
};

TEST_CASE("a strided transfer can turn a matrix and broadcast a row") {
  DmaBench bench({5, 7});
  for (int i = 0; i < 35; ++i) {
    bench.hbm()[i] = static_cast<float>(i);
  }
  isa::Dma turn;
  turn.source = Builder::hbm_rows(bench.id, DType::f32, 5, 7, 7);
  turn.destination.space = isa::Space::sbuf;
  turn.destination.rank = 2;
  turn.destination.offset = 16;
  turn.destination.dims[0] = {1, 5, false};
  turn.destination.dims[1] = {1, 7, true};
  execute(turn, *bench.context);
  for (int r = 0; r < 5; ++r) {
    for (int c = 0; c < 7; ++c) {
      CHECK(bench.at(c, 16 + 4 * r) == static_cast<float>(r * 7 + c));
    }
  }
  isa::Dma spread;
  spread.source = Builder::hbm_rows(bench.id, DType::f32, 128, 7, 0, 14);  // row 2 for everyone
  spread.destination = Builder::sbuf_rows(DType::f32, 128, 7, 64);
  execute(spread, *bench.context);
  for (int p = 0; p < 128; ++p) {
    CHECK(bench.at(p, 64 + 4 * 3) == 17.0F);
  }
}

TEST_CASE("negative strides reverse") {
  DmaBench bench({6});
  for (int i = 0; i < 6; ++i) {
    bench.hbm()[i] = static_cast<float>(i);
  }
  isa::Dma dma;
  dma.source = Builder::hbm_rows(bench.id, DType::f32, 1, 6, 6, 5);
  dma.source.dims[1].stride = -1;
  dma.destination = Builder::sbuf_rows(DType::f32, 1, 6, 0);
  execute(dma, *bench.context);
  for (int i = 0; i < 6; ++i) {
    CHECK(bench.at(0, 4 * i) == static_cast<float>(5 - i));
  }
}

TEST_CASE("indirect transfers gather and scatter whole rows, and refuse an index out of bounds") {
  DmaBench bench({9, 4});
  for (int i = 0; i < 36; ++i) {
    bench.hbm()[i] = static_cast<float>(i);
  }
  const std::vector<int> chosen{8, 0, 3};
  for (int p = 0; p < 3; ++p) {
    isa::store_integer(DType::i32, chosen[static_cast<std::size_t>(p)],
                       bench.memory->partition(isa::Space::sbuf, p) + 256);
  }
  isa::DmaIndirect gather;
  gather.table.space = isa::Space::hbm;
  gather.table.tensor = bench.id;
  gather.table.rank = 1;
  gather.table.dims[0] = {1, 4, false};
  gather.index = sbuf(DType::i32, 3, 1, 256);
  gather.index.rank = 0;
  gather.rows_side = Builder::sbuf_rows(DType::f32, 3, 4, 0);
  gather.row_stride = 4;
  gather.bound = 9;
  execute(gather, *bench.context);
  for (int p = 0; p < 3; ++p) {
    for (int i = 0; i < 4; ++i) {
      CHECK(bench.at(p, 4 * i) == static_cast<float>(chosen[static_cast<std::size_t>(p)] * 4 + i));
    }
  }
  isa::DmaIndirect scatter = gather;
  scatter.scatter = true;
  isa::store_integer(DType::i32, 5, bench.memory->partition(isa::Space::sbuf, 0) + 256);
  execute(scatter, *bench.context);
  CHECK(bench.hbm()[5 * 4 + 2] == 34.0F);
  CHECK(bench.context->fault.empty());
  gather.bound = 5;
  execute(gather, *bench.context);
  CHECK(bench.context->fault.find("index 5 of row 0") != std::string::npos);
}

}  // namespace
}  // namespace systole::sim
