#include "compiler/lower/join_evictions.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "compiler/lower/pieces.hpp"
#include "tests/compiler/lower/tile_item.hpp"

namespace systole::lower {
namespace {

constexpr std::int64_t bank = 2048;

isa::Access row(isa::Space space, isa::DType dtype, std::int32_t elements,
                std::int32_t offset = 0) {
  isa::Access out;
  out.space = space;
  out.dtype = dtype;
  out.partitions = 128;
  out.rank = 1;
  out.offset = offset;
  out.dims[0] = {1, elements};
  return out;
}

// Products of so many columns, each evicted into its part of one tile, divided by its number per partition or not.
struct Products {
  TileProgram program;
  BufferId moving, out, divisors;

  Products() {
    program.sources.add({"op", isa::SourceKind::operation});
    moving = program.buffers.add({isa::Space::sbuf, 4096, "moving"});
    out = program.buffers.add({isa::Space::sbuf, 4096, "out"});
    divisors = program.buffers.add({isa::Space::sbuf, 64, "divisors"});
  }

  void add(isa::Operation operation, isa::Engine engine, std::vector<BufferId> buffers) {
    program.instructions.push_back(
        tile_item(std::move(operation), engine, std::move(buffers), engine != isa::Engine::tensor));
  }
  BufferId product(std::int32_t columns, int steps = 2) {
    const BufferId sums = program.buffers.add({isa::Space::psum, bank, "sums"});
    for (int k = 0; k < steps; ++k) {
      add(isa::Multiply{row(isa::Space::sbuf, isa::DType::bf16, columns),
                        row(isa::Space::psum, isa::DType::f32, columns), k > 0},
          isa::Engine::tensor, {moving, sums});
    }
    return sums;
  }
  void divide(BufferId sums, std::int32_t columns, std::int32_t at, std::int32_t divisor) {
    isa::TensorScalar operation;
    operation.in = row(isa::Space::psum, isa::DType::f32, columns);
    operation.out = row(isa::Space::sbuf, isa::DType::bf16, columns, at);
    operation.op0 = isa::AluOp::divide;
    operation.s0.per_partition = true;
    operation.s0.access = row(isa::Space::sbuf, isa::DType::f32, 1, divisor);
    operation.s0.access.rank = 0;
    add(operation, isa::Engine::vector, {sums, out, divisors});
  }
  void copy(BufferId sums, std::int32_t columns, std::int32_t at) {
    add(isa::Copy{row(isa::Space::psum, isa::DType::f32, columns),
                  row(isa::Space::sbuf, isa::DType::bf16, columns, at)},
        isa::Engine::vector, {sums, out});
  }
  [[nodiscard]] std::vector<TileInstruction> evictions() {
    join_evictions(program, isa::read_machine("trn1"));
    std::vector<TileInstruction> found;
    std::ranges::copy_if(
        program.instructions, std::back_inserter(found),
        [](const TileInstruction& item) { return item.instruction.engine != isa::Engine::tensor; });
    return found;
  }
};

}  // namespace

TEST_CASE("divisions of short products by a number each become one instruction on one bank") {
  Products products;
  for (std::int32_t i = 0; i < 3; ++i) {
    products.divide(products.product(64), 64, 256 * i, 8 * i);
  }
  const std::vector<TileInstruction> evictions = products.evictions();
  REQUIRE(evictions.size() == 1);
  const auto* pair = evictions[0].instruction.operation.get_if<isa::TensorTensor>();
  REQUIRE(pair != nullptr);
  CHECK(pair->op == isa::AluOp::divide);
  CHECK(pair->a == row(isa::Space::psum, isa::DType::f32, 3 * 64));
  CHECK(pair->b.dims[0] == isa::AccessDim(2, 3));  // 8 bytes from one divisor to the next
  CHECK(pair->b.dims[1] == isa::AccessDim(0, 64));
  CHECK(pair->out.dims[0] == isa::AccessDim(128, 3));
  CHECK(pair->out.dims[1] == isa::AccessDim(1, 64));
  CHECK(evictions[0].buffers[1] == products.divisors);
  CHECK(evictions[0].buffers[2] == products.out);
  // Each product writes its part of that bank.
  REQUIRE(products.program.instructions.size() == 7);
  for (std::size_t i = 0; i < 6; ++i) {
    const TileInstruction& item = products.program.instructions[i];
    const auto& multiply = item.instruction.operation.get<isa::Multiply>();
    CHECK(item.buffers[1] == evictions[0].buffers[0]);
    CHECK(multiply.out.offset == static_cast<std::int32_t>(i / 2 * 64 * 4));
    CHECK(multiply.moving.offset == 0);
  }
}

TEST_CASE("copies side by side become one row, as many as fit a bank") {
  Products products;
  for (std::int32_t i = 0; i < 6; ++i) {
    products.copy(products.product(128), 128, 256 * i);
  }
  const std::vector<TileInstruction> evictions = products.evictions();
  REQUIRE(evictions.size() == 2);
  CHECK(evictions[0].instruction.operation.get<isa::Copy>().out ==
        row(isa::Space::sbuf, isa::DType::bf16, 4 * 128));
  CHECK(evictions[1].instruction.operation.get<isa::Copy>().out ==
        row(isa::Space::sbuf, isa::DType::bf16, 2 * 128, 4 * 256));
}

TEST_CASE("evictions stay apart where they are long, uneven, or the array takes longer than they") {
  const auto left = [](auto&& write) {
    Products products;
    write(products);
    return products.evictions().size();
  };
  CHECK(left([](Products& p) {
          p.copy(p.product(256), 256, 0);
          p.copy(p.product(256), 256, 512);
        }) == 2);
  CHECK(left([](Products& p) {  // 64 columns after 32
          p.copy(p.product(32), 32, 0);
          p.copy(p.product(64), 64, 64);
        }) == 2);
  CHECK(left([](Products& p) {  // steps of 128, then 256 bytes
          p.copy(p.product(64), 64, 0);
          p.copy(p.product(64), 64, 128);
          p.copy(p.product(64), 64, 384);
        }) == 2);
  CHECK(left([](Products& p) {  // a divisor between copies
          p.copy(p.product(64), 64, 0);
          p.divide(p.product(64), 64, 128, 0);
        }) == 2);
  CHECK(left([](Products& p) {  // 20 steps of 64 columns take the array 457 ns, an eviction 111
          p.copy(p.product(64), 64, 0);
          p.copy(p.product(64, 20), 64, 128);
        }) == 2);
  CHECK(left([](Products& p) {  // into two tiles
          p.copy(p.product(64), 64, 0);
          p.out = p.program.buffers.add({isa::Space::sbuf, 4096, "other"});
          p.copy(p.product(64), 64, 128);
        }) == 2);
  CHECK(left([](Products& p) {  // the array reads what the first one wrote
          p.copy(p.product(64), 64, 0);
          p.moving = p.out;
          p.copy(p.product(64), 64, 128);
        }) == 2);
}

}  // namespace systole::lower
