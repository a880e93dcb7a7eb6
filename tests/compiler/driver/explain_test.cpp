// systole explain and systole diff.
#include <doctest/doctest.h>

#include <string>

#include "tests/compiler/driver/program.hpp"

using systole::tests::expect_mistake;
using systole::tests::Folder;
using systole::tests::has;
using systole::tests::Run;
using systole::tests::run_systole;
using systole::tests::write_text;

namespace {

const char* const recipe = R"(name: pair
description: two products
inputs:
  x: [8, 48]
steps:
  - weights: {w: [48, 32], v: [32, 16]}
  - {op: MatMul, in: [x, w], out: y}
  - {op: Relu, in: y, out: z}
  - {op: MatMul, in: [z, v], out: u}
outputs: [u]
)";

}  // namespace

TEST_CASE("explain tells every operator's layouts, and diff one line per operator that moved") {
  const Folder folder;
  write_text(folder.file("pair.yaml"), recipe);
  const std::string model = "explain " + folder.file("pair.yaml");
  const Run exact = run_systole(model + " --json " + folder.file("exact.json"));
  CHECK(exact.code == 0);
  CHECK(has(exact.out, "(contraction)"));
  CHECK(has(exact.out, "predicted"));
  CHECK(run_systole(model + " --strategy local --json " + folder.file("local.json")).code == 0);
  const Run same =
      run_systole("diff " + folder.file("exact.json") + " " + folder.file("exact.json"));
  CHECK(same.code == 0);
  CHECK(has(same.out, "no operator moved"));
  const Run moved =
      run_systole("diff " + folder.file("local.json") + " " + folder.file("exact.json"));
  CHECK(moved.code == 0);
  CHECK(has(moved.out, "strategy local"));
  CHECK(has(moved.out, "strategy exact"));
  write_text(folder.file("broken.json"), "{\"schema\": \"systole-explain-1\"}\n");
  for (const char* file : {"broken.json", "absent.json"}) {
    expect_mistake(run_systole("diff " + folder.file("exact.json") + " " + folder.file(file)),
                   file);
  }
}
