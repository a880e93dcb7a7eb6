// The command line as outside checks rely on it: forms, exit codes, one line per mistake, nothing half-written.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "compiler/frontend/npy.hpp"
#include "tests/compiler/driver/program.hpp"

using systole::tests::expect_mistake;
using systole::tests::Folder;
using systole::tests::has;
using systole::tests::read_text;
using systole::tests::Run;
using systole::tests::run_systole;
using systole::tests::shared_file;
using systole::tests::write_text;

namespace {

const char* const tiny = R"(name: tiny
description: one matrix product
inputs:
  x: [5, 7]
steps:
  - weights: {w: [7, 3]}
  - {op: MatMul, in: [x, w], out: y}
outputs: [y]
)";

// The text of a shipped machine file with one value changed.
std::string machine_with(const std::string& machine, const std::string& key,
                         const std::string& value) {
  std::string text = read_text(std::string(SYSTOLE_SOURCE_DIR) + "/configs/" + machine + ".yaml");
  const std::size_t at = text.find(key + ":");
  REQUIRE(at != std::string::npos);
  text.replace(at, text.find('\n', at) - at, key + ": " + value);
  return text;
}

}  // namespace

TEST_CASE("compare runs the embedded default and prints one row per strategy with checked values") {
  const Run run = run_systole("compare --strategies local,greedy,exact");
  CHECK(run.code == 0);
  for (const char* part : {"strategy", "predicted", "measured", "ratio", "conversions", "HBM bytes",
                           "value error", "\nlocal ", "\ngreedy ", "\nexact ", "proven"}) {
    CAPTURE(part);
    CHECK(has(run.out, part));
  }
  CHECK(
      has(run.err, "solve"));  // wall-clock times stand apart: the report is the same on every run
}

TEST_CASE("the same command gives the same bytes, whatever the number of threads") {
  const Folder folder;
  const auto compare = [&](const std::string& threads, const std::string& json) {
    return run_systole("compare --strategies local,exact --threads " + threads + " --json " +
                       folder.file(json))
        .out;
  };
  const std::string first = compare("1", "1.json");
  CHECK(first == compare("1", "again.json"));
  CHECK(first == compare("2", "2.json"));
  CHECK(read_text(folder.file("1.json")) == read_text(folder.file("2.json")));
  CHECK(run_systole("compile -o " + folder.file("1.bin") + " --threads 1").code == 0);
  CHECK(run_systole("compile -o " + folder.file("2.bin") + " --threads 2").code == 0);
  const std::string program = read_text(folder.file("1.bin"));
  CHECK(program.size() > 1000);
  CHECK(program == read_text(folder.file("2.bin")));
}

TEST_CASE("a compiled program runs as the model does, from the binary and from the assembly") {
  const Folder folder;
  const std::string model = folder.file("tiny.yaml");
  write_text(model, tiny);
  CHECK(
      run_systole("compile " + model + " --weights random:7 -o " + folder.file("tiny.bin")).code ==
      0);
  CHECK(
      run_systole("compile " + model + " --weights random:7 -o " + folder.file("tiny.asm")).code ==
      0);
  CHECK(run_systole("run " + model + " --weights random:7 --output " + folder.file("model")).code ==
        0);
  for (const char* form : {"bin", "asm"}) {
    CAPTURE(form);
    const Run run = run_systole("run " + folder.file(std::string("tiny.") + form) + " --output " +
                                folder.file(form));
    CAPTURE(run.err);
    CHECK(run.code == 0);
    CHECK(read_text(folder.file("model/y.npy")) ==
          read_text(folder.file(std::string(form) + "/y.npy")));
  }
  CHECK(read_text(folder.file("model/y.npy")).size() > 100);
}

TEST_CASE("a program file is known by how it begins, and names its own types") {
  const Folder folder;
  const std::string model = folder.file("tiny.yaml");
  write_text(model, tiny);
  CHECK(run_systole("compile " + model + " --weights random:7 --dtype fp32 -o " +
                    folder.file("t.asm"))
            .code == 0);
  write_text(folder.file("t.txt"), "; a note\n\n" + read_text(folder.file("t.asm")));
  const Run run = run_systole("run " + folder.file("t.txt"));
  CAPTURE(run.err);
  CHECK(run.code == 0);
  CHECK(has(run.out, "strategy program file  dtype f32 "));
}

TEST_CASE("two outputs into one file are refused before anything runs") {
  const Folder folder;
  const std::string model = folder.file("tiny.yaml");
  write_text(model, tiny);
  expect_mistake(run_systole("run " + model + " --weights random:7 --report " + folder.file("f") +
                             " --trace " + folder.file("./f")),
                 "two outputs");
  const std::string problem = folder.file("tiny.ls");
  CHECK(run_systole("compile " + model + " --weights random:7 --emit problem -o " + problem).code ==
        0);
  for (const char* option : {" --result ", " --json "}) {
    expect_mistake(run_systole("solve " + problem + option + problem), "would be overwritten");
  }
  expect_mistake(run_systole("solve " + problem + " --result " + folder.file("f") + " --json " +
                             folder.file("f")),
                 "two outputs");
  expect_mistake(run_systole("calibrate --machine toy --output " + folder.file("f") +
                             " --profile " + folder.file("f")),
                 "two outputs");
  CHECK(!std::filesystem::exists(folder.file("f")));
}

TEST_CASE("the parts of a report in whole cycles add up to the total") {
  const Folder folder;
  CHECK(run_systole("run --timing-only --report " + folder.file("r")).code == 0);
  const std::string text = read_text(folder.file("r"));
  const auto number = [&](std::size_t at) {
    return std::stoll(text.substr(text.find(": ", at) + 2));
  };
  const long long cycles = number(text.find("\ncycles"));
  long long shares = number(text.find("\nunattributed"));
  for (std::size_t at = text.find(", attributed: "); at < text.find("\nunattributed");
       at = text.find(", attributed: ", at + 1)) {
    shares += number(at);
  }
  CHECK(shares == cycles);
  CHECK(has(text, "machine_fingerprint: "));
}

TEST_CASE("validate writes its table as JSON lines; machines shows the fingerprint of programs") {
  const Folder folder;
  CHECK(run_systole("validate --only I --json " + folder.file("v")).code == 0);
  const std::string lines = read_text(folder.file("v"));
  CHECK(std::count(lines.begin(), lines.end(), '\n') == 5);
  CHECK(has(lines, R"("id":"I1","machine":"trn1")"));
  CHECK(run_systole("compile --emit asm -o " + folder.file("p.asm")).code == 0);
  const std::string program = read_text(folder.file("p.asm"));
  const std::size_t at = program.find("machine \"trn1\" ") + 15;
  CHECK(has(run_systole("machines").out, program.substr(at, 16)));
}

TEST_CASE("expected values that differ give exit code 1 and say where") {
  const Folder folder;
  const std::string model = folder.file("tiny.yaml");
  write_text(model, tiny);
  CHECK(
      run_systole("run " + model + " --weights random:7 --dtype fp32 --output " + folder.file("o"))
          .code == 0);
  const std::string expect = " --dtype fp32 --expect y=" + folder.file("o/y.npy");
  CHECK(run_systole("run " + model + " --weights random:7" + expect).code == 0);
  const Run other = run_systole("run " + model + " --weights random:8" + expect);
  CHECK(other.code == 1);
  CHECK(has(other.out, "DIFFERS"));
  CHECK(has(other.out, "element"));
}

TEST_CASE("every kind of mistake is one line naming the place and the remedy, with exit code 2") {
  const Folder folder;
  expect_mistake(run_systole("compare /no/such/model.onnx"), "/no/such/model.onnx");
  expect_mistake(run_systole("compare --strategies greedy,nonsense"), "nonsense");
  expect_mistake(run_systole("compare --machine nonsense"), "nonsense");
  expect_mistake(run_systole("compare --dtype fp64"), "fp64");
  expect_mistake(run_systole("compare --weights some"), "random:SEED");
  expect_mistake(run_systole("compare --dim tokens"), "NAME=VALUE");
  expect_mistake(run_systole("compile --dump-after nonsense"), "schedule");
  expect_mistake(run_systole("compile --emit bin"), "-o");
  expect_mistake(run_systole("run --expect nothing=x.npy"), "nothing");
  expect_mistake(run_systole("run --input nothing=" + folder.file("absent.npy")), "absent.npy");
  expect_mistake(run_systole("nonsense"), "'nonsense': is no subcommand");
  expect_mistake(run_systole("run --seed -1"), "--seed");
  expect_mistake(run_systole("run --weights random:-1"), "negative");
  expect_mistake(run_systole("inspect --machine nonsense"), "nonsense");
  expect_mistake(run_systole("compile --dump-after apply --emit bin -o " + folder.file("x.bin")),
                 "--dump-after and --emit");
  expect_mistake(run_systole("run --output /proc/nope"), "/proc/nope: cannot be made a folder");
  expect_mistake(run_systole("solve " + folder.file("absent.ls")), "absent.ls");
  CHECK(folder.files() == 0);
}

TEST_CASE("tolerances that accept everything, and comparisons without values, are refused") {
  expect_mistake(run_systole("run --rtol nan"), "--rtol");
  expect_mistake(run_systole("run --atol inf"), "--rtol");
  expect_mistake(run_systole("run --rtol -1"), "--rtol");
  expect_mistake(run_systole("run --timing-only --expect result=x.npy"), "--timing-only");
}

TEST_CASE(
    "boundary names that are not distinct and models larger than HBM are mistakes, not aborts") {
  const Folder folder;
  std::string text = tiny;
  text.replace(text.find("outputs: [y]"), 12, "outputs: [y, y]");
  write_text(folder.file("twice.yaml"), text);
  expect_mistake(run_systole("run " + folder.file("twice.yaml") + " --weights random:1"),
                 "named 'y'");
  write_text(folder.file("small.yaml"), machine_with("toy", "hbm_bytes", "64"));
  write_text(folder.file("tiny.yaml"), tiny);
  expect_mistake(run_systole("compile " + folder.file("tiny.yaml") +
                             " --weights random:1 --machine " + folder.file("small.yaml")),
                 "HBM");
}

TEST_CASE("a machine under a name of its own takes the prices of its generation") {
  const Folder folder;
  write_text(folder.file("mine.yaml"), machine_with("trn2", "name", "mine"));
  const Run run = run_systole("compare --strategies greedy --machine " + folder.file("mine.yaml"));
  CHECK(run.code == 0);
  CHECK(run.out.find("machine mine  costs trn2.analytic") != std::string::npos);
}

TEST_CASE("an array that leaves partitions out is refused by the compiler") {
  const Folder folder;
  write_text(folder.file("narrow.yaml"), machine_with("toy", "array_rows", "4"));
  write_text(folder.file("tiny.yaml"), tiny);
  expect_mistake(run_systole("compile " + folder.file("tiny.yaml") +
                             " --weights random:1 --machine " + folder.file("narrow.yaml")),
                 "array_rows");
}

TEST_CASE("a misspelt key of a machine file is named with its line and the nearest known key") {
  const Folder folder;
  std::string text = read_text(std::string(SYSTOLE_SOURCE_DIR) + "/configs/trn1.yaml");
  const std::size_t at = text.find("psum_banks:");
  REQUIRE(at != std::string::npos);
  text.replace(at, 11, "psum_bankz:");
  write_text(folder.file("mine.yaml"), text);
  const Run run = run_systole("compare --machine " + folder.file("mine.yaml"));
  expect_mistake(run, "psum_bankz");
  CHECK(has(run.err, "psum_banks"));
  CHECK(has(
      run.err,
      "mine.yaml:" +
          std::to_string(
              1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'))));
}

TEST_CASE("a mistake leaves no output file behind") {
  const Folder folder;
  write_text(folder.file("cut.onnx"), "\x08\x07\x12 not a model");
  expect_mistake(
      run_systole("compile " + folder.file("cut.onnx") + " -o " + folder.file("out.bin")),
      "cut.onnx");
  CHECK(folder.files() == 1);
  expect_mistake(run_systole("compile -o " + folder.file("no/such/folder/out.bin")), "folder");
  expect_mistake(run_systole("compile -o /dev/null"), "regular file");
}

TEST_CASE("double values that the machine's floats cannot hold are refused") {
  const Folder folder;
  write_text(folder.file("tiny.yaml"), tiny);
  systole::graph::Array array =
      systole::graph::make_array(systole::graph::ElementType::f64, {5, 7});
  const std::string run =
      "run " + folder.file("tiny.yaml") + " --weights random:1 --input x=" + folder.file("x.npy");
  systole::graph::set(array, 3, 1e38);
  systole::frontend::write_npy(folder.file("x.npy"), array);
  CHECK(run_systole(run).code == 0);
  systole::graph::set(array, 3, 1e200);
  systole::frontend::write_npy(folder.file("x.npy"), array);
  expect_mistake(run_systole(run), "beyond the machine's 32-bit floats");
}

TEST_CASE("a file that the command reads is never overwritten") {
  const Folder folder;
  const std::string model = folder.file("tiny.yaml");
  write_text(model, tiny);
  const std::string weights = model + " --weights random:1";
  expect_mistake(run_systole("compile " + weights + " -o " + folder.file("./tiny.yaml")),
                 "would be overwritten");
  expect_mistake(run_systole("inspect " + weights + " --dot " + model), "would be overwritten");
  for (const char* command : {"compare ", "explain "}) {
    expect_mistake(run_systole(command + weights + " --json " + model), "would be overwritten");
  }
  for (const char* option : {" --json ", " --trace ", " --report "}) {
    expect_mistake(run_systole("run " + weights + option + model), "would be overwritten");
  }
  CHECK(read_text(model) == tiny);
  CHECK(run_systole("run " + weights + " --output " + folder.file("out")).code == 0);
  expect_mistake(run_systole("run " + weights + " --expect y=" + folder.file("out/y.npy") +
                             " --output " + folder.file("out")),
                 "would be overwritten");
}

TEST_CASE(
    "inspect shows unsupported operators all at once, counts, and the graph with its layouts") {
  const Folder folder;
  write_text(folder.file("tiny.yaml"), tiny);
  const Run run =
      run_systole("inspect " + folder.file("tiny.yaml") + " --dot " + folder.file("t.dot"));
  CHECK(run.code == 0);
  for (const char* part : {"contraction", "parameters 21 (without data)", "FLOPs 210"}) {
    CAPTURE(part);
    CHECK(has(run.out, part));
  }
  const std::string dot = read_text(folder.file("t.dot"));
  CHECK(has(dot, "digraph"));
  const Run emitted = run_systole("compile " + folder.file("tiny.yaml") + " --emit dot");
  CHECK(emitted.out == dot);
  const std::string laid =
      run_systole("compile " + folder.file("tiny.yaml") + " --dump-after apply").out;
  const std::size_t at = laid.find('#');  // the layout of the first tensor stands behind its line
  REQUIRE(at != std::string::npos);
  CHECK(has(dot, laid.substr(at + 2, laid.find('\n', at) - at - 2)));
}

TEST_CASE("a missing symbolic extent is named together with the option that sets it") {
  const std::string model = shared_file("onnx/vespa_bert.onnx");
  if (model.empty()) {
    return;
  }
  expect_mistake(run_systole("compare " + model + " --dim batch=1"), "--dim");
  CHECK(run_systole("inspect " + model + " --dim batch=1 --dim tokens=16").code == 0);
}

TEST_CASE("solve prints cost, bound, status and seconds, and exit code 3 without an answer") {
  const Folder folder;
  write_text(folder.file("p.ls"), "ls 1\n1 1\nt 2 0 5 5 0\no 0 0 2\n0 7\n1 4\n");
  const Run run = run_systole("solve " + folder.file("p.ls"));
  CHECK(run.code == 0);
  for (const char* part : {"cost 4\n", "bound 4\n", "status proven\n", "seconds "}) {
    CHECK(has(run.out, part));
  }
  CHECK(run_systole("solve " + folder.file("p.ls") + " --strategy treewidth --memory 1").code == 3);
}

TEST_CASE("solve writes a problem in another form, and refuses a form it does not know") {
  const Folder folder;
  write_text(folder.file("p.ls"), "ls 1\n1 1\nt 2 0 5 5 0\no 0 0 2\n0 7\n1 4\n");
  CHECK(run_systole("solve " + folder.file("p.ls") + " --export ls " + folder.file("again.ls"))
            .code == 0);
  CHECK(has(run_systole("solve " + folder.file("again.ls")).out, "cost 4\n"));
  CHECK(run_systole("solve " + folder.file("p.ls") + " --export wcnf " + folder.file("p.wcnf"))
            .code == 0);
  CHECK(has(read_text(folder.file("p.wcnf")), "h "));
  expect_mistake(
      run_systole("solve " + folder.file("p.ls") + " --export nonsense " + folder.file("x")),
      "nonsense");
}

TEST_CASE("every subcommand has help with an example") {
  for (const char* name : {"compare", "compile", "run", "solve", "inspect", "validate"}) {
    CAPTURE(name);
    const Run run = run_systole(std::string(name) + " --help");
    CHECK(run.code == 0);
    CHECK(has(run.out, std::string("Example: systole ") + name));
  }
  for (const char* name : {"models", "machines", "strategies"}) {
    CHECK(run_systole(name).code == 0);
  }
}
