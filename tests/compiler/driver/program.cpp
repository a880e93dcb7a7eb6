#include "tests/compiler/driver/program.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace systole::tests {

namespace fs = std::filesystem;

Folder::Folder() {
  std::string name = (fs::temp_directory_path() / "systole-test-").string();
  name.append(6, 'X');  // mkdtemp puts other letters there
  REQUIRE(mkdtemp(name.data()) != nullptr);
  path_ = name;
}

Folder::~Folder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::size_t Folder::files() const {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

Run run_systole(const std::string& arguments) {
  const Folder folder;
  const std::string command = std::string(SYSTOLE_PROGRAM) + " " + arguments + " >" +
                              folder.file("out") + " 2>" + folder.file("err") + " </dev/null";
  const int status = std::system(command.c_str());
  Run run;
  run.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  run.out = read_text(folder.file("out"));
  run.err = read_text(folder.file("err"));
  return run;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void expect_mistake(const Run& run, const std::string& part) {
  CAPTURE(run.err);
  CHECK(run.code == 2);
  CHECK(run.out.empty());
  CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
  CHECK(has(run.err, "systole: "));
  CHECK(has(run.err, part));
}

std::string shared_file(const std::string& name) {
  const char* environment = std::getenv("SYSTOLE_SHARED");
  const fs::path root =
      environment != nullptr ? fs::path(environment) : fs::path(SYSTOLE_SOURCE_DIR) / "../shared";
  if (!fs::exists(root / name)) {
    std::printf("SKIPPED: %s is not there (set SYSTOLE_SHARED)\n", (root / name).c_str());
    return {};
  }
  return (root / name).string();
}

}  // namespace systole::tests
