// The published measurements of the real machines against this one: a program per point, run without values.
//
// Which knobs of the timing files were fitted to which points stands in configs/*.yaml; where a published kernel leaves
// something open (the number of rings, the amount of buffering), sim/README.md says what was chosen.
#pragma once

#include <string>
#include <vector>

namespace systole::sim {

struct ValidationRow {
  std::string id;
  std::string machine;
  std::string what;
  std::string unit;
  int tier = 1;
  double published = 0;
  double measured = 0;
  double error = 0;      // (measured - published) / published
  double tolerance = 0;  // of the error
  bool passed = false;
  // What the simplest models say, in the same unit; 0 where they say nothing.
  double baseline_multiplies = 0;  // multiply-accumulates over the array's peak
  double baseline_bytes = 0;       // HBM bytes over the HBM's bandwidth
  std::string baseline;            // in words, with the better of the two
};

// All points, or those whose id begins with `only`. Reads the machines trn1 and trn2.
[[nodiscard]] std::vector<ValidationRow> validate(const std::string& only = {});

[[nodiscard]] std::string print_validation(const std::vector<ValidationRow>& rows);

}  // namespace systole::sim
