// The rules of the list schedule, on programs of a few instructions whose times are computed here by hand: ticks of
// 1/5.6 GHz; Vector takes 5 a cycle (1.12 GHz), Scalar 4 (1.4 GHz), and 60 cycles beside the elements.
#include "compiler/lower/schedule_order.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "compiler/lower/stages.hpp"
#include "tests/compiler/lower/tile_item.hpp"

namespace systole::lower {
namespace {

isa::Machine machine_with_room() {
  isa::Machine machine = isa::read_machine("trn1");
  machine.sbuf_bytes = std::int64_t{1} << 24;
  return machine;
}

isa::Access row(std::int32_t elements, isa::Space space = isa::Space::sbuf) {
  isa::Access out;
  out.space = space;
  out.rank = 1;
  out.dims[0] = {1, elements};
  return out;
}

struct Small {
  TileProgram program;

  Small() { program.sources.add({"op", isa::SourceKind::operation}); }

  BufferId buffer(isa::Space space = isa::Space::sbuf) {
    return program.buffers.add({space, 4096, "b"});
  }
  void add(isa::Operation operation, isa::Engine engine, std::vector<BufferId> buffers,
           bool any = false) {
    program.instructions.push_back(
        tile_item(std::move(operation), engine, std::move(buffers), any));
  }
  // Vector alone: 8 cycles an element.
  void on_vector(BufferId in, BufferId out, std::int32_t elements = 64) {
    add(isa::Reciprocal{row(elements), row(elements)}, isa::Engine::vector, {in, out});
  }
  // Scalar alone, and a table for the first one.
  void on_scalar(BufferId in, BufferId out, std::int32_t elements = 64) {
    isa::Activation activation;
    activation.in = row(elements);
    activation.out = row(elements);
    activation.function = isa::Function::exp;
    add(activation, isa::Engine::scalar, {in, out});
  }
  void on_either(BufferId in, BufferId out, std::int32_t elements) {
    add(isa::Copy{row(elements), row(elements)}, isa::Engine::vector, {in, out}, true);
  }

  [[nodiscard]] Sequence sequence() const {
    const isa::Machine machine = machine_with_room();
    return choose_sequence(program, precedence_of(program, allocate(program, machine)), machine);
  }
};

std::ptrdiff_t place_of(std::uint32_t node, const Sequence& sequence) {
  return std::ranges::find(sequence.order, node) - sequence.order.begin();
}

constexpr std::int64_t vector_run = 64 * 8 * 5;
constexpr std::int64_t table = 6200;
constexpr std::int64_t scalar_run = 64 * 4;
constexpr std::int64_t to_itself = 1050;    // 188 ns
constexpr std::int64_t from_vector = 2490;  // 445 ns
constexpr std::int64_t from_scalar = 1450;  // 259 ns

}  // namespace

TEST_CASE(
    "a result reaches its own engine in 188 ns, others in 259 ns from Scalar and 445 ns from "
    "Vector") {
  const auto end_of = [](bool first_on_vector, bool second_on_vector) {
    Small small;
    const BufferId a = small.buffer();
    const BufferId b = small.buffer();
    const BufferId c = small.buffer();
    first_on_vector ? small.on_vector(a, b) : small.on_scalar(a, b);
    second_on_vector ? small.on_vector(b, c) : small.on_scalar(b, c);
    return small.sequence().end;
  };
  CHECK(end_of(true, true) == vector_run + to_itself + vector_run + from_vector);
  CHECK(end_of(false, false) == table + scalar_run + to_itself + scalar_run + from_scalar);
  // The table is loaded meanwhile; a longer first one outlasts that.
  CHECK(end_of(true, false) == table + scalar_run + from_scalar);
  Small small;
  const BufferId between = small.buffer();
  small.on_vector(small.buffer(), between, 256);
  small.on_scalar(between, small.buffer());
  CHECK(small.sequence().end == 4 * vector_run + from_vector + scalar_run + from_scalar);
  CHECK(end_of(false, true) == table + scalar_run + from_scalar + vector_run + from_vector);
}

TEST_CASE("the sums of a product reach Vector 243 ns after the array's last column") {
  Small small;
  const BufferId weights = small.buffer();
  const BufferId moving = small.buffer();
  const BufferId sums = small.buffer(isa::Space::psum);
  const BufferId out = small.buffer();
  isa::Access stationary = row(128);
  stationary.dtype = isa::DType::bf16;
  stationary.partitions = 128;
  isa::Access columns = stationary;
  columns.dims[0] = {1, 256};
  isa::Access made = row(256, isa::Space::psum);
  made.partitions = 128;
  isa::Access kept = row(256);
  kept.partitions = 128;
  small.add(isa::LoadStationary{stationary, 0}, isa::Engine::tensor, {weights});
  small.add(isa::Multiply{columns, made}, isa::Engine::tensor, {moving, sums});
  small.add(isa::Reciprocal{made, kept}, isa::Engine::vector, {sums, out});
  constexpr std::int64_t load = 128 / 4 * 2;  // four columns a cycle of 2.8 GHz
  constexpr std::int64_t product = 256 * 2;
  CHECK(small.sequence().end == load + product + 1360 + 256 * 8 * 5 + from_vector);
}

TEST_CASE("products on disjoint tiles of the array run side by side, those on one tile in turn") {
  const auto end_of = [](std::int16_t second_row) {
    Small small;
    const BufferId weights = small.buffer();
    const BufferId moving = small.buffer();
    isa::Access made = row(512, isa::Space::psum);
    made.partitions = 64;
    for (const std::int16_t first : {std::int16_t{0}, second_row}) {
      isa::Access operand = row(512);
      operand.dtype = isa::DType::bf16;
      operand.partition = first;
      operand.partitions = 64;
      isa::Access stationary = operand;
      stationary.dims[0] = {1, 64};
      small.add(isa::LoadStationary{stationary, 0}, isa::Engine::tensor, {weights});
      small.add(isa::Multiply{operand, made}, isa::Engine::tensor,
                {moving, small.buffer(isa::Space::psum)});
    }
    return small.sequence().end;
  };
  constexpr std::int64_t load = 16 * 2;
  constexpr std::int64_t product = 512 * 2;
  CHECK(end_of(0) == load + 2 * product + 1360);
  // The second load begins a cycle after the first product, and its product when it ends.
  CHECK(end_of(64) == load + 2 + load + product + 1360);
}

TEST_CASE("a transfer takes the engines of its partitions, and another one waits for those alone") {
  constexpr std::int32_t elements = 4096;
  struct Moved {
    std::int16_t partition = 0;
    std::int32_t count = 0;
    bool store = false;
  };
  const auto end_of = [](const std::vector<Moved>& transfers) {
    Small small;
    for (const Moved& moved : transfers) {
      isa::HbmTensor tensor;
      tensor.name = "t" + std::to_string(small.program.tensors.size());
      tensor.shape = tensor.storage = {128, elements};
      tensor.order = {0, 1};
      isa::Dma dma;
      dma.source.tensor = small.program.tensors.add(tensor);
      dma.source.rank = dma.destination.rank = 2;
      dma.source.dims[0] = {elements, moved.count, false};
      dma.destination.space = isa::Space::sbuf;
      dma.destination.partition = moved.partition;
      dma.destination.dims[0] = {1, moved.count, true};
      dma.source.dims[1] = dma.destination.dims[1] = {1, elements, false};
      if (moved.store) {
        std::swap(dma.source, dma.destination);
      }
      small.add(dma, isa::Engine::sync,
                {small.program.buffers.add({isa::Space::sbuf, 4 * elements, "b"})});
    }
    return small.sequence().end;
  };
  // An engine serves 8 partitions at 3.036 bytes a tick, from 760 ns after the trigger on, the next one 25 ns later; the
  // signal comes 300 ns after the last byte. Loads and stores have different triggers.
  constexpr std::int64_t around = 4256 + 1680;
  constexpr std::int64_t eight = std::int64_t{8} * 4 * elements * 1000 / 3036;
  CHECK(end_of({{0, 8}}) == around + eight);
  CHECK(end_of({{0, 128}}) == around + 15 * 140 + eight);
  CHECK(end_of({{0, 8}, {0, 8, true}}) == around + 2 * eight);
  CHECK(end_of({{0, 8}, {8, 8, true}}) == around + eight);
}

TEST_CASE("what two engines can execute goes to the one that ends it first") {
  Small small;
  constexpr std::int32_t elements = 512;
  constexpr std::uint32_t copies = 7;
  for (std::uint32_t i = 0; i < copies; ++i) {
    small.on_either(small.buffer(), small.buffer(), elements);
  }
  const Sequence sequence = small.sequence();
  std::int64_t vector = 0;
  std::int64_t scalar = 0;
  for (const std::uint32_t node : sequence.order) {
    if (node >= copies) {
      continue;  // a joint
    }
    const std::int64_t on_vector = vector + (elements + 60) * 5;
    const std::int64_t on_scalar = scalar + (elements + 60) * 4;
    CHECK(sequence.engines[node] ==
          (on_scalar < on_vector ? isa::Engine::scalar : isa::Engine::vector));
    (on_scalar < on_vector ? scalar : vector) = std::min(on_vector, on_scalar);
  }
  CHECK(std::ranges::count(sequence.engines, isa::Engine::scalar) == 4);
}

TEST_CASE("what only one engine can execute comes before older work that another one could take") {
  Small small;
  small.on_scalar(small.buffer(), small.buffer(), 4096);  // keeps Scalar
  small.on_either(small.buffer(), small.buffer(), 512);
  small.on_either(small.buffer(), small.buffer(), 512);
  small.on_vector(small.buffer(), small.buffer());
  const Sequence sequence = small.sequence();
  CHECK(place_of(3, sequence) < place_of(1, sequence));
  CHECK(place_of(3, sequence) < place_of(2, sequence));
  CHECK(sequence.engines[3] == isa::Engine::vector);
}

TEST_CASE("Scalar takes what needs another table after what does not, out of PSUM or not") {
  Small small;
  small.on_scalar(small.buffer(), small.buffer());
  isa::Activation other;
  other.in = other.out = row(64);
  other.function = isa::Function::tanh;
  small.add(other, isa::Engine::scalar, {small.buffer(), small.buffer()});
  other.in.space = isa::Space::psum;
  other.function = isa::Function::exp;
  small.add(other, isa::Engine::scalar, {small.buffer(isa::Space::psum), small.buffer()});
  CHECK(place_of(2, small.sequence()) < place_of(1, small.sequence()));
}

}  // namespace systole::lower
