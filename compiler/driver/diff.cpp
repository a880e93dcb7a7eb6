// systole diff: two answers for one model (systole explain --json), one line per operator that moved.
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "compiler/driver/commands.hpp"
#include "compiler/driver/table.hpp"
#include "isa/base/error.hpp"

namespace systole::driver {
namespace {

struct Place {
  std::string inputs, output, mechanism;
  std::int64_t predicted = 0, measured = 0;
  [[nodiscard]] std::string layouts() const {
    return inputs + " -> " + output + (mechanism == "standard" ? "" : " " + mechanism);
  }
};

struct Answer {
  std::string title;
  std::vector<std::string> order;
  std::map<std::string, Place> places;
};

Answer read_answer(const std::string& path) {
  std::ifstream in(path);
  if (!in) {
    throw Error(path, "cannot be read", "name a file that systole explain --json wrote");
  }
  Answer answer;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    try {
      const auto record = nlohmann::json::parse(line);
      if (record.at("schema") != "systole-explain-1") {
        throw Error(fmt::format("{}:{}", path, number), "has another schema than systole-explain-1",
                    "name a file that systole explain --json wrote");
      }
      answer.title = record.at("title");
      const std::string name = record.at("operator");
      const Place place{record.at("inputs"), record.at("output"), record.at("mechanism"),
                        record.at("predicted"), record.at("measured")};
      if (answer.places.emplace(name, place).second) {
        answer.order.push_back(name);
      }
    } catch (const nlohmann::json::exception&) {
      throw Error(fmt::format("{}:{}", path, number), "is no line of systole explain --json",
                  "write the file anew");
    }
  }
  if (answer.order.empty()) {
    throw Error(path, "holds no operator", "name a file that systole explain --json wrote");
  }
  return answer;
}

std::string change(std::int64_t before, std::int64_t after) {
  return fmt::format("{}{}", after > before ? "+" : "", grouped(after - before));
}

}  // namespace

int diff(const DiffOptions& options) {
  const Answer a = read_answer(options.first);
  const Answer b = read_answer(options.second);
  Table table({{"operator or conversion", Table::Align::left},
               {"before", Table::Align::left},
               {"after", Table::Align::left},
               {"predicted"},
               {"measured"}});
  std::size_t moved = 0;
  const Place nowhere{};
  const auto row = [&](const std::string& name, const Place& before, const Place& after) {
    ++moved;
    table.row({name, &before == &nowhere ? "-" : before.layouts(),
               &after == &nowhere ? "-" : after.layouts(),
               change(before.predicted, after.predicted), change(before.measured, after.measured)});
  };
  for (const std::string& name : a.order) {
    const Place& before = a.places.at(name);
    const auto found = b.places.find(name);
    if (found == b.places.end()) {
      row(name, before, nowhere);
    } else if (found->second.layouts() != before.layouts()) {
      row(name, before, found->second);
    }
  }
  for (const std::string& name : b.order) {
    if (a.places.count(name) == 0) {
      row(name, nowhere, b.places.at(name));
    }
  }
  std::printf("before  %s\nafter   %s\n\n", a.title.c_str(), b.title.c_str());
  if (moved == 0) {
    std::printf("no operator moved\n");
  } else {
    std::printf("%s", table.text().c_str());
  }
  return 0;
}

}  // namespace systole::driver
