#include "compiler/driver/options.hpp"

#include "isa/base/error.hpp"

namespace systole::driver {

std::vector<std::string> files_read(const ModelOptions& model, const TargetOptions& target) {
  std::vector<std::string> files = {model.model, target.machine, target.costs};
  for (const auto& [name, file] : pairs("--input", model.inputs)) {
    files.push_back(file);
  }
  return files;
}

std::map<std::string, std::string> pairs(const std::string& option,
                                         const std::vector<std::string>& words) {
  std::map<std::string, std::string> out;
  for (const std::string& word : words) {
    // The last '=': names of tensors and extents may hold one, values here never do.
    const std::size_t equals = word.rfind('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == word.size()) {
      throw Error(option + " " + word, "is not of the form NAME=VALUE",
                  "write " + option + " NAME=VALUE");
    }
    const std::string name = word.substr(0, equals);
    if (!out.emplace(name, word.substr(equals + 1)).second) {
      throw Error(option + " " + word, "names '" + name + "' twice", "give it once");
    }
  }
  return out;
}

}  // namespace systole::driver
