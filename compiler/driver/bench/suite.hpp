// A suite: the list of configurations that `systole bench` runs. Format in models/README.md.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/driver/options.hpp"

namespace systole::driver {

struct Configuration {
  std::string name;  // unique in the suite
  std::string family;
  std::string half;   // "calibration" or "judging": cost models are fitted to the one only
  std::string model;  // as on the command line
  std::map<std::string, std::int64_t> dims;
};

// Its model as on the command line; weights absent, inputs seeded by the default seed.
[[nodiscard]] ModelOptions model_options(const Configuration& configuration);

struct Suite {
  std::string name;
  std::vector<Configuration> configurations;
};

// NAME is looked up as models/suites/NAME.yaml; anything with a slash or ending in .yaml is a file. Throws Error naming
// file, line and key.
[[nodiscard]] Suite read_suite(const std::string& name_or_file);

}  // namespace systole::driver
