// systole validate: the published hardware points; exit code 1 if one is outside its tolerance.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "compiler/driver/commands.hpp"
#include "compiler/driver/output_file.hpp"
#include "isa/base/error.hpp"
#include "sim/validate/validate.hpp"

namespace systole::driver {

namespace {

std::string json_lines(const std::vector<sim::ValidationRow>& rows) {
  std::string text;
  for (const sim::ValidationRow& row : rows) {
    nlohmann::ordered_json line;
    line["schema"] = "systole-validate-1";
    line["id"] = row.id;
    line["machine"] = row.machine;
    line["what"] = row.what;
    line["tier"] = row.tier;
    line["unit"] = row.unit;
    line["published"] = row.published;
    line["measured"] = row.measured;
    line["error"] = row.error;
    line["tolerance"] = row.tolerance;
    line["passed"] = row.passed;
    line["baseline_multiplies"] = row.baseline_multiplies;
    line["baseline_bytes"] = row.baseline_bytes;
    text += line.dump() + "\n";
  }
  return text;
}

}  // namespace

int validate(const std::string& only, const std::string& json) {
  expect_outputs({json});
  const std::vector<sim::ValidationRow> rows = sim::validate(only);
  if (rows.empty()) {
    throw Error("--only " + only, "no published point begins so",
                "systole validate lists all of them");
  }
  std::fputs(sim::print_validation(rows).c_str(), stdout);
  if (!json.empty()) {
    write_file(json, json_lines(rows));
  }
  return std::all_of(rows.begin(), rows.end(),
                     [](const sim::ValidationRow& row) { return row.passed; })
             ? 0
             : 1;
}

}  // namespace systole::driver
