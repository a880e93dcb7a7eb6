// Runs the built `systole` as a user would and keeps what it says.
#pragma once

#include <filesystem>
#include <string>

namespace systole::tests {

struct Run {
  int code = -1;
  std::string out;
  std::string err;
};
Run run_systole(const std::string& arguments);

[[nodiscard]] bool has(const std::string& text, const std::string& part);
// Exit code 2, nothing on the output stream, one line on the error stream that holds `part`.
void expect_mistake(const Run& run, const std::string& part);

// A fresh folder, removed with everything in it at the end of the test.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }
  [[nodiscard]] std::size_t files() const;

 private:
  std::filesystem::path path_;
};

void write_text(const std::string& path, const std::string& text);
std::string read_text(const std::string& path);

// The shared data beside the source tree or at SYSTOLE_SHARED; empty (with a loud message) when absent.
std::string shared_file(const std::string& name);

}  // namespace systole::tests
