#include "isa/text.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "isa/base/error.hpp"
#include "tests/isa/random_values.hpp"

namespace systole::isa {
namespace {

const char* const small_program = R"asm(systole program 1
name "example"
machine "trn1" 8e26c85f8f3f654c
semaphores 2
tensor t0 input "x" bf16 shape (64,128) order (0,1) storage (64,128)
tensor t1 constant "w" f32 shape (2) order (0) storage (2) data 0000803f00000040
source s0 operation "conv1 (Convolution)"
stream scalar
  ; "conv1 (Convolution)"
  0: wait m0>=1 activation in=psum:f32[0+64]@0(128:1) out=sbuf:bf16[0+64]@0(128:1) function=relu -> m1 from s0
stream sync
  0: dma source=hbm:bf16[t0]@0(64:128,128:1) destination=sbuf:bf16[0]@256(64:p1,128:1) ring=0 -> m0
)asm";

std::string message_of(const std::string& text) {
  try {
    static_cast<void>(parse(text, "f.asm"));
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST_CASE("a program written by hand means what it says") {
  const Program p = parse(small_program, "f.asm");
  CHECK(p.name == "example");
  CHECK(p.machine == "trn1");
  CHECK(p.fingerprint == 0x8e26c85f8f3f654cULL);
  CHECK(p.semaphores == 2);
  REQUIRE(p.tensors.size() == 2);
  const HbmTensor& w = p.tensors[TensorId(1)];
  CHECK(w.role == Role::constant);
  REQUIRE(w.data != nullptr);
  CHECK(w.data->size() == 8);
  CHECK(w.data->at(7) == std::byte{0x40});
  REQUIRE(p.streams[2].size() == 1);
  const Instruction& first = p.streams[2][0];
  CHECK(first.engine == Engine::scalar);
  CHECK(first.waits == std::vector<SemaphoreWait>{{SemaphoreId(0), 1}});
  CHECK(first.signal == SemaphoreId(1));
  CHECK(first.source == SourceId(0));
  Activation expected;
  expected.in = {Space::psum, DType::f32, 0, 64, 1, 0, {Dim{1, 128}}};
  expected.out = {Space::sbuf, DType::bf16, 0, 64, 1, 0, {Dim{1, 128}}};
  expected.function = Function::relu;
  CHECK(first.operation == Operation(expected));
  const auto& dma = p.streams[4].at(0).operation.get<Dma>();
  CHECK(dma.source.tensor == TensorId(0));
  CHECK(dma.source.dims[0] == DmaDim{128, 64, false});
  CHECK(dma.destination.offset == 256);
  CHECK(dma.destination.dims[0] == DmaDim{1, 64, true});
}

TEST_CASE("printing gives the text that was parsed") {
  CHECK(print(parse(small_program, "f.asm")) == small_program);
}

TEST_CASE("random programs come back equal from their text") {
  testing::RandomValues values(1);
  for (int i = 0; i < 300; ++i) {
    const Program p = values.program();
    const std::string text = print(p);
    const Program back = parse(text, "f.asm");
    REQUIRE(back == p);
    REQUIRE(print(back) == text);
  }
}

TEST_CASE("every instruction comes back from its own line") {
  testing::RandomValues values(2);
  for (int i = 0; i < 300; ++i) {
    for (const Operation& operation : values.one_of_each()) {
      const Instruction instruction = values.instruction(operation);
      REQUIRE(parse_instruction(print(instruction), instruction.engine) == instruction);
    }
  }
}

TEST_CASE("the sign of zero and NaN payloads survive") {
  Memset op;
  op.value = -0.0F;
  Instruction instruction;
  instruction.operation = op;
  const auto value_of = [](const Instruction& i) {
    return std::bit_cast<std::uint32_t>(i.operation.get<Memset>().value);
  };
  CHECK(value_of(parse_instruction(print(instruction), Engine::sync)) == 0x80000000U);
  for (const std::uint32_t bits : {0x7fc00000U, 0x7fc00001U, 0xffc00000U, 0x7f800001U}) {
    op.value = std::bit_cast<float>(bits);
    instruction.operation = op;
    CHECK(value_of(parse_instruction(print(instruction), Engine::sync)) == bits);
  }
}

TEST_CASE("a large constant is left out and said to be") {
  Program p = parse(small_program, "f.asm");
  p.tensors[TensorId(1)].data = std::make_shared<const std::vector<std::byte>>(65);
  const std::string text = print(p);
  CHECK(text.find("data omitted ; 65 bytes") != std::string::npos);
  const Program back = parse(text, "f.asm");
  CHECK(back.tensors[TensorId(1)].data == nullptr);
  CHECK(parse(print(p, {.inline_data_bytes = 65}), "f.asm") == p);
}

TEST_CASE("numbers, order of operands and comments are the writer's choice") {
  const std::string free =
      replaced(small_program, "0: dma source=hbm:bf16[t0]@0(64:128,128:1) destination=",
               "dma ring=0  transpose=false source=hbm:bf16[t0]@0(64:128,128:1) destination=");
  const std::string text = replaced(replaced(free, "(64:p1,128:1) ring=0", "(64:p1,128:1)"),
                                    "-> m0\n", "-> m0 ; loads x\n\n");
  CHECK(parse(text, "f.asm") == parse(small_program, "f.asm"));
}

TEST_CASE("each mistake is named with its place and a remedy") {
  const std::vector<std::array<std::string, 3>> cases = {
      {"activation in", "actvation in",
       "f.asm:10:17: unknown instruction \"actvation\"; did you mean \"activation\"?"},
      {"function=relu", "function=relo",
       "f.asm:10:93: \"relo\" is not a name of this place; did you mean \"relu\"?"},
      {" function=relu", "", "activation needs \"function\"; add function=..."},
      {"function=relu", "funktion=relu",
       "activation has no operand \"funktion\"; did you mean \"function\"?"},
      {"function=relu", "function=relu function=exp", "\"function\" appears twice"},
      {"psum:f32[0+64]", "psum:f33[0+64]", "did you mean \"f32\"?"},
      {"psum:f32[0+64]", "psum:f32[0-64]", "\"+\" expected before \"-64]@0(128:1)"},
      {"(128:1)", "(65536:1)", "out of range; give one from 0 to 65535"},
      {"(128:1)", "(128:32768)", "out of range; give one from -32768 to 32767"},
      {"[0+64]", "[99999+64]", "out of range; give one from -32768 to 32767"},
      {"(128:1)", "(1:1,1:1,1:1,1:1,1:1)", "at most 4 dims; merge dims or split"},
      {"m0>=1", "m0=1", "\">=\" expected"},
      {"m0>=1", "q0>=1", "an id like m0 expected"},
      {"semaphores 2", "semaphores 99999999", "out of range"},
      {"semaphores 2\n", "", "has no line \"semaphores\""},
      {"semaphores 2\n", "semaphores 2\nsemaphores 2\n", "f.asm:5:11: this line appears twice"},
      {"systole program 1", "systole program 2", "f.asm:1:17: the number is out of range"},
      {"systole program 1", "ELF", "f.asm:1:1: \"systole\" expected before \"ELF\""},
      {"tensor t1", "tensor t2", "declarations are numbered in order; the next one is t1"},
      {"data 0000803f00000040", "data 0000803f0000004", "not an even number of hexadecimal digits"},
      {"\"conv1 (Convolution)\"", "\"conv1 (Convolution)", "has no end"},
      {"\"conv1 (Convolution)\"", "\"conv1 \\n\"", "unknown escape"},
      {"stream sync", "stream scalar", "this line appears twice"},
      {"stream sync", "stream snyc", "did you mean \"sync\"?"},
      {"-> m0\n", "-> m0 m1\n", "the end of the line expected before \"m1\""},
      {"-> m0\n", "-> m4294967295\n", "out of range"},
  };
  for (const auto& [from, to, expected] : cases) {
    const std::string message = message_of(replaced(small_program, from, to));
    CAPTURE(to);
    CAPTURE(message);
    CHECK(message.find(expected) != std::string::npos);
  }
  CHECK(message_of("").find("begins with: systole program 1") != std::string::npos);
}

}  // namespace
}  // namespace systole::isa
