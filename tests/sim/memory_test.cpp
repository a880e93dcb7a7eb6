#include <doctest/doctest.h>

#include <cstring>

#include "isa/base/error.hpp"
#include "isa/base/random.hpp"
#include "sim/memory/host.hpp"
#include "sim/memory/memory.hpp"
#include "sim/memory/transfer.hpp"
#include "sim/memory/walk.hpp"
#include "tests/sim/bench.hpp"

namespace systole::sim {
namespace {

using namespace testing;
using isa::DType;

isa::Access random_access(Random& random, DType dtype) {
  isa::Access access;
  access.dtype = dtype;
  access.rank = static_cast<std::int8_t>(random.integer(0, 4));
  access.offset = static_cast<std::int32_t>(random.integer(50, 60)) * 64;
  for (int d = 0; d < access.rank; ++d) {
    access.dims[static_cast<std::size_t>(d)] = {static_cast<std::int32_t>(random.integer(-6, 9)),
                                                static_cast<std::int32_t>(random.integer(1, 5))};
  }
  return access;
}

TEST_CASE("gather reads a pattern's elements in order, whatever its strides") {
  Random random(11);
  std::vector<std::byte> partition(8192);
  for (std::size_t i = 0; i < partition.size(); ++i) {
    partition[i] = static_cast<std::byte>(random.next());
  }
  for (int trial = 0; trial < 2000; ++trial) {
    const DType dtype =
        std::array{DType::f32, DType::bf16, DType::u8}[static_cast<std::size_t>(trial % 3)];
    const isa::Access access = random_access(random, dtype);
    const Walk walk = walk_of(access);
    const auto at = offsets(access);
    REQUIRE(walk.elements == static_cast<std::int64_t>(at.size()));
    const auto size = static_cast<std::size_t>(isa::size_of(dtype));
    std::vector<std::byte> dense(at.size() * size);
    gather(walk, partition.data(), dense.data());
    bool equal = true;
    for (std::size_t i = 0; i < at.size(); ++i) {
      equal = equal && std::memcmp(dense.data() + i * size, partition.data() + at[i], size) == 0;
    }
    CHECK(equal);
  }
}

TEST_CASE("scatter writes the pattern's elements and no others") {
  Random random(12);
  for (int trial = 0; trial < 500; ++trial) {
    isa::Access access = random_access(random, DType::bf16);
    // Strides that keep elements apart: each dim steps over everything inside it.
    std::int32_t span = 1;
    for (int d = access.rank - 1; d >= 0; --d) {
      isa::AccessDim& dim = access.dims[static_cast<std::size_t>(d)];
      dim = {span * static_cast<std::int32_t>(random.integer(1, 2)), dim.extent};
      span = dim.stride * dim.extent;
    }
    const Walk walk = walk_of(access);
    const auto at = offsets(access);
    std::vector<std::byte> expected(16384, std::byte{0x55});
    std::vector<std::byte> partition = expected;
    std::vector<std::byte> dense(at.size() * 2);
    for (std::size_t i = 0; i < at.size(); ++i) {
      dense[2 * i] = static_cast<std::byte>(i);
      dense[2 * i + 1] = static_cast<std::byte>(random.next());
      expected[static_cast<std::size_t>(at[i])] = dense[2 * i];
      expected[static_cast<std::size_t>(at[i]) + 1] = dense[2 * i + 1];
    }
    scatter(walk, dense.data(), partition.data());
    CHECK(partition == expected);
  }
}

// Offsets of a DMA side's elements, in order.
std::vector<std::int64_t> side_offsets(const isa::DmaAccess& access, std::int64_t pitch) {
  std::vector<std::int64_t> at{0};
  for (int d = 0; d < access.rank; ++d) {
    const isa::DmaDim& dim = access.dims[static_cast<std::size_t>(d)];
    std::vector<std::int64_t> next;
    for (const std::int64_t base : at) {
      for (int i = 0; i < dim.extent; ++i) {
        next.push_back(base + dim.stride * i * (dim.across ? pitch : isa::size_of(access.dtype)));
      }
    }
    at = std::move(next);
  }
  return at;
}

// Extents whose product is `count`, in random order and grouping.
isa::DmaAccess random_side(Random& random, int count, DType dtype) {
  isa::DmaAccess access;
  access.dtype = dtype;
  std::int64_t span = 1;
  std::vector<isa::DmaDim> dims;
  while (count > 1 && dims.size() < 5) {
    int factor = static_cast<int>(random.integer(2, 6));
    while (count % factor != 0) {
      factor = factor % count + 1;
    }
    factor = factor == 1 || dims.size() == 4 ? count : factor;
    dims.push_back({span, factor, false});
    span *= factor;
    count /= factor;
  }
  for (std::size_t i = dims.size(); i > 1; --i) {
    std::swap(dims[i - 1],
              dims[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(i) - 1))]);
  }
  access.rank = static_cast<std::int8_t>(dims.size());
  std::copy(dims.begin(), dims.end(), access.dims.begin());
  return access;
}

TEST_CASE(
    "a transfer moves element i of the source to element i of the destination, however the sides "
    "are grouped") {
  Random random(13);
  int not_nested = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    const int count =
        static_cast<int>(std::array{24, 36, 60, 7, 1, 64}[static_cast<std::size_t>(trial % 6)]);
    const DType dtype = trial % 2 == 0 ? DType::bf16 : DType::f32;
    const isa::DmaAccess source = random_side(random, count, dtype);
    const isa::DmaAccess destination = random_side(random, count, dtype);
    const TransferPlan plan = plan_transfer(source, 0, destination, 0);
    not_nested += plan.nested ? 0 : 1;
    std::vector<std::byte> from(static_cast<std::size_t>(count) * 4);
    for (std::byte& b : from) {
      b = static_cast<std::byte>(random.next());
    }
    std::vector<std::byte> to(from.size(), std::byte{0});
    std::vector<std::byte> expected = to;
    const auto a = side_offsets(source, 0);
    const auto b = side_offsets(destination, 0);
    for (std::size_t i = 0; i < a.size(); ++i) {
      std::memcpy(expected.data() + b[i], from.data() + a[i],
                  static_cast<std::size_t>(isa::size_of(dtype)));
    }
    run_transfer(plan, {dtype, dtype, false}, from.data(), to.data());
    CHECK(to == expected);
  }
  CHECK(not_nested > 20);  // the fallback was exercised
}

TEST_CASE("a transfer converts and accumulates in fp32") {
  isa::DmaAccess side;
  side.rank = 1;
  side.dims[0] = {1, 3, false};
  isa::DmaAccess narrow = side;
  narrow.dtype = DType::bf16;
  const std::vector<float> values{1.0F, 2.5F, -3.00390625F};
  std::vector<std::byte> to(6);
  run_transfer(plan_transfer(side, 0, narrow, 0), {DType::f32, DType::bf16, false},
               bytes_of(values).data(), to.data());
  CHECK(isa::load_float(DType::bf16, to.data()) == 1.0F);
  CHECK(isa::load_float(DType::bf16, to.data() + 4) == -3.0F);  // rounded to nearest even
  run_transfer(plan_transfer(side, 0, narrow, 0), {DType::f32, DType::bf16, true},
               bytes_of(values).data(), to.data());
  CHECK(isa::load_float(DType::bf16, to.data() + 2) == 5.0F);
}

TEST_CASE("packing permutes axes and pads; unpacking takes it back") {
  isa::HbmTensor tensor;
  tensor.name = "t";
  tensor.dtype = DType::i16;
  tensor.shape = {2, 3, 4};
  tensor.order = {2, 0, 1};
  tensor.storage = {5, 2, 4};  // axes 4 -> 5, 2, 3 -> 4
  std::vector<std::int16_t> host(24);
  for (std::size_t i = 0; i < host.size(); ++i) {
    host[i] = static_cast<std::int16_t>(i + 1);
  }
  std::vector<std::byte> storage(80, std::byte{0x11});
  pack(tensor, bytes_of(host), storage.data(), std::byte{0xff});
  const auto stored = values_of<std::int16_t>(storage);
  for (std::size_t a = 0; a < 5; ++a) {
    for (std::size_t b = 0; b < 2; ++b) {
      for (std::size_t c = 0; c < 4; ++c) {
        const std::int16_t expected = a < 4 && c < 3 ? host[(b * 3 + c) * 4 + a] : std::int16_t{-1};
        CHECK(stored[(a * 2 + b) * 4 + c] == expected);
      }
    }
  }
  CHECK(values_of<std::int16_t>(unpack(tensor, storage.data())) == host);
}

TEST_CASE("an input of the wrong size is the user's mistake") {
  isa::HbmTensor tensor;
  tensor.name = "t";
  tensor.shape = tensor.storage = {4};
  tensor.order = {0};
  std::vector<std::byte> storage(16);
  CHECK_THROWS_AS(pack(tensor, std::vector<std::byte>(12), storage.data(), std::byte{0}), Error);
  tensor.storage = {3};
  CHECK_THROWS_AS(pack(tensor, std::vector<std::byte>(16), storage.data(), std::byte{0}), Error);
}

TEST_CASE("a constant is copied when a program writes to it, not before") {
  const isa::Machine machine = isa::read_machine("toy");
  isa::Program program;
  isa::HbmTensor constant;
  constant.role = isa::Role::constant;
  constant.shape = constant.storage = {1};
  constant.order = {0};
  constant.data = std::make_shared<const std::vector<std::byte>>(4, std::byte{7});
  const isa::TensorId id = program.tensors.add(constant);
  Memory memory(machine, program);
  CHECK(memory.tensor(id) == constant.data->data());
  memory.writable_tensor(id)[0] = std::byte{9};
  CHECK(memory.tensor(id)[0] == std::byte{9});
  CHECK(memory.tensor(id)[1] == std::byte{7});
  CHECK((*constant.data)[0] == std::byte{7});
}

}  // namespace
}  // namespace systole::sim
