#include <doctest/doctest.h>
#include <fmt/format.h>

#include <set>

#include "compiler/lower/stages.hpp"
#include "isa/base/random.hpp"

namespace systole::lower {
namespace {

isa::Machine machine_with(std::int64_t sbuf_bytes, int banks = 4) {
  isa::Machine machine;
  machine.sbuf_bytes = sbuf_bytes;
  machine.psum_banks = banks;
  return machine;
}

TileProgram program_with_source(const std::string& name = "op") {
  TileProgram program;
  program.sources.add({name, isa::SourceKind::operation});
  return program;
}

BufferId add_buffer(TileProgram& program, std::int64_t bytes, isa::Space space = isa::Space::sbuf) {
  return program.buffers.add({space, bytes, fmt::format("b{}", program.buffers.size())});
}

// An access of these buffers; allocation looks at nothing else of an instruction.
void touch(TileProgram& program, std::vector<BufferId> buffers, std::size_t source = 0) {
  TileInstruction item;
  item.instruction.source = isa::SourceId(source);
  item.buffers = std::move(buffers);
  program.instructions.push_back(std::move(item));
}

// Whether any two buffers that live at one moment share a byte.
bool clash(const TileProgram& program, const Allocation& allocation) {
  for (const BufferId a : program.buffers.ids()) {
    for (const BufferId b : program.buffers.ids()) {
      if (a >= b || program.buffers[a].space != program.buffers[b].space ||
          allocation.offsets[a] >= allocation.offsets[b] + program.buffers[b].bytes ||
          allocation.offsets[b] >= allocation.offsets[a] + program.buffers[a].bytes) {
        continue;
      }
      std::array<std::int64_t, 4> ends{-1, -1, -1, -1};  // first and last access of a, of b
      for (std::size_t i = 0; i < program.instructions.size(); ++i) {
        for (const BufferId used : program.instructions[i].buffers) {
          const std::size_t at = used == a ? 0 : 2;
          if (used == a || used == b) {
            ends[at] = ends[at] < 0 ? static_cast<std::int64_t>(i) : ends[at];
            ends[at + 1] = static_cast<std::int64_t>(i);
          }
        }
      }
      if (ends[0] >= 0 && ends[2] >= 0 && ends[0] <= ends[3] && ends[2] <= ends[1]) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

TEST_CASE("of PSUM's banks the one that has been free for longest is taken") {
  TileProgram program = program_with_source();
  const auto bank = [&program] { return add_buffer(program, 2048, isa::Space::psum); };
  const BufferId sums = bank();
  touch(program, {sums});
  std::vector<BufferId> passing;
  for (int i = 0; i < 3; ++i) {
    passing.push_back(bank());
    touch(program, {passing.back()});
  }
  touch(program, {sums});  // the oldest, but used last
  const BufferId next = bank();
  touch(program, {next});
  const Allocation allocation = allocate(program, machine_with(1024, 4));
  CHECK(allocation.offsets[next] == allocation.offsets[passing[0]]);
}

TEST_CASE(
    "lasting buffers take turns where they may, so that the next need not wait for the last") {
  TileProgram program = program_with_source();
  std::vector<BufferId> buffers;
  for (int i = 0; i < 4; ++i) {
    buffers.push_back(add_buffer(program, 64));
    program.buffers[buffers.back()].lasting = true;
    touch(program, {buffers.back()});
  }
  const Allocation still = allocate(program, machine_with(1024), 0);
  CHECK(still.offsets[buffers[1]] == still.offsets[buffers[0]]);
  const Allocation turning = allocate(program, machine_with(1024), 2);
  CHECK(turning.offsets[buffers[1]] != turning.offsets[buffers[0]]);
  CHECK(turning.offsets[buffers[2]] == turning.offsets[buffers[0]]);
}

TEST_CASE("freed bytes are reused as late as possible") {
  TileProgram program = program_with_source();
  std::vector<BufferId> buffers;
  for (int i = 0; i < 4; ++i) {
    buffers.push_back(add_buffer(program, 64));
    touch(program, {buffers.back()});
  }
  const Allocation allocation = allocate(program, machine_with(192));
  CHECK(allocation.offsets[buffers[0]] == 0);
  CHECK(allocation.offsets[buffers[1]] == 64);
  CHECK(allocation.offsets[buffers[2]] == 128);
  CHECK(allocation.offsets[buffers[3]] == 0);
  CHECK(allocation.sbuf_peak == 64);
}

TEST_CASE("loads never wait for bytes of computed values, which rotate in a zone of their own") {
  TileProgram program = program_with_source();
  std::vector<BufferId> loaded;
  std::vector<BufferId> computed;
  for (int i = 0; i < 12; ++i) {
    loaded.push_back(add_buffer(program, 128));
    touch(program, {loaded.back()});
    isa::Dma load;
    load.source.space = isa::Space::hbm;
    load.destination.space = isa::Space::sbuf;
    program.instructions.back().instruction.operation = load;
    for (int k = 0; k < 4; ++k) {
      computed.push_back(add_buffer(program, 64));
      touch(program, {loaded.back(), computed.back()});
    }
  }
  const Allocation allocation = allocate(program, machine_with(2048));
  CHECK_FALSE(clash(program, allocation));
  std::int64_t top = 0;
  for (const BufferId id : computed) {
    top = std::max(top, allocation.offsets[id] + 64);
  }
  CHECK(top == 256);  // four times what lives at one moment
  for (std::size_t i = 0; i < loaded.size(); ++i) {
    CHECK(allocation.offsets[loaded[i]] == 256 + 128 * static_cast<std::int64_t>(i));
  }
}

TEST_CASE("lasting buffers that are loaded lie apart from computed ones while they are few") {
  TileProgram program = program_with_source();
  std::vector<BufferId> loaded;
  std::vector<BufferId> computed;
  for (int i = 0; i < 3; ++i) {
    computed.push_back(add_buffer(program, 256));
    touch(program, {computed.back()});
    loaded.push_back(add_buffer(program, 64));
    touch(program, {loaded.back()});
    isa::Dma load;
    load.source.space = isa::Space::hbm;
    load.destination.space = isa::Space::sbuf;
    program.instructions.back().instruction.operation = load;
    program.buffers[loaded.back()].lasting = program.buffers[computed.back()].lasting = true;
  }
  const Allocation much = allocate(program, machine_with(4096));
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(much.offsets[loaded[i]] == 4032 - 64 * static_cast<std::int64_t>(i));
    CHECK(much.offsets[computed[i]] == 4096 - 3 * 64 - 256);
  }
  const Allocation little = allocate(program, machine_with(512));
  CHECK(little.offsets[loaded[0]] == 448);
  CHECK(little.offsets[computed[0]] == 256);
}

TEST_CASE("a PSUM buffer takes whole banks in turn") {
  TileProgram program = program_with_source();
  const BufferId a = add_buffer(program, 100, isa::Space::psum);
  const BufferId b = add_buffer(program, 2049, isa::Space::psum);
  const BufferId c = add_buffer(program, 2048, isa::Space::psum);
  const BufferId d = add_buffer(program, 2048, isa::Space::psum);
  for (const BufferId id : {a, b, c, d}) {
    touch(program, {id});
  }
  const Allocation allocation = allocate(program, machine_with(0));
  CHECK(allocation.offsets[a] == 0);
  CHECK(allocation.offsets[b] == 2048);
  CHECK(allocation.offsets[c] == 6144);
  CHECK(allocation.offsets[d] == 0);
}

TEST_CASE("lasting buffers lie at the top, and what passes from one source to the next rotates") {
  TileProgram program = program_with_source();
  program.sources.add({"next", isa::SourceKind::operation});
  const BufferId resident = add_buffer(program, 64);
  program.buffers[resident].lasting = true;
  const BufferId first = add_buffer(program, 64);
  const BufferId second = add_buffer(program, 64);
  for (const BufferId passing : {first, second}) {
    touch(program, {resident, passing}, 0);
    touch(program, {resident, passing}, 1);
  }
  const Allocation allocation = allocate(program, machine_with(1024));
  CHECK(allocation.offsets[resident] == 960);
  CHECK(allocation.offsets[first] == 0);
  CHECK(allocation.offsets[second] == 64);
}

TEST_CASE("a rotation that leaves no hole gives way to a compact placement") {
  TileProgram program = program_with_source();
  const BufferId a = add_buffer(program, 128);
  const BufferId b = add_buffer(program, 64);  // rotation puts it in the middle
  const BufferId c = add_buffer(program, 192);
  const BufferId d = add_buffer(program, 128);
  touch(program, {a});
  touch(program, {b});
  touch(program, {b, c});
  touch(program, {c, d});
  const Allocation allocation = allocate(program, machine_with(320));
  CHECK_FALSE(clash(program, allocation));
}

namespace {

// `count` buffers of `bytes` that live alone, one after another.
std::vector<BufferId> add_turns(TileProgram& program, int count, std::int64_t bytes) {
  std::vector<BufferId> out;
  for (int i = 0; i < count; ++i) {
    out.push_back(add_buffer(program, bytes));
    touch(program, {out.back()});
  }
  return out;
}

// Rotation and first fit leave the second in the middle, and of 320 bytes no hole of 192.
void add_tight_place(TileProgram& program) {
  const BufferId a = add_buffer(program, 128);
  const BufferId b = add_buffer(program, 64);
  const BufferId c = add_buffer(program, 192);
  touch(program, {a});
  touch(program, {a, b});
  touch(program, {b, c});
}

std::size_t places_of(const Allocation& allocation, const std::vector<BufferId>& buffers) {
  std::set<std::int64_t> places;
  for (const BufferId id : buffers) {
    places.insert(allocation.offsets[id]);
  }
  return places.size();
}

}  // namespace

TEST_CASE("a place without a hole is packed alone: far from it buffers keep taking turns") {
  TileProgram program = program_with_source();
  const std::vector<BufferId> before = add_turns(program, 400, 64);
  add_tight_place(program);
  const std::vector<BufferId> after = add_turns(program, 400, 64);
  const Allocation allocation = allocate(program, machine_with(320));
  CHECK_FALSE(clash(program, allocation));
  const std::vector<BufferId> far(before.begin(), before.begin() + 300);
  const std::vector<BufferId> later(after.begin() + 100, after.end());
  CHECK(places_of(allocation, far) == 5);
  CHECK(places_of(allocation, later) == 5);
  REQUIRE(allocation.tight.size() == 1);
  CHECK(allocation.tight[0] ==
        "op: needs 192 bytes per partition of SBUF for \"b402\", beside 64 in use, of 320; what "
        "lives around it placed compactly");
}

TEST_CASE("residents without a hole are packed where they live, and the rest keeps its turns") {
  TileProgram program = program_with_source();
  const auto lasting = [&program](std::int64_t bytes) {
    const BufferId id = add_buffer(program, bytes);
    program.buffers[id].lasting = true;
    return id;
  };
  const std::vector<BufferId> passing = add_turns(program, 100, 64);
  // Downwards from the top: a, then b; then a dies, and c fits neither above b nor below.
  const BufferId a = lasting(128);
  const BufferId b = lasting(64);
  const BufferId c = lasting(192);
  touch(program, {a});
  touch(program, {a, b});
  touch(program, {b, c});
  const Allocation allocation = allocate(program, machine_with(320));
  CHECK_FALSE(clash(program, allocation));
  CHECK(allocation.tight.size() == 1);
  CHECK(places_of(allocation, passing) == 5);
}

TEST_CASE("where packing a place alone leaves no hole, the report says how all was placed") {
  TileProgram program = program_with_source();
  const BufferId a = add_buffer(program, 128);
  const BufferId b = add_buffer(program, 64);
  touch(program, {a});
  touch(program, {a, b});
  add_turns(program, 1100, 64);  // b lies in the middle long before c needs the hole that it splits
  const BufferId c = add_buffer(program, 192);
  touch(program, {b, c});
  const Allocation allocation = allocate(program, machine_with(320));
  CHECK((allocation.offsets[b] + 64 <= allocation.offsets[c] ||
         allocation.offsets[c] + 192 <= allocation.offsets[b]));
  REQUIRE(allocation.tight.size() == 1);
  CHECK(allocation.tight[0] ==
        "op: needs 192 bytes per partition of SBUF for \"b1102\", beside 64 in use, of 320; all of "
        "SBUF placed by size");
}

TEST_CASE("a place without a hole every few buffers is packed every time, and the first are noted") {
  TileProgram program = program_with_source();
  for (int i = 0; i < 20000; ++i) {
    add_turns(program, i % 4, 64);
    add_tight_place(program);
  }
  const Allocation allocation = allocate(program, machine_with(320));
  CHECK(allocation.tight.size() == 20);  // as many as a reader wants to see
  CHECK(allocation.sbuf_peak == 256);
}

TEST_CASE("what does not fit is refused with operator, bytes and limit") {
  TileProgram program = program_with_source("conv1 (Convolution)");
  touch(program, {add_buffer(program, 100), add_buffer(program, 200)});
  CHECK_THROWS_WITH_AS(
      allocate(program, machine_with(256)),
      doctest::Contains("conv1 (Convolution): needs 200 bytes per partition of SBUF for \"b1\", "
                        "beside 100 in use, of 256"),
      Error);
}

TEST_CASE("random programs: live buffers never share bytes, placement is repeatable") {
  Random random(7);
  for (int round = 0; round < 200; ++round) {
    TileProgram program = program_with_source();
    program.sources.add({"next", isa::SourceKind::operation});
    const int buffers = static_cast<int>(random.integer(1, 20));
    for (int i = 0; i < buffers; ++i) {
      add_buffer(program, random.integer(1, 300));
    }
    const int instructions = static_cast<int>(random.integer(1, 40));
    for (int i = 0; i < instructions; ++i) {  // mostly near neighbours, so that lives are short
      const std::int64_t middle = i * buffers / instructions;
      std::vector<BufferId> used;
      for (int k = 0; k < 2; ++k) {
        const std::int64_t at =
            std::clamp<std::int64_t>(middle + random.integer(-2, 2), 0, buffers - 1);
        used.emplace_back(static_cast<std::size_t>(at));
      }
      touch(program, used, i * 2 < instructions ? 0 : 1);
    }
    const isa::Machine machine = machine_with(2400);
    const Allocation allocation = allocate(program, machine);
    CHECK_FALSE(clash(program, allocation));
    CHECK(allocate(program, machine).offsets == allocation.offsets);
    for (const BufferId id : program.buffers.ids()) {
      CHECK(allocation.offsets[id] + program.buffers[id].bytes <= machine.sbuf_bytes);
    }
  }
}

}  // namespace systole::lower
