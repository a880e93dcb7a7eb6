// The result file of a bench: JSON lines, one per configuration and strategy, the same on every run; and beside it
// FILE.times with the wall-clock seconds of the same pairs. A configuration is in the file when its last line is: lines
// are appended one configuration at a time, so that a killed run goes on where it stopped. Lines of a later attempt at
// a configuration replace those of an earlier one.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace systole::driver {

inline constexpr const char* bench_schema = "systole-bench-1";

class Results {
 public:
  // Reads what is there; half a line at the end, as a killed run may leave, is dropped. `key` is what all lines of one
  // run have in common (machine, costs, ...): throws Error if the file holds another one's.
  Results(std::string path, std::string key);

  [[nodiscard]] bool has(const std::string& configuration) const {
    return lines_.count(configuration) > 0;
  }
  // Some line of it tells a failure.
  [[nodiscard]] bool failed(const std::string& configuration) const {
    return failed_.count(configuration) > 0;
  }
  // The lines of a configuration; empty if there is none.
  [[nodiscard]] const std::string& lines(const std::string& configuration) const;

  void add(const std::string& configuration, const std::string& lines, const std::string& times,
           bool failed);
  // Takes over what another result file holds; a failure replaces nothing.
  void merge(const std::string& path);
  // Rewrites both files in the order of these configurations.
  void sort(const std::vector<std::string>& configurations) const;

 private:
  void read(const std::string& path);
  void keep(const std::string& configuration, const std::string& lines, const std::string& times,
            bool failed);

  std::string path_, key_;
  std::map<std::string, std::string> lines_, times_;
  std::set<std::string> failed_;
};

}  // namespace systole::driver
