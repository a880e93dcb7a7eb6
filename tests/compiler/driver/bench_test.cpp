// systole bench: the result file is the same however it came about, and mistakes are one line.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/compiler/driver/program.hpp"

using systole::tests::expect_mistake;
using systole::tests::Folder;
using systole::tests::has;
using systole::tests::read_text;
using systole::tests::Run;
using systole::tests::run_systole;
using systole::tests::write_text;

namespace {

const char* const recipe = R"(name: chain
description: products one after the other
parameters: {layers: 2, width: 16}
inputs:
  first: [8, width]
steps:
  - {op: Neg, in: first, out: x}
  - repeat: layers
    steps:
      - weights: {w: [width, width]}
      - {op: MatMul, in: [x, w], out: y}
      - {op: Relu, in: y, out: x}
outputs: [x]
)";

// Four configurations of the recipe above.
std::string suite_of(const Folder& folder, const std::string& model) {
  write_text(folder.file("chain.yaml"), recipe);
  return "name: chains\nconfigurations:\n  - name: chain_{layers}_{width}\n    family: chain\n    "
         "half: judging\n    model: " +
         model + "\n    parameters: {layers: [1, 2], width: [16, 129]}\n";
}

std::string quick(const std::string& suite) {
  return "bench " + suite + " --strategies local,greedy,exact";
}

}  // namespace

TEST_CASE(
    "bench writes one line per configuration and strategy, values checked, and the same file for "
    "any number of processes") {
  const Folder folder;
  const std::string suite = folder.file("suite.yaml");
  write_text(suite, suite_of(folder, folder.file("chain.yaml")));
  const Run one = run_systole(quick(suite) + " --jobs 1 --output " + folder.file("one.jsonl"));
  CHECK(one.code == 0);
  const Run two = run_systole(quick(suite) + " --jobs 3 --output " + folder.file("two.jsonl"));
  CHECK(one.out == two.out);
  CHECK(has(one.out, "chain_2_129"));
  const std::string lines = read_text(folder.file("one.jsonl"));
  CHECK(lines == read_text(folder.file("two.jsonl")));
  CHECK(std::count(lines.begin(), lines.end(), '\n') == 12);
  CHECK(has(lines, "\"values\":\"checked\""));
  CHECK_FALSE(has(lines, "\"value_error\":null"));
}

TEST_CASE("a bench that was killed goes on where it stopped and ends with the same file") {
  const Folder folder;
  const std::string suite = folder.file("suite.yaml");
  write_text(suite, suite_of(folder, folder.file("chain.yaml")));
  const std::string output = folder.file("out.jsonl");
  run_systole(quick(suite) + " --output " + output);
  const std::string whole = read_text(output);
  const std::string times = read_text(output + ".times");
  // One configuration and a half of the lines, and half a line: what a kill in the middle of a write leaves.
  std::size_t cut = 0;
  for (int i = 0; i < 4; ++i) {
    cut = whole.find('\n', cut) + 1;
  }
  write_text(output, whole.substr(0, cut + 40));
  write_text(output + ".times", times);
  CHECK(run_systole(quick(suite) + " --output " + output).code == 0);
  CHECK(read_text(output) == whole);
}

TEST_CASE("shards of a bench merge to the file of the whole") {
  const Folder folder;
  const std::string suite = folder.file("suite.yaml");
  write_text(suite, suite_of(folder, folder.file("chain.yaml")));
  run_systole(quick(suite) + " --output " + folder.file("whole.jsonl"));
  run_systole(quick(suite) + " --shard 1/2 --output " + folder.file("a.jsonl"));
  run_systole(quick(suite) + " --shard 2/2 --output " + folder.file("b.jsonl"));
  const std::string merge =
      quick(suite) + " --merge " + folder.file("b.jsonl") + " --merge " + folder.file("a.jsonl");
  CHECK(run_systole(merge + " --output " + folder.file("merged.jsonl")).code == 0);
  CHECK(read_text(folder.file("merged.jsonl")) == read_text(folder.file("whole.jsonl")));
  CHECK(read_text(folder.file("a.jsonl")) != read_text(folder.file("b.jsonl")));
}

TEST_CASE("a configuration that fails is told, kept apart, and does not stop the others") {
  const Folder folder;
  const std::string suite = folder.file("suite.yaml");
  write_text(suite, suite_of(folder, folder.file("chain.yaml")) +
                        "  - {name: lost, family: lost, half: judging, model: " +
                        folder.file("nothing.yaml") + "}\n");
  const Run run = run_systole(quick(suite) + " --output " + folder.file("out.jsonl"));
  CHECK(run.code == 1);
  CHECK(has(run.err, "lost: "));
  CHECK(has(run.out, "lost failed: "));
  CHECK(has(run.out, "chain_1_16"));
}

TEST_CASE(
    "a configuration that failed is tried again, and leaves what it had left the first time") {
  const Folder folder;
  const std::string suite = folder.file("suite.yaml");
  const std::string late = folder.file("late.yaml");
  write_text(suite, suite_of(folder, folder.file("chain.yaml")) +
                        "  - {name: late, family: chain, half: judging, model: " + late + "}\n");
  const std::string output = folder.file("out.jsonl");
  CHECK(run_systole(quick(suite) + " --output " + output).code == 1);
  CHECK(has(read_text(output), "\"failure\":"));
  CHECK(run_systole(quick(suite) + " --output " + output).code == 1);
  write_text(late, recipe);
  // The file ends in the middle of the second attempt, as a kill may leave it.
  const std::string before = read_text(output);
  CHECK(run_systole(quick(suite) + " --output " + output).code == 0);
  const std::string after = read_text(output);
  CHECK_FALSE(has(after, "\"failure\":"));
  const std::size_t first = after.find("\"configuration\":\"late\"");
  write_text(output, before + after.substr(after.rfind('\n', first) + 1, 40));
  CHECK(run_systole(quick(suite) + " --output " + output).code == 0);
  CHECK(read_text(output) == after);
  // Whole attempts one after the other: the last counts.
  write_text(output, before + after.substr(after.rfind('\n', first) + 1));
  CHECK(run_systole(quick(suite) + " --output " + output).code == 0);
  CHECK(read_text(output) == after);
  run_systole(quick(suite) + " --output " + folder.file("fresh.jsonl"));
  CHECK(read_text(folder.file("fresh.jsonl")) == after);
}

TEST_CASE("a bench leaves one timeline per configuration, and the same results as without") {
  const Folder folder;
  const std::string suite = folder.file("suite.yaml");
  write_text(suite, suite_of(folder, folder.file("chain.yaml")));
  const Run with = run_systole(quick(suite) + " --output " + folder.file("with.jsonl") +
                               " --traces " + folder.file("traces"));
  CHECK(with.code == 0);
  CHECK(run_systole(quick(suite) + " --output " + folder.file("without.jsonl")).code == 0);
  CHECK(read_text(folder.file("with.jsonl")) == read_text(folder.file("without.jsonl")));
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.file("traces"))) {
    names.push_back(entry.path().filename().string());
    CHECK(has(read_text(entry.path().string()), "\"traceEvents\""));
  }
  std::sort(names.begin(), names.end());
  REQUIRE(names.size() == 4);
  CHECK(names.front().rfind("chain_1_129.", 0) == 0);
  CHECK(names.back().rfind("chain_2_16.", 0) == 0);
}

TEST_CASE("a bench that only predicts neither compiles nor measures") {
  const Folder folder;
  const std::string suite = folder.file("suite.yaml");
  write_text(suite, suite_of(folder, folder.file("chain.yaml")));
  CHECK(run_systole(quick(suite) + " --predict-only --output " + folder.file("out.jsonl")).code ==
        0);
  const std::string lines = read_text(folder.file("out.jsonl"));
  CHECK(has(lines, "\"predicted\":"));
  CHECK_FALSE(has(lines, "\"measured\":"));
}

TEST_CASE("mistakes in a suite or a bench's options are one line that names the place") {
  const Folder folder;
  const std::string suite = folder.file("suite.yaml");
  const auto refused = [&](const std::string& text, const std::string& part) {
    write_text(suite, text);
    expect_mistake(run_systole("bench " + suite + " --output " + folder.file("out.jsonl")), part);
  };
  refused("name: s\n", "'configurations' is missing");
  refused("name: s\nconfigurations: []\n", "at least one");
  refused("name: s\nconfigurations:\n  - {name: a, family: f, half: other, model: bert}\n",
          "suite.yaml:3");
  refused(
      "name: s\nconfigurations:\n  - {name: a, family: f, half: judging, model: bert, layers: 2}\n",
      "'layers'");
  refused(
      "name: s\nconfigurations:\n  - {name: a, family: f, half: judging, model: bert, parameters: "
      "{n: [1, 2]}}\n",
      "two configurations");
  refused(
      "name: s\nconfigurations:\n  - {name: \"a{m}\", family: f, half: judging, model: bert, "
      "parameters: {n: 1}}\n",
      "{m}");
  refused(
      "name: s\nconfigurations:\n  - {name: a, family: f, half: judging, model: bert, parameters: "
      "{n: x}}\n",
      "whole number");
  expect_mistake(run_systole("bench no_such_suite"), "no_such_suite");

  write_text(suite, suite_of(folder, folder.file("chain.yaml")));
  expect_mistake(run_systole("bench " + suite + " --shard 3/2"), "--shard 3/2");
  expect_mistake(run_systole("bench " + suite + " --filter nothing_is_named_so"),
                 "matches no configuration");
  expect_mistake(run_systole("bench " + suite + " --machine trn9"), "trn9");
  write_text(folder.file("other.jsonl"), "{\"schema\": \"something\"}\n");
  expect_mistake(run_systole("bench " + suite + " --output " + folder.file("other.jsonl")),
                 "other.jsonl:1");
  run_systole(quick(suite) + " --output " + folder.file("mine.jsonl"));
  expect_mistake(
      run_systole("bench " + suite + " --strategies local --output " + folder.file("mine.jsonl")),
      "another run");
}
