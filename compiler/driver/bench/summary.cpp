#include "compiler/driver/bench/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "compiler/driver/table.hpp"

namespace systole::driver {
namespace {

struct Row {
  std::string name, size, width;
  std::vector<std::string> failures;
  std::vector<std::pair<std::string, std::optional<double>>> cycles;  // by strategy
  [[nodiscard]] double best() const {
    double least = 0;
    for (const auto& [strategy, value] : cycles) {
      if (value && (least == 0 || *value < least)) {
        least = *value;
      }
    }
    return least;
  }
};

Row row_of(const std::string& name, const std::string& lines) {
  Row row;
  row.name = name;
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) {
    const auto record = nlohmann::json::parse(line);
    if (record.contains("failure")) {
      row.failures.push_back(
          record.contains("strategy")
              ? fmt::format("{} by {} failed: {}", name, record["strategy"].get<std::string>(),
                            record["failure"].get<std::string>())
              : fmt::format("{} failed: {}", name, record["failure"].get<std::string>()));
    }
    if (!record.contains("strategy")) {
      continue;
    }
    row.size = grouped(record["operators"]);
    const auto& width = record["treewidth"];
    row.width = width[0] == width[1] ? width[0].dump() : width[0].dump() + "-" + width[1].dump();
    const char* member = record.contains("measured") ? "measured" : "predicted";
    row.cycles.emplace_back(record["strategy"], record.contains(member)
                                                    ? std::optional<double>(record[member])
                                                    : std::nullopt);
  }
  return row;
}

}  // namespace

std::string summary_text(const std::string& run, const std::vector<Configuration>& configurations,
                         const Results& results) {
  std::vector<Row> rows;
  for (const Configuration& configuration : configurations) {
    if (results.has(configuration.name)) {
      rows.push_back(row_of(configuration.name, results.lines(configuration.name)));
    }
  }
  const auto sample =
      std::find_if(rows.begin(), rows.end(), [](const Row& row) { return !row.cycles.empty(); });
  std::vector<Table::Column> columns{
      {"configuration", Table::Align::left}, {"operators"}, {"treewidth"}, {"best"}};
  if (sample != rows.end()) {
    for (const auto& [strategy, value] : sample->cycles) {
      columns.push_back({strategy});
    }
  }
  Table table(columns);
  std::string failures;
  for (const Row& row : rows) {
    for (const std::string& failure : row.failures) {
      failures += failure + "\n";
    }
    if (row.cycles.empty()) {
      continue;
    }
    const double best = row.best();
    std::vector<std::string> cells{row.name, row.size, row.width,
                                   grouped(static_cast<std::int64_t>(best))};
    for (const auto& [strategy, value] : row.cycles) {
      cells.push_back(value && best > 0 ? fmt::format("{:.3f}", *value / best) : "-");
    }
    table.row(cells);
  }
  return run + "\n\n" + table.text() + failures;
}

}  // namespace systole::driver
