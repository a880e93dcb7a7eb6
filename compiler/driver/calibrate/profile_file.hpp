// Measurements on disk, so that a calibration that was stopped goes on and one that is repeated measures nothing.
//
// JSON lines: first the key of all that decides the measurements, then the lines of each configuration and a line that
// ends it. A file with another key holds other measurements: it is begun anew.
#pragma once

#include <map>
#include <string>

namespace systole::driver {

class ProfileFile {
 public:
  // Throws Error for a file that is no profile.
  ProfileFile(std::string path, const std::string& key);

  [[nodiscard]] bool has(const std::string& configuration) const {
    return lines_.count(configuration) > 0;
  }
  [[nodiscard]] const std::string& lines(const std::string& configuration) const {
    return lines_.at(configuration);
  }
  void add(const std::string& configuration, const std::string& lines);

 private:
  std::string path_;
  std::map<std::string, std::string> lines_;
};

}  // namespace systole::driver
