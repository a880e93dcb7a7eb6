// Reading .cfn, toulbar2's JSON form of cost-function networks.
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "compiler/solver/formats/wcsp.hpp"
#include "isa/base/error.hpp"

namespace systole::solver::formats {
namespace {

using Json = nlohmann::ordered_json;

class Reader {
 public:
  explicit Reader(std::string_view name) : file_(name) {}

  Wcsp read(const Json& root) {
    if (!root.is_object() || !root.contains("variables") || !root.contains("functions") ||
        !root["variables"].is_object() || !root["functions"].is_object()) {
      fail("the objects 'variables' and 'functions' are expected");
    }
    out_.top = infinity;
    if (root.contains("problem") && root["problem"].is_object() &&
        root["problem"].contains("mustbe")) {
      read_limit(root["problem"]["mustbe"]);
    }
    for (const auto& [name, domain] : root["variables"].items()) {
      where_ = name;
      read_variable(name, domain);
    }
    for (const auto& [name, function] : root["functions"].items()) {
      where_ = name;
      read_function(function);
    }
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& remedy = {}) const {
    throw Error(where_.empty() ? file_ : fmt::format("{}: {}", file_, where_), what, remedy);
  }

  void read_limit(const Json& limit) {
    const std::string text = limit.is_string() ? limit.get<std::string>() : "";
    std::size_t used = 0;
    if (text.empty() || text.front() != '<') {
      fail("mustbe is read as \"<LIMIT\" only", "minimise");
    }
    try {
      const double value = std::stod(text.substr(1), &used);
      if (used + 1 != text.size() || value < 1 || value != std::floor(value)) {
        fail("mustbe is not a whole number above 0");
      }
      out_.top = value >= static_cast<double>(infinity) ? infinity : static_cast<Cost>(value);
    } catch (const std::logic_error&) {
      fail("mustbe is not a number");
    }
  }

  void read_variable(const std::string& name, const Json& domain) {
    const auto number = static_cast<int>(out_.domains.size());
    variables_[name] = number;
    values_.emplace_back();
    if (domain.is_number_integer() && domain.get<std::int64_t>() > 0 &&
        domain.get<std::int64_t>() <= 1 << 20) {
      out_.domains.push_back(static_cast<int>(domain.get<std::int64_t>()));
    } else if (domain.is_array() && !domain.empty()) {
      for (const Json& value : domain) {
        if (!value.is_string()) {
          fail("values are strings");
        }
        values_.back()[value.get<std::string>()] = static_cast<int>(values_.back().size());
      }
      out_.domains.push_back(static_cast<int>(domain.size()));
    } else {
      fail("a domain is a size or a list of values");
    }
  }

  // A number below `limit`, or a name.
  int index(const Json& entry, const std::map<std::string, int>& names, int limit,
            const char* what) const {
    if (entry.is_number_integer() && entry.get<std::int64_t>() >= 0 &&
        entry.get<std::int64_t>() < limit) {
      return static_cast<int>(entry.get<std::int64_t>());
    }
    const auto found = entry.is_string() ? names.find(entry.get<std::string>()) : names.end();
    if (found == names.end()) {
      fail(fmt::format("{} {} does not exist", what, entry.dump()));
    }
    return found->second;
  }

  [[nodiscard]] Cost cost(const Json& entry) const {
    if (entry.is_string() && entry.get<std::string>() == "inf") {
      return infinity;
    }
    const double value = entry.is_number() ? entry.get<double>() : -1;
    if (value < 0 || value != std::floor(value)) {
      fail(fmt::format("cost {} is not a whole number from 0", entry.dump()));
    }
    return value >= static_cast<double>(infinity) ? infinity
           : entry.is_number_integer()            ? entry.get<Cost>()
                                                  : static_cast<Cost>(value);
  }

  void read_function(const Json& json) {
    if (!json.is_object() || !json.contains("scope") || !json["scope"].is_array() ||
        !json.contains("costs") || !json["costs"].is_array()) {
      fail("a function has a scope and a list of costs", "global functions are not read");
    }
    CostFunction function;
    for (const Json& variable : json["scope"]) {
      function.scope.push_back(
          index(variable, variables_, static_cast<int>(out_.domains.size()), "variable"));
    }
    const Json& costs = json["costs"];
    if (json.contains("defaultcost")) {
      function.otherwise = cost(json["defaultcost"]);
      read_tuples(function, costs);
    } else {
      read_table(function, costs);
    }
    out_.functions.push_back(std::move(function));
  }

  void read_tuples(CostFunction& function, const Json& costs) const {
    const std::size_t step = function.scope.size() + 1;
    if (costs.size() % step != 0) {
      fail("the list of costs ends within a tuple");
    }
    for (std::size_t i = 0; i < costs.size(); i += step) {
      std::vector<int> tuple;
      for (std::size_t j = 0; j + 1 < step; ++j) {
        const auto v = static_cast<std::size_t>(function.scope[j]);
        tuple.push_back(index(costs[i + j], values_[v], out_.domains[v], "value"));
      }
      function.tuples.emplace_back(std::move(tuple), cost(costs[i + step - 1]));
    }
  }

  void read_table(CostFunction& function, const Json& costs) const {
    std::vector<int> tuple(function.scope.size(), 0);
    for (std::size_t i = 0;; ++i) {
      if (i >= costs.size()) {
        fail("the table of costs is too short");
      }
      function.tuples.emplace_back(tuple, cost(costs[i]));
      bool more = false;
      for (std::size_t d = tuple.size(); d-- > 0 && !more;) {
        more = ++tuple[d] < out_.domains[static_cast<std::size_t>(function.scope[d])];
        tuple[d] = more ? tuple[d] : 0;
      }
      if (!more) {
        if (i + 1 != costs.size()) {
          fail("the table of costs is too long");
        }
        return;
      }
    }
  }

  std::string file_;
  std::string where_;
  Wcsp out_;
  std::map<std::string, int> variables_;
  std::vector<std::map<std::string, int>> values_;
};

}  // namespace

Wcsp parse_cfn(std::string_view text, std::string_view name) {
  Json root;
  try {
    root = Json::parse(text);
  } catch (const Json::parse_error& error) {
    throw Error(std::string(name), fmt::format("is not JSON: byte {} is unexpected", error.byte));
  }
  return Reader(name).read(root);
}

}  // namespace systole::solver::formats
