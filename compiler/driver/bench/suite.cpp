#include "compiler/driver/bench/suite.hpp"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <set>

#include "compiler/frontend/model.hpp"
#include "isa/base/error.hpp"
#include "isa/base/yaml.hpp"

namespace systole::driver {
namespace {

using yaml::Entry;
using yaml::Node;

constexpr std::size_t most_configurations = 100'000;

std::string text_of(const Node& node, const std::string& key) {
  if (node.kind != Node::Kind::scalar || node.text.empty()) {
    throw Error(node.where(), "'" + key + "' is no text", "give one");
  }
  return node.text;
}

std::int64_t number_of(const Node& node, const std::string& key) {
  const std::string text = text_of(node, key);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (node.quoted || error != std::errc() || end != text.data() + text.size()) {
    throw Error(node.where(), fmt::format("'{}' of {} is no whole number", text, key),
                "give one, or a list of them");
  }
  return value;
}

struct Parameter {
  std::string name;
  std::vector<std::int64_t> values;
};

std::vector<Parameter> parameters_of(const Node& node) {
  if (node.kind != Node::Kind::mapping) {
    throw Error(node.where(), "'parameters' is no mapping",
                "give names with an integer or a list of integers");
  }
  std::vector<Parameter> out;
  for (const Entry& entry : node.entries) {
    Parameter parameter{entry.key, {}};
    if (entry.value.kind == Node::Kind::sequence) {
      for (const Node& item : entry.value.items) {
        parameter.values.push_back(number_of(item, entry.key));
      }
    } else {
      parameter.values.push_back(number_of(entry.value, entry.key));
    }
    if (parameter.values.empty()) {
      throw Error(entry.value.where(), entry.key + " has no value", "give at least one");
    }
    out.push_back(std::move(parameter));
  }
  return out;
}

void expect_keys(const Node& node, const std::set<std::string>& known,
                 const std::set<std::string>& required) {
  if (node.kind != Node::Kind::mapping) {
    throw Error(node.where(), "is no mapping", "see models/README.md");
  }
  for (const Entry& entry : node.entries) {
    if (known.count(entry.key) == 0) {
      throw Error(fmt::format("{}:{}:{}", *node.file, entry.line, entry.column),
                  "'" + entry.key + "' is not known here",
                  fmt::format("the keys are: {}", fmt::join(known, ", ")));
    }
  }
  for (const std::string& key : required) {
    if (node.find(key) == nullptr) {
      throw Error(node.where(), "'" + key + "' is missing", "add it");
    }
  }
}

// "{key}" replaced by the value of that parameter.
std::string filled(const Node& node, const std::map<std::string, std::int64_t>& dims) {
  const std::string pattern = text_of(node, "name");
  std::string out;
  for (std::size_t at = 0; at < pattern.size();) {
    const std::size_t open = pattern.find('{', at);
    const std::size_t close = open == std::string::npos ? open : pattern.find('}', open);
    if (close == std::string::npos) {
      return out + pattern.substr(at);
    }
    const std::string key = pattern.substr(open + 1, close - open - 1);
    const auto value = dims.find(key);
    if (value == dims.end()) {
      throw Error(node.where(), "'{" + key + "}' is no parameter of this entry",
                  "name one of its parameters");
    }
    out += pattern.substr(at, open - at) + std::to_string(value->second);
    at = close + 1;
  }
  return out;
}

class Reader {
 public:
  Suite read(const Node& root) {
    expect_keys(root, {"name", "description", "configurations"}, {"name", "configurations"});
    suite_.name = text_of(*root.find("name"), "name");
    const Node& list = *root.find("configurations");
    if (list.kind != Node::Kind::sequence || list.items.empty()) {
      throw Error(list.where(), "'configurations' is no list", "give at least one configuration");
    }
    for (const Node& item : list.items) {
      add(item);
    }
    return std::move(suite_);
  }

 private:
  void add(const Node& item) {
    expect_keys(item, {"name", "family", "half", "model", "parameters"},
                {"name", "family", "half", "model"});
    Configuration configuration;
    configuration.family = text_of(*item.find("family"), "family");
    configuration.model = text_of(*item.find("model"), "model");
    const Node& half = *item.find("half");
    configuration.half = text_of(half, "half");
    if (configuration.half != "calibration" && configuration.half != "judging") {
      throw Error(half.where(), "'" + configuration.half + "' is no half",
                  "use calibration or judging");
    }
    const Node* parameters = item.find("parameters");
    expand(item, configuration,
           parameters == nullptr ? std::vector<Parameter>{} : parameters_of(*parameters), 0);
  }

  void expand(const Node& item, Configuration& configuration,
              const std::vector<Parameter>& parameters, std::size_t next) {
    if (next < parameters.size()) {
      for (const std::int64_t value : parameters[next].values) {
        configuration.dims[parameters[next].name] = value;
        expand(item, configuration, parameters, next + 1);
      }
      return;
    }
    const Node& name = *item.find("name");
    configuration.name = filled(name, configuration.dims);
    if (!names_.insert(configuration.name).second) {
      throw Error(name.where(), "two configurations are named '" + configuration.name + "'",
                  "put the parameters that differ into the name");
    }
    if (names_.size() > most_configurations) {
      throw Error(name.where(), fmt::format("more than {} configurations", most_configurations),
                  "use shorter lists");
    }
    suite_.configurations.push_back(configuration);
  }

  Suite suite_;
  std::set<std::string> names_;
};

}  // namespace

ModelOptions model_options(const Configuration& configuration) {
  ModelOptions out;
  out.model = configuration.model;
  for (const auto& [name, value] : configuration.dims) {
    out.dims.push_back(fmt::format("{}={}", name, value));
  }
  return out;
}

Suite read_suite(const std::string& name_or_file) {
  namespace fs = std::filesystem;
  std::string path = name_or_file;
  if (name_or_file.find('/') == std::string::npos && !name_or_file.ends_with(".yaml")) {
    for (const fs::path& folder : frontend::recipe_folders()) {
      const fs::path file = folder / "suites" / (name_or_file + ".yaml");
      if (fs::is_regular_file(file)) {
        path = file.string();
        break;
      }
    }
    if (path == name_or_file) {
      throw Error(name_or_file, "is no suite", "give a file, or the name of one in models/suites");
    }
  }
  return Reader().read(yaml::parse_file(path));
}

}  // namespace systole::driver
