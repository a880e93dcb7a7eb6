// Every rule of isa/verify: a valid instruction, and the same with one thing wrong.
#include "isa/verify.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "isa/base/error.hpp"
#include "isa/text.hpp"
#include "tests/isa/random_values.hpp"

namespace systole::isa {
namespace {

const std::string preamble = R"asm(systole program 1
name "test"
machine "trn1" 0
semaphores 4
tensor t0 input "x" bf16 shape (64,128) order (0,1) storage (64,128)
tensor t1 output "y" f32 shape (64,128) order (1,0) storage (128,64)
tensor t2 constant "w" bf16 shape (4) order (0) storage (4) data 803f803f803f803f
tensor t3 scratch "s" f32 shape () order () storage (256,32)
source s0 operation "matmul (MatMul)"
)asm";

struct Case {
  const char* engine;
  const char* lines;
  const char* expected;   // "" = valid
  std::size_t count = 1;  // of violations, where one mistake breaks two rules
};

std::vector<std::string> messages(const Program& program, const Machine& machine) {
  std::vector<std::string> texts;
  for (const Diagnostic& diagnostic : verify(program, machine)) {
    texts.push_back(describe(diagnostic, program));
  }
  return texts;
}

void check_cases(const std::vector<Case>& cases, const char* machine_name = "trn1") {
  const Machine machine = read_machine(machine_name);
  for (const auto& [engine, lines, expected, count] : cases) {
    const std::string text = preamble + "stream " + engine + "\n" + lines + "\n";
    const std::vector<std::string> found = messages(parse(text, "t.asm"), machine);
    std::string all;
    for (const std::string& one : found) {
      all += one + "\n";
    }
    CAPTURE(std::string(lines));
    CAPTURE(all);
    CHECK(found.size() == (*expected == '\0' ? 0U : count));
    CHECK(all.find(expected) != std::string::npos);
  }
}

const char* const load64 = "load_stationary stationary=sbuf:bf16[0+64]@0(64:1)\n";

TEST_CASE("operands keep the start-partition rule, their limits and the memory's bounds") {
  check_cases({
      {"vector", "memset out=sbuf:f32[32+32]@0(4:1) value=0", ""},
      {"vector", "memset out=sbuf:f32[64+64]@0(4:1) value=0", ""},
      {"vector", "memset out=sbuf:f32[96+1]@0 value=0", ""},
      {"vector", "memset out=sbuf:f32[16+32]@0(4:1) value=0",
       "vector instruction 0 (memset): out covers 32 partitions from 16, but must start at a "
       "multiple of 32"},
      {"vector", "memset out=sbuf:f32[32+64]@0(4:1) value=0", "must start at a multiple of 64"},
      {"vector", "memset out=sbuf:f32[32+65]@0(4:1) value=0", "must start at a multiple of 128"},
      {"vector", "memset out=sbuf:f32[96+33]@0(4:1) value=0",
       "covers 33 partitions from 96, the memory has 128"},
      {"vector", "memset out=sbuf:f32[0+0]@0(4:1) value=0", "covers 0 partitions"},
      {"vector", "memset out=sbuf:f32[-32+32]@0(4:1) value=0", "32 partitions from -32"},
      {"vector", "memset out=sbuf:f32[0+128]@180220 value=0", ""},
      {"vector", "memset out=sbuf:f32[0+128]@180224 value=0",
       "touches bytes 180224 to 180228 of a partition, sbuf has 180224"},
      {"vector", "memset out=psum:f32[0+128]@16380 value=0", ""},
      {"vector", "memset out=psum:f32[0+128]@16380(2:1) value=0", "psum has 16384"},
      {"vector", "memset out=sbuf:f32[0+128]@8(4:-1) value=0", "touches bytes -4 to 12"},
      {"vector", "memset out=sbuf:f32[0+128]@12(4:-1) value=0", ""},
      {"vector", "memset out=sbuf:f32[0+128]@2 value=0", "no multiple of the 4 bytes of f32"},
      {"vector", "memset out=sbuf:bf16[0+128]@0(0:1) value=0", "extent 0 in dim 0"},
      {"vector", "memset out=sbuf:u8[0+128]@65536(2:-32768) value=0", "stride -32768 in dim 0"},
      {"vector", "memset out=sbuf:u8[0+128]@0(2:32767) value=0", ""},
      {"vector", "memset out=sbuf:u8[0+128]@0(2:32767,32767:1) value=0", ""},
      {"vector", "memset out=sbuf:u8[0+128]@0(3:32767,32767:1) value=0",
       "covers 98301 elements per partition, an instruction takes up to 65536"},
      {"vector", "memset out=hbm:f32[0+128]@0(4:1) value=0", "lies in HBM"},
  });
}

TEST_CASE("no destination element is written twice, sources may repeat") {
  check_cases({
      {"vector", "copy in=sbuf:f32[0+128]@0(4:0,8:1) out=sbuf:f32[0+128]@1024(32:1)", ""},
      {"vector", "copy in=sbuf:f32[0+128]@0(32:1) out=sbuf:f32[0+128]@1024(4:0,8:1)",
       "out writes an element twice"},
      {"vector", "memset out=sbuf:f32[0+128]@0(3:2,3:1) value=0", "writes an element twice"},
      {"vector", "memset out=sbuf:f32[0+128]@0(3:3,3:1) value=0", ""},
      {"vector", "memset out=sbuf:f32[0+128]@0(2:3,2:2) value=0", ""},       // 0 2 3 5
      {"vector", "memset out=sbuf:f32[0+128]@0(3:2,3:3) value=0", ""},       // 0 3 6 2 5 8 4 7 10
      {"vector", "memset out=sbuf:f32[0+128]@0(4:2,3:3) value=0", "twice"},  // 6 = 3*2 = 2*3
      {"vector", "memset out=sbuf:f32[0+128]@32(3:-3,3:1) value=0", ""},
  });
}

TEST_CASE("the stream's engine executes the operation") {
  check_cases({
      {"scalar", "memset out=sbuf:f32[0+128]@0(4:1) value=0", "scalar does not execute it"},
      {"gpsimd", "memset out=sbuf:f32[0+128]@0(4:1) value=0", ""},
      {"gpsimd", "memset out=psum:f32[0+128]@0(4:1) value=0", "and reaches no PSUM"},
      {"vector", "on scalar memset out=sbuf:f32[0+128]@0(4:1) value=0", "is marked for scalar"},
      {"scalar", "copy in=sbuf:f32[0+128]@0(4:1) out=sbuf:f32[0+128]@64(4:1)",
       "scalar does not execute it"},
      {"vector",
       "dma_indirect table=hbm:f32[t3]@0(32:1) index=sbuf:i32[0+64]@0 "
       "rows_side=sbuf:f32[0]@64(64:p1,32:1) row_stride=32 bound=256 ring=0",
       "vector does not execute it"},
      {"vector", "tensor_tensor a=sbuf:f32[0+2]@0 b=sbuf:f32[0+2]@4 out=sbuf:f32[0+2]@8 op=power",
       "vector does not execute it"},
      {"gpsimd", "tensor_tensor a=sbuf:f32[0+2]@0 b=sbuf:f32[0+2]@4 out=sbuf:f32[0+2]@8 op=power",
       ""},
      {"sync", "nop", ""},
      {"scalar", "load_table function=exp", ""},
      {"scalar", "load_table function=copy", "copy needs no table"},
      {"vector", "load_table function=exp", "vector"},
  });
  check_cases({{"scalar", "copy in=sbuf:f32[0+128]@0(4:1) out=sbuf:f32[0+128]@64(4:1)", ""}},
              "trn2");
}

TEST_CASE("ids and semaphores are the program's") {
  check_cases({
      {"sync", "nop -> m3\nwait m3>=1 nop from s0", ""},
      {"sync", "nop -> m4", "signals semaphore 4, the program has 4"},
      {"sync", "wait m4>=0 nop", "waits for a semaphore out of range"},
      {"sync", "wait none>=0 nop", "waits for a semaphore out of range"},
      {"sync", "nop from s1", "names source 1, the program has 1"},
      {"sync", "nop from s0\nwait m1>=1 nop from s0",
       "sync instruction 1 (nop, for \"matmul (MatMul)\"): waits for semaphore 1 to reach 1, it "
       "never passes 0"},
      {"sync", "nop -> m1\nnop -> m1\nwait m1>=3 nop -> m1", "to reach 3, it never passes 2"},
      {"sync", "wait m1>=1 nop\nstream vector\nnop -> m1", ""},
  });
}

TEST_CASE("streams that wait for each other are both named") {
  const Program program = parse(preamble +
                                    "stream vector\nwait m0>=1 nop -> m1\nstream sync\n"
                                    "wait m1>=1 nop -> m0\n",
                                "t.asm");
  CHECK(messages(program, read_machine("trn1")) ==
        std::vector<std::string>{
            "vector instruction 0 (nop): waits for semaphore 0 to reach 1, it never passes 0",
            "sync instruction 0 (nop): waits for semaphore 1 to reach 1, it never passes 0"});
}

TEST_CASE("the array's limits, tiling and loaded weights") {
  const std::string load = load64;
  const auto after = [&load](const std::string& multiply) { return load + multiply; };
  struct Lines {
    std::string lines;
    const char* expected;
    std::size_t count = 1;
  };
  const std::vector<Lines> all = {
      {after("multiply moving=sbuf:bf16[0+64]@0(512:1) out=psum:f32[0+64]@0(512:1)"), ""},
      {after("multiply moving=sbuf:bf16[0+32]@0(512:1) out=psum:f32[0+32]@0(512:1)"), ""},
      {after("multiply moving=sbuf:bf16[0+64]@0(513:1) out=psum:f32[0+64]@0(512:1)"),
       "moving has 513 columns, allowed are 1 to 512"},
      {after("multiply moving=sbuf:bf16[0+64]@0(4:1) out=psum:f32[0+64]@0(5:1)"),
       "moving has 4 columns, out has 5 elements per partition"},
      {after("multiply moving=sbuf:bf16[0+64]@0(4:1) out=psum:f32[0+64]@2040(4:1)"),
       "touches bytes 2040 to 2056, more than one PSUM bank of 2048 bytes"},
      {after("multiply moving=psum:bf16[0+64]@0(4:1) out=psum:f32[0+64]@0(4:1)"),
       "moving lies in psum, it must lie in sbuf"},
      {after("multiply moving=sbuf:bf16[0+64]@0(4:1) out=sbuf:f32[0+64]@64(4:1)"),
       "out lies in sbuf, it must lie in psum"},
      {after("multiply moving=sbuf:bf16[0+64]@0(4:1) out=psum:bf16[0+64]@0(4:1)"),
       "out is bf16, the array writes f32"},
      {after("multiply moving=sbuf:i8[0+64]@0(4:1) out=psum:f32[0+64]@0(4:1)"),
       "moving is i8, the array multiplies floating types"},
      {after("multiply moving=sbuf:f32[0+64]@0(4:1) out=psum:f32[0+64]@0(4:1)"),
       "moving is f32, the loaded weights are bf16: f32 pairs with f32 only"},
      {after("multiply moving=sbuf:f16[0+64]@0(4:1) out=psum:f32[0+64]@0(4:1)"), ""},
      {after("multiply moving=sbuf:bf16[0+65]@0(4:1) out=psum:f32[0+64]@0(4:1)"),
       "uses rows 0 to 65 and columns 0 to 64 of the array, not all of them loaded"},
      {after("multiply moving=sbuf:bf16[0+64]@0(4:1) out=psum:f32[64+64]@0(4:1)"),
       "not all of them loaded"},
      {after("multiply moving=sbuf:bf16[0+64]@0(4:1) out=psum:f32[0+64]@0(4:1) "
             "transpose_mode=true"),
       "transpose_mode does not exist on machine \"trn1\""},
      {"multiply moving=sbuf:bf16[0+64]@0(4:1) out=psum:f32[0+64]@0(4:1)",
       "not all of them loaded"},
      {"load_stationary stationary=sbuf:bf16[0+128]@0(128:1)", ""},
      {"load_stationary stationary=sbuf:bf16[0+128]@0(129:1)",
       "columns 0 to 129 do not fit the array's 128"},
      {"load_stationary stationary=sbuf:bf16[0+128]@0(64:1) column=65", "columns 65 to 129"},
      {"load_stationary stationary=sbuf:bf16[0+128]@0(64:1) column=-64", "columns -64 to 0"},
      {"load_stationary stationary=sbuf:bf16[0+128]@0(64:1) column=64", ""},
      {"load_stationary stationary=sbuf:bf16[0+128]@0(32:1) column=32",
       "32 columns of the array start at 32, but must at a multiple of 64"},
      {"load_stationary stationary=sbuf:bf16[32+32]@0(64:1)",
       "32 rows of the array start at 32, but must at a multiple of 64"},
      {"load_stationary stationary=sbuf:i8[0+64]@0(64:1)", "stationary is i8"},
      {"load_stationary stationary=psum:bf16[0+64]@0(64:1)", "stationary lies in psum"},
      // Two halves make a whole; the newer weights decide on the type.
      {"load_stationary stationary=sbuf:bf16[0+64]@0(128:1)\n"
       "load_stationary stationary=sbuf:bf16[64+64]@0(128:1)\n"
       "multiply moving=sbuf:bf16[0+128]@0(4:1) out=psum:f32[0+128]@0(4:1)",
       ""},
      {"load_stationary stationary=sbuf:bf16[0+64]@0(128:1)\n"
       "load_stationary stationary=sbuf:bf16[64+64]@0(127:1)\n"
       "multiply moving=sbuf:bf16[0+128]@0(4:1) out=psum:f32[0+128]@0(4:1)",
       "not all of them loaded"},
      {"load_stationary stationary=sbuf:bf16[0+128]@0(128:1)\n"
       "load_stationary stationary=sbuf:f32[64+64]@0(128:1)\n"
       "multiply moving=sbuf:bf16[0+128]@0(4:1) out=psum:f32[0+128]@0(4:1)",
       "the loaded weights are f32"},
      {"load_stationary stationary=sbuf:f32[64+64]@0(128:1)\n"
       "load_stationary stationary=sbuf:bf16[0+128]@0(128:1)\n"
       "multiply moving=sbuf:bf16[0+128]@0(4:1) out=psum:f32[0+128]@0(4:1)",
       ""},
  };
  std::vector<Case> cases;
  for (const auto& [lines, expected, count] : all) {
    cases.push_back({"tensor", lines.c_str(), expected, count});
  }
  check_cases(cases);
}

TEST_CASE("the second generation tiles by 32 and passes values through") {
  const std::string load = load64;
  const std::string passed = load +
                             "multiply moving=sbuf:bf16[0+64]@0(4:1) out=psum:bf16[0+64]@0(4:1) "
                             "transpose_mode=true";
  const std::string accumulated = passed + " accumulate=true";
  const std::string narrow = load +
                             "multiply moving=sbuf:bf16[0+64]@0(4:1) out=psum:i16[0+64]@0(4:1) "
                             "transpose_mode=true";
  check_cases({{"tensor", "load_stationary stationary=sbuf:bf16[32+32]@0(32:1) column=32", ""},
               {"tensor", passed.c_str(), ""},
               {"tensor", accumulated.c_str(), "it cannot accumulate"},
               {"tensor", narrow.c_str(), "out is i16, the array writes f32 or a floating type"}},
              "trn2");
}

TEST_CASE(
    "fp8 pairs are loaded and multiplied as pairs, over all columns, where the machine has them") {
  const std::string load =
      "load_stationary stationary=sbuf:f8e4[0+128]@0(2:64,64:1) double_row=true";
  const std::string multiply =
      "multiply moving=sbuf:f8e5[0+128]@256(2:512,512:1) out=psum:f32[0+64]@0(512:1)";
  const std::string pair = load + "\n" + multiply + " double_row=true";
  const std::string without = load + "\n" + multiply;
  const std::string plain_weights =
      "load_stationary stationary=sbuf:f8e4[0+128]@0(64:1)\n" + multiply + " double_row=true";
  const std::string turned = pair + " transpose_mode=true";
  const std::string long_moving =
      load +
      "\nmultiply moving=sbuf:f8e5[0+128]@256(2:513,513:1) out=psum:f32[0+64]@0(513:1) "
      "double_row=true";
  const std::string unequal =
      load +
      "\nmultiply moving=sbuf:f8e5[0+128]@256(2:8,8:1) out=psum:f32[0+64]@0(16:1) "
      "double_row=true";
  const std::string part =
      load +
      "\nmultiply moving=sbuf:f8e5[0+128]@256(2:8,8:1) out=psum:f32[32+32]@0(8:1) "
      "double_row=true";
  check_cases(
      {{"tensor", pair.c_str(), ""},
       {"tensor", without.c_str(), "moving has 1024 columns, allowed are 1 to 512", 2},
       {"tensor", plain_weights.c_str(),
        "multiplies with double_row with weights loaded without it"},
       {"tensor", turned.c_str(), "double_row excludes transpose_mode"},
       {"tensor", long_moving.c_str(), "moving has 513 columns", 2},
       {"tensor", unequal.c_str(), "moving has 8 columns, out has 16"},
       {"tensor", part.c_str(), "double_row excludes tiles of columns, the first one here is 32"},
       {"tensor",
        "load_stationary stationary=sbuf:f8e4[0+128]@0(2:32,32:1) column=32 double_row=true",
        "double_row excludes tiles of columns"},
       {"tensor", "load_stationary stationary=sbuf:bf16[0+128]@0(2:64,64:1) double_row=true",
        "stationary is bf16, double_row takes f8e4 and f8e5"},
       {"tensor", "load_stationary stationary=sbuf:f8e4[0+128]@0(128:1) double_row=true",
        "no outermost dim of extent 2"},
       {"tensor", "load_stationary stationary=sbuf:f8e4[0+128]@0(2:129,129:1) double_row=true",
        "columns 0 to 129 do not fit"}},
      "trn2");
  check_cases({{"tensor", load.c_str(), "double_row does not exist on machine \"trn1\""}});
}

TEST_CASE("elementwise instructions agree on shape, types and PSUM") {
  check_cases({
      {"vector",
       "tensor_tensor a=sbuf:bf16[0+64]@0(2:8,4:1) b=psum:f32[0+64]@0(8:1) "
       "out=sbuf:f32[64+64]@64(4:2,2:1) op=add",
       ""},
      {"vector",
       "tensor_tensor a=psum:f32[0+64]@64(8:1) b=psum:f32[0+64]@0(8:1) "
       "out=sbuf:f32[0+64]@64(8:1) op=add",
       "a and b both lie in PSUM"},
      {"vector",
       "tensor_tensor a=sbuf:f32[0+64]@0(7:1) b=sbuf:f32[0+64]@64(8:1) "
       "out=sbuf:f32[0+64]@128(8:1) op=add",
       "a has 7 elements per partition, out has 8"},
      {"vector",
       "tensor_tensor a=sbuf:f32[0+64]@0(8:1) b=sbuf:f32[0+32]@64(8:1) "
       "out=sbuf:f32[0+64]@128(8:1) op=add",
       "b covers 32 partitions, out covers 64"},
      {"vector",
       "tensor_tensor a=sbuf:i32[0+64]@0(8:1) b=sbuf:f32[0+64]@64(8:1) "
       "out=sbuf:i32[0+64]@128(8:1) op=bitwise_and",
       "b is f32, an integer type is needed"},
      {"vector", "tensor_scalar in=sbuf:f32[0+64]@0(8:1) out=sbuf:f32[0+64]@0(8:1) op0=add s0=1",
       ""},
      {"vector",
       "tensor_scalar in=sbuf:f32[0+64]@0(8:1) out=sbuf:f32[0+64]@0(8:1) op0=add "
       "s0=sbuf:f32[0+64]@64",
       ""},
      {"vector",
       "tensor_scalar in=sbuf:f32[0+64]@0(8:1) out=sbuf:f32[0+64]@0(8:1) op0=add "
       "s0=sbuf:f32[0+32]@64",
       "s0 covers 32 partitions, the data covers 64"},
      {"vector",
       "tensor_scalar in=sbuf:f32[0+64]@0(8:1) out=sbuf:f32[0+64]@0(8:1) op0=add s0=1 "
       "op1=multiply s1=sbuf:f32[0+64]@64(2:1)",
       "s1 has 2 elements per partition, 1 are needed"},
      {"vector",
       "tensor_scalar in=sbuf:f32[0+16]@0(8:1) out=sbuf:f32[0+16]@0(8:1) op0=add "
       "s0=sbuf:f32[16+16]@64",
       "s0 covers 16 partitions from 16"},
      {"vector",
       "tensor_scalar in=sbuf:f32[0+64]@0(8:1) out=sbuf:i32[0+64]@0(8:1) op0=shift_left s0=1",
       "in is f32, an integer type is needed"},
      {"vector",
       "scalar_tensor_tensor in=psum:f32[0+64]@0(8:1) other=psum:f32[0+64]@64(8:1) "
       "out=sbuf:f32[0+64]@0(8:1) op0=multiply scalar=2 op1=add",
       "in and other both lie in PSUM"},
      {"vector",
       "scalar_tensor_tensor in=sbuf:f32[0+64]@0(8:1) other=psum:f32[0+64]@64(9:1) "
       "out=sbuf:f32[0+64]@0(8:1) op0=multiply scalar=2 op1=add",
       "other has 9 elements per partition, out has 8"},
      {"vector",
       "tensor_scan a=psum:f32[0+64]@0(8:1) b=psum:f32[0+64]@64(8:1) out=sbuf:f32[0+64]@0(8:1) "
       "op0=multiply op1=add",
       "a and b both lie in PSUM"},
      {"vector",
       "tensor_scan a=psum:f32[0+64]@0(8:1) b=sbuf:f32[0+64]@64(8:1) out=sbuf:f32[0+64]@0(8:1) "
       "op0=multiply op1=add initial=sbuf:f32[0+64]@128(2:1)",
       "initial has 2 elements"},
      {"vector", "copy in=psum:f32[0+32]@0(8:1) out=sbuf:bf16[96+32]@0(2:4,4:1)", ""},
      {"vector", "copy in=psum:f32[0+32]@0(8:1) out=sbuf:bf16[96+16]@0(8:1)",
       "in covers 32 partitions, out covers 16"},
      {"vector",
       "copy_predicated predicate=sbuf:u8[0+64]@0(8:1) in=sbuf:f32[0+64]@32(8:1) "
       "out=sbuf:f32[0+64]@64(8:1)",
       ""},
      {"vector",
       "copy_predicated predicate=sbuf:f32[0+64]@0(8:1) in=sbuf:f32[0+64]@32(8:1) "
       "out=sbuf:f32[0+64]@64(8:1)",
       "predicate is f32, an integer type is needed"},
      {"vector",
       "copy_predicated predicate=psum:u8[0+64]@0(8:1) in=psum:f32[0+64]@32(8:1) "
       "out=sbuf:f32[0+64]@64(8:1)",
       "predicate and in both lie in PSUM"},
      {"vector", "reciprocal in=sbuf:f32[0+64]@0(8:1) out=sbuf:f32[0+64]@64(9:1)",
       "in has 8 elements per partition, out has 9"},
      {"scalar",
       "activation in=psum:f32[0+64]@0(8:1) out=sbuf:f32[0+64]@0(8:1) function=exp "
       "bias=sbuf:f32[0+64]@64 with_reduce=true reduce=sbuf:f32[0+64]@68",
       ""},
      {"scalar",
       "activation in=psum:f32[0+64]@0(8:1) out=sbuf:f32[0+64]@0(8:1) function=exp "
       "with_reduce=true reduce=sbuf:f32[0+64]@68(2:1)",
       "reduce has 2 elements per partition, 1 are needed"},
      {"scalar",
       "activation in=psum:f32[0+64]@0(8:1) out=sbuf:f32[0+64]@0(8:1) function=exp "
       "with_reduce=true reduce=sbuf:f32[0+32]@68",
       "reduce covers 32 partitions, in covers 64"},
      {"scalar",
       "activation in=psum:f32[0+64]@0(8:1) out=sbuf:f32[0+64]@0(8:1) function=exp "
       "bias=sbuf:f32[0+32]@64",
       "bias covers 32 partitions, the data covers 64"},
  });
}

TEST_CASE("reductions, blocks, shuffles, statistics and searches keep their counts") {
  check_cases({
      {"vector",
       "tensor_reduce in=sbuf:f32[0+64]@0(2:16,4:4,4:1) out=sbuf:f32[0+64]@512(8:1) op=max", ""},
      {"vector",
       "tensor_reduce in=sbuf:f32[0+64]@0(2:16,4:4,4:1) out=sbuf:f32[0+64]@512(2:1) op=max axes=2",
       ""},
      {"vector",
       "tensor_reduce in=sbuf:f32[0+64]@0(2:16,4:4,4:1) out=sbuf:f32[0+64]@512(2:1) op=max",
       "out has 2 elements per partition, 8 are needed"},
      {"vector",
       "tensor_reduce in=sbuf:f32[0+64]@0(2:16,4:1) out=sbuf:f32[0+64]@512(2:1) op=max axes=3",
       "reduces 3 dims, in has 2"},
      {"vector",
       "tensor_reduce in=sbuf:f32[0+64]@0(2:16,4:1) out=sbuf:f32[0+64]@512(2:1) op=subtract",
       "reduces by subtract"},
      {"vector", "transpose32 in=sbuf:f32[0+32]@0(16:1) out=sbuf:f32[32+16]@0(32:1)", ""},
      {"vector", "transpose32 in=sbuf:f32[0+32]@0(16:1) out=sbuf:f32[32+32]@0(16:1)",
       "in is 32 x 16, so out must be 16 x 32, not 32 x 16"},
      {"vector", "transpose32 in=sbuf:f32[0+32]@0(33:1) out=sbuf:f32[0+33]@1024(32:1)",
       "a block spans up to 32 partitions"},
      {"vector", "bn_stats in=sbuf:f32[0+64]@0(512:1) out=sbuf:f32[0+64]@4096(6:1)", ""},
      {"vector", "bn_stats in=sbuf:f32[0+64]@0(513:1) out=sbuf:f32[0+64]@4096(6:1)",
       "in has 513 elements per partition, allowed are 1 to 512"},
      {"vector", "bn_stats in=sbuf:f32[0+64]@0(512:1) out=sbuf:f32[0+64]@4096(5:1)",
       "out has 5 elements per partition, 6 are needed"},
      {"vector", "bn_aggregate in=sbuf:f32[0+64]@0(12:1) out=sbuf:f32[0+64]@4096(2:1)", ""},
      {"vector", "bn_aggregate in=sbuf:f32[0+64]@0(13:1) out=sbuf:f32[0+64]@4096(2:1)",
       "no multiple of 3"},
      {"vector", "bn_aggregate in=sbuf:f32[0+64]@0(12:1) out=sbuf:f32[0+64]@4096(3:1)",
       "out has 3 elements"},
      {"vector", "max8 in=sbuf:f32[0+64]@0(8:1) out=sbuf:f32[0+64]@4096(8:1)", ""},
      {"vector", "max8 in=sbuf:f32[0+64]@0(7:1) out=sbuf:f32[0+64]@4096(8:1)",
       "in has 7 elements per partition, allowed are 8 to 16384"},
      {"vector", "max8 in=sbuf:f32[0+64]@0(9:1) out=sbuf:f32[0+64]@4096(9:1)", "out has 9"},
      {"vector",
       "find_index8 values=sbuf:f32[0+64]@0(8:1) in=sbuf:f32[0+64]@64(99:1) "
       "out=sbuf:u32[0+64]@4096(8:1)",
       ""},
      {"vector",
       "find_index8 values=sbuf:f32[0+64]@0(8:1) in=sbuf:f32[0+64]@64(99:1) "
       "out=sbuf:i32[0+64]@4096(8:1)",
       "out is i32, indices are u32"},
      {"vector",
       "find_index8 values=sbuf:f32[0+64]@0(7:1) in=sbuf:f32[0+64]@64(99:1) "
       "out=sbuf:u32[0+64]@4096(8:1)",
       "values has 7"},
      {"vector",
       "match_replace8 values=sbuf:f32[0+64]@0(8:1) in=sbuf:f32[0+64]@64(99:1) "
       "out=sbuf:f32[0+64]@4096(99:1) value=-inf",
       ""},
      {"vector",
       "match_replace8 values=sbuf:f32[0+64]@0(8:1) in=sbuf:f32[0+64]@64(99:1) "
       "out=sbuf:f32[0+64]@4096(98:1) value=-inf",
       "in has 99 elements per partition, out has 98"},
  });
}

TEST_CASE("a shuffle stays inside the lanes in use") {
  Program program = parse(preamble, "t.asm");
  Shuffle32 op;
  op.in = {Space::sbuf, DType::f32, 0, 40, 1, 0, {Dim{1, 4}}};
  op.out = op.in;
  op.out.offset = 64;
  for (std::size_t i = 0; i < op.mask.size(); ++i) {
    op.mask[i] = static_cast<std::uint8_t>(i ^ 1U);
  }
  const auto found = [&program](const Shuffle32& shuffle) {
    program.streams[1] = {Instruction{Engine::vector, {}, {}, {}, shuffle}};
    return messages(program, read_machine("trn1"));
  };
  CHECK(found(op).empty());
  op.mask[7] = 8;  // the second quadrant has 8 lanes
  CHECK(found(op) ==
        std::vector<std::string>{"vector instruction 0 (shuffle32): mask takes lane 7 from lane 8 "
                                 "of a quadrant with 8 lanes in use"});
  op.mask[7] = 255;
  CHECK(found(op).empty());
  op.mask[31] = 32;
  CHECK(found(op).size() == 1);
  op.mask[31] = 0;
  op.out.dtype = DType::i32;
  CHECK(found(op) == std::vector<std::string>{"vector instruction 0 (shuffle32): in is f32, out "
                                              "is i32: a shuffle does not convert"});
}

TEST_CASE("GpSimd's instructions keep their shapes and types") {
  check_cases({
      {"gpsimd", "iota out=sbuf:i32[0+64]@0(8:1) base=3", ""},
      {"gpsimd", "iota out=sbuf:u8[0+64]@0(8:1) base=3", "out is u8, iota writes i32"},
      {"gpsimd",
       "affine_select in=sbuf:f32[0+64]@0(8:1) out=sbuf:f32[0+64]@64(9:1) comparison=less",
       "in has 8 elements per partition, out has 9"},
      {"gpsimd", "partition_reduce in=sbuf:f32[0+64]@0(8:1) out=sbuf:f32[0+1]@64(8:1) op=add", ""},
      {"gpsimd", "partition_reduce in=sbuf:f32[0+64]@0(8:1) out=sbuf:f32[0+2]@64(8:1) op=add",
       "out covers 2 partitions, the result has one"},
      {"gpsimd", "partition_reduce in=sbuf:f32[0+64]@0(8:1) out=sbuf:f32[0+1]@64(7:1) op=add",
       "in has 8 elements per partition, out has 7"},
      {"gpsimd", "partition_reduce in=sbuf:f32[0+64]@0(8:1) out=sbuf:f32[0+1]@64(8:1) op=divide",
       "reduces by divide"},
      {"gpsimd",
       "local_gather in=sbuf:f32[0+64]@0(8:1) index=sbuf:u16[0+64]@32(4:1) "
       "out=sbuf:f32[0+64]@64(4:1)",
       ""},
      {"gpsimd",
       "local_gather in=sbuf:f32[0+64]@0(8:1) index=sbuf:u8[0+64]@32(4:1) "
       "out=sbuf:f32[0+64]@64(4:1)",
       "index is u8"},
      {"gpsimd",
       "local_gather in=sbuf:f32[0+64]@0(8:1) index=sbuf:u16[0+64]@32(3:1) "
       "out=sbuf:f32[0+64]@64(4:1)",
       "index has 3 elements per partition, out has 4"},
  });
}

TEST_CASE("transfers agree on counts, stay in range and respect roles") {
  check_cases({
      {"sync",
       "dma source=hbm:bf16[t0]@0(64:128,128:1) destination=sbuf:f32[0]@0(64:p1,2:64,64:1) ring=0",
       ""},
      {"sync",
       "dma source=hbm:bf16[t0]@0(64:128,128:1) destination=sbuf:bf16[0]@0(64:p1,127:1) ring=0",
       "source enumerates 8192 elements, destination 8128"},
      {"sync", "dma source=hbm:bf16[t0]@1(8192:1) destination=sbuf:bf16[0]@0(8192:1) ring=0",
       "source touches bytes 2 to 16386, tensor \"x\" has 16384"},
      {"sync", "dma source=hbm:bf16[t0]@0(2:-1) destination=sbuf:bf16[0]@0(2:1) ring=0",
       "source touches bytes -2 to 2"},
      {"sync", "dma source=hbm:bf16[t0]@0(4:0,2:1) destination=sbuf:bf16[0]@0(8:1) ring=0", ""},
      {"sync", "dma source=hbm:bf16[t0]@0(8:1) destination=sbuf:bf16[0]@0(4:0,2:1) ring=0",
       "destination writes an element twice"},
      {"sync", "dma source=hbm:bf16[t0]@0(8:1) destination=sbuf:bf16[0]@0(4:p0,2:1) ring=0",
       "destination writes an element twice"},
      {"sync", "dma source=hbm:bf16[t0]@0(8:1) destination=sbuf:bf16[125]@0(4:p1,2:1) ring=0",
       "destination touches partitions 125 to 129, SBUF has 128"},
      {"sync", "dma source=hbm:bf16[t0]@0(8:1) destination=sbuf:bf16[0]@180210(8:1) ring=0",
       "destination touches bytes 180210 to 180226"},
      {"sync", "dma source=hbm:bf16[t0]@0(8:1) destination=sbuf:bf16[0]@3(8:1) ring=0",
       "no multiple of the 2 bytes of bf16"},
      {"sync", "dma source=hbm:bf16[t0]@0(8:p1) destination=sbuf:bf16[0]@0(8:1) ring=0",
       "steps across partitions in dim 0, HBM has none"},
      {"sync", "dma source=hbm:bf16[t0]@0(8:1) destination=psum:bf16[0]@0(8:1) ring=0",
       "destination lies in PSUM, which transfers do not reach"},
      {"sync", "dma source=hbm:bf16[t0]@0(8:1) destination=sbuf:bf16[0]@0(8:1) ring=16",
       "ring 16, the machine has 16"},
      {"sync", "dma source=hbm:bf16[t4]@0(8:1) destination=sbuf:bf16[0]@0(8:1) ring=0",
       "source names no tensor"},
      {"sync", "dma source=hbm:f32[t0]@0(8:1) destination=sbuf:f32[0]@0(8:1) ring=0",
       "source sees tensor \"x\" as f32, it holds bf16"},
      {"sync", "dma source=sbuf:bf16[0]@0(8:1) destination=hbm:bf16[t0]@0(8:1) ring=0",
       "destination writes the input \"x\""},
      {"sync", "dma source=sbuf:bf16[0]@0(4:1) destination=hbm:bf16[t2]@0(4:1) ring=0",
       "destination writes the constant \"w\""},
      {"sync", "dma source=sbuf:bf16[0]@0(8:1) destination=hbm:f32[t1]@0(8:1) ring=0", ""},
      {"sync", "dma source=sbuf:bf16[0]@0(0:1) destination=hbm:f32[t1]@0(8:1) ring=0",
       "source has extent 0"},
      {"sync",
       "dma source=hbm:bf16[t0]@0(2:9223372036854775807) destination=sbuf:bf16[0]@0(2:1) ring=0",
       "source has stride"},
      {"sync",
       "dma source=hbm:bf16[t0]@9223372036854775807(2:1) destination=sbuf:bf16[0]@0(2:1) ring=0",
       "source touches bytes"},
      {"sync",
       "dma source=sbuf:bf16[0]@0(64:p1,128:1) destination=sbuf:bf16[0]@1024(64:1,128:p1) ring=0 "
       "transpose=true",
       ""},
      {"sync",
       "dma source=sbuf:f32[0]@0(64:p1,128:1) destination=sbuf:f32[0]@1024(64:1,128:p1) ring=0 "
       "transpose=true",
       "a transposing transfer moves one type of 2 bytes"},
      {"sync",
       "dma source=sbuf:bf16[0]@0(64:p1,128:1) destination=sbuf:bf16[0]@1024(64:1,128:p1) ring=0 "
       "transpose=true accumulate=true",
       "transposes or accumulates, not both"},
      {"sync",
       "dma source=hbm:bf16[t0]@0(64:128,128:1) destination=sbuf:bf16[0]@0(64:1,128:p1) ring=0 "
       "transpose=true",
       ""},
      {"sync",  // rows as they are
       "dma source=hbm:bf16[t0]@0(64:128,128:1) destination=sbuf:bf16[0]@0(64:p1,128:1) ring=0 "
       "transpose=true",
       "the patterns are no transposition"},
      {"sync",  // inside one partition
       "dma source=sbuf:bf16[0]@0(8:8,8:1) destination=sbuf:bf16[0]@1024(8:1,8:p1) ring=0 "
       "transpose=true",
       "the patterns are no transposition"},
      {"sync",
       "dma source=sbuf:bf16[0]@0(8:p1,4:1) destination=hbm:bf16[t0]@0(8:1,4:8) ring=0 "
       "transpose=true",
       "a transposing transfer ends in sbuf, not in hbm", 2},
  });
}

TEST_CASE("indirect transfers name a table, its rows and their indices") {
  const auto line = [](const std::string& table, const std::string& index, const std::string& side,
                       const std::string& rest) {
    return "dma_indirect table=" + table + " index=" + index + " rows_side=" + side + " " + rest;
  };
  const std::string table = "hbm:f32[t3]@0(32:1)";
  const std::string index = "sbuf:i32[0+64]@0";
  const std::string side = "sbuf:f32[0]@64(64:p1,32:1)";
  const std::string rest = "row_stride=32 bound=256 ring=0";
  struct Lines {
    std::string lines;
    const char* expected;
    std::size_t count = 1;
  };
  const std::vector<Lines> all = {
      {line(table, index, side, rest), ""},
      {line(table, "sbuf:i32[0+1]@0(64:1)", side, rest), ""},
      {line(table, index, side, rest + " scatter=true"), ""},
      {line(table, index, side, "row_stride=32 bound=257 ring=0"),
       "table touches bytes 32768 to 32896, tensor \"s\" has 32768"},
      {line(table, index, side, "row_stride=32 bound=0 ring=0"), "bound 0 with row_stride 32"},
      {line(table, index, side, "row_stride=9223372036854775807 bound=256 ring=0"),
       "describes no table"},
      {line("hbm:f32[t3]@-9223372036854775807(32:1)", index, side,
            "row_stride=-32 bound=256 ring=0"),
       "table has offset -9223372036854775807, tensor \"s\" has 32768 bytes", 2},
      {line(table, index, side, "row_stride=-32 bound=2 ring=0"), "table touches bytes -128 to 0"},
      {line(table, "sbuf:i32[0+32]@0", side, rest), "rows_side enumerates 64 rows, index has 32"},
      {line(table, "sbuf:i32[0+32]@0(2:1)", side, rest), "one per partition, or all in one"},
      {line(table, "sbuf:i16[0+64]@0", side, rest), "index is i16, it must be i32"},
      {line(table, index, "sbuf:f32[0]@64(64:p1,31:1)", rest),
       "a row of rows_side has 31 elements, a row of table 32"},
      {line("sbuf:f32[0]@0(32:1)", index, side, rest), "table lies in sbuf, it must lie in hbm"},
      {line(table, index, side, "row_stride=32 bound=256 ring=99"), "ring 99"},
      {line("hbm:bf16[t0]@0(32:1)", index, side, "row_stride=32 bound=256 ring=0 scatter=true"),
       "table writes the input \"x\""},
      {line(table, index, "hbm:f32[t1]@0(64:128,32:1)", rest), ""},
      {line(table, index, "hbm:bf16[t0]@0(64:128,32:1)", rest), "rows_side writes the input \"x\""},
      {line(table, index, "hbm:f32[t1]@4096(64:128,32:1)", rest), "rows_side touches bytes"},
  };
  std::vector<Case> cases;
  for (const auto& [lines, expected, count] : all) {
    cases.push_back({"gpsimd", lines.c_str(), expected, count});
  }
  check_cases(cases);
}

TEST_CASE("the program's tensors fit together and into HBM") {
  const Machine machine = read_machine("toy");
  const auto found = [&machine](const std::string& from, const std::string& to) {
    std::string text = preamble;
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return messages(parse(text.replace(at, from.size(), to), "t.asm"), machine);
  };
  const std::vector<std::array<std::string, 3>> cases = {
      {"(1,0) storage", "(1,1) storage", "tensor \"y\": shape, order and storage do not describe"},
      {"(1,0) storage", "(1,2) storage", "do not describe one array"},
      {"storage (128,64)", "storage (127,64)", "do not describe one array"},
      {"storage (128,64)", "storage (128)", "do not describe one array"},
      {"storage (64,128)", "storage (64,-1)", "out of range"},
      {"storage (64,128)", "storage (64,9223372036854775807)", "out of range"},
      {"storage (64,128)", "storage (640,128000)", "bytes, HBM has 16777216"},
      {"\"y\"", "\"x\"", "two inputs or outputs are named \"x\""},
      {"data 803f803f803f803f", "data 803f", "has 2 bytes of data, its storage takes 8"},
      {"constant", "scratch", "carries data, only constants do"},
  };
  CHECK(found("test", "test").empty());
  for (const auto& [from, to, expected] : cases) {
    const std::vector<std::string> all = found(from, to);
    CAPTURE(to);
    REQUIRE(all.size() == 1);
    CAPTURE(all[0]);
    CHECK(all[0].find(expected) != std::string::npos);
  }
  Program program = parse(preamble, "t.asm");
  program.semaphores = -1;
  CHECK(messages(program, machine).size() == 1);
}

TEST_CASE("a small machine has its own limits") {
  check_cases(
      {
          {"vector", "memset out=sbuf:f32[2+2]@0(4:1) value=0", ""},
          {"vector", "memset out=sbuf:f32[1+2]@0(4:1) value=0", "multiple of 2"},
          {"vector", "memset out=sbuf:f32[2+3]@0(4:1) value=0", "multiple of 4"},
          {"vector", "memset out=sbuf:f32[0+9]@0(4:1) value=0", "the memory has 8"},
          {"vector", "transpose32 in=sbuf:f32[0+2]@0(2:1) out=sbuf:f32[2+2]@0(2:1)", ""},
          {"vector", "transpose32 in=sbuf:f32[0+4]@0(4:1) out=sbuf:f32[0+4]@64(4:1)",
           "a block spans up to 2 partitions"},
          {"tensor",
           "load_stationary stationary=sbuf:f32[0+8]@0(8:1)\n"
           "multiply moving=sbuf:f32[0+8]@0(16:1) out=psum:f32[0+8]@64(16:1)",
           ""},
          {"tensor", "load_stationary stationary=sbuf:f32[0+8]@0(9:1)", "do not fit the array's 8"},
      },
      "toy");
}

TEST_CASE("an invalid program is one error with the first violation and the number of others") {
  const Machine machine = read_machine("trn1");
  CHECK_NOTHROW(expect_valid(parse(preamble, "t.asm"), machine));
  const Program program = parse(preamble + "stream sync\nnop -> m9\nnop -> m8\n", "t.asm");
  CHECK_THROWS_WITH(expect_valid(program, machine),
                    "sync instruction 0 (nop): signals semaphore 9, the program has 4 (and 1 "
                    "more); correct the program; systole compile writes valid ones");
}

TEST_CASE("ranks and sizes that no file can hold are reported all the same") {
  Program program = parse(preamble, "t.asm");
  const auto found = [&program](Engine engine, const Operation& operation) {
    program.streams = {};
    program.streams[static_cast<std::size_t>(engine)] = {
        Instruction{engine, {}, {}, {}, operation}};
    const std::vector<std::string> all = messages(program, read_machine("trn1"));
    return all.size() == 1 ? all[0] : std::string("not one message");
  };
  Memset memset;
  memset.out.rank = 5;
  CHECK(found(Engine::vector, memset).find("out has rank 5, allowed are 0 to 4") !=
        std::string::npos);
  const auto dma = [](const std::string& line) {
    return parse_instruction(line, Engine::sync).operation.get<Dma>();
  };
  Dma transfer = dma("dma source=hbm:bf16[t0]@0 destination=sbuf:bf16[0]@0 ring=0");
  transfer.source.rank = 7;
  CHECK(found(Engine::sync, transfer).find("source has rank 7, allowed are 0 to 6") !=
        std::string::npos);
  CHECK(found(Engine::sync, dma("dma source=hbm:bf16[t0]@0(2000000000:0,2000000000:0) "
                                "destination=sbuf:bf16[0]@0 ring=0"))
            .find("source enumerates more than 1099511627776 elements") != std::string::npos);
}

TEST_CASE("any well-formed program is judged without a fault") {
  testing::RandomValues values(9);
  const Machine machine = read_machine("trn2");
  for (int i = 0; i < 300; ++i) {
    const Program program = values.program();
    for (const Diagnostic& diagnostic : verify(program, machine)) {
      REQUIRE_FALSE(describe(diagnostic, program).empty());
    }
  }
}

}  // namespace
}  // namespace systole::isa
