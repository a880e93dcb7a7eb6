// systole validate: the published hardware points; exit code 1 if one is outside its tolerance.
#include <algorithm>
#include <cstdio>

#include "compiler/driver/commands.hpp"
#include "isa/base/error.hpp"
#include "sim/validate/validate.hpp"

namespace systole::driver {

int validate(const std::string& only) {
  const std::vector<sim::ValidationRow> rows = sim::validate(only);
  if (rows.empty()) {
    throw Error("--only " + only, "no published point begins so", "systole validate lists all of them");
  }
  std::fputs(sim::print_validation(rows).c_str(), stdout);
  return std::all_of(rows.begin(), rows.end(), [](const sim::ValidationRow& row) { return row.passed; }) ? 0 : 1;
}

}  // namespace systole::driver
