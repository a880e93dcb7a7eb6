#include "compiler/solver/formats/json.hpp"

#include <fmt/format.h>

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>

#include "isa/base/error.hpp"

namespace systole::solver::formats {
namespace {

using Json = nlohmann::ordered_json;

constexpr int most_layouts = 1 << 12;
constexpr std::int64_t largest_group = 1 << 30;

// A value and where it stands.
struct Place {
  const Json& json;
  std::string path;

  [[nodiscard]] Place member(const std::string& key) const {
    return {json.at(key), path.empty() ? key : path + "." + key};
  }
  [[nodiscard]] Place entry(std::size_t i) const {
    return {json.at(i), fmt::format("{}[{}]", path, i)};
  }
};

class Reader {
 public:
  explicit Reader(std::string_view file) : file_(file) {}

  Problem read(const Place& root) {
    expect_members(root, {"layout-selection", "tensors", "operators"}, {});
    whole(root.member("layout-selection"), 1, 1, "format version");
    const Place tensors = root.member("tensors");
    expect_list(tensors);
    for (std::size_t i = 0; i < tensors.json.size(); ++i) {
      read_tensor(tensors.entry(i));
    }
    const Place operators = root.member("operators");
    expect_list(operators);
    for (std::size_t i = 0; i < operators.json.size(); ++i) {
      read_operator(operators.entry(i));
    }
    return std::move(problem_);
  }

 private:
  [[noreturn]] void fail(const Place& place, const std::string& what,
                         const std::string& remedy = {}) const {
    throw Error(place.path.empty() ? file_ : file_ + ": " + place.path, what, remedy);
  }

  // Values in messages are short: files may hold anything.
  static std::string shown(const Json& json) {
    const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
    return text.size() > 40 ? text.substr(0, 40) + "..." : text;
  }

  void expect_members(const Place& place, std::initializer_list<const char*> needed,
                      std::initializer_list<const char*> allowed) const {
    if (!place.json.is_object()) {
      fail(place, shown(place.json) + " is not an object");
    }
    for (const char* key : needed) {
      if (!place.json.contains(key)) {
        fail(place, fmt::format("'{}' is missing", key));
      }
    }
    std::set<std::string> known(needed.begin(), needed.end());
    known.insert(allowed.begin(), allowed.end());
    for (const auto& [key, value] : place.json.items()) {
      if (!known.contains(key)) {
        fail(place, fmt::format("'{}' is unknown", key),
             fmt::format("members are {}", fmt::join(known, ", ")));
      }
    }
  }

  void expect_list(const Place& place) const {
    if (!place.json.is_array()) {
      fail(place, shown(place.json) + " is not a list");
    }
  }

  std::int64_t whole(const Place& place, std::int64_t least, std::int64_t most,
                                   const char* what) const {
    const Json& json = place.json;
    const bool fits = json.is_number_unsigned() ? json.get<std::uint64_t>() <= INT64_MAX
                                                : json.is_number_integer();
    if (!fits || json.get<std::int64_t>() < least || json.get<std::int64_t>() > most) {
      fail(place, fmt::format("{} {} is not a whole number from {} to {}", what, shown(json), least,
                              most));
    }
    return json.get<std::int64_t>();
  }

  [[nodiscard]] Cost cost(const Place& place) const {
    if (place.json.is_string() && place.json.get_ref<const std::string&>() == "inf") {
      return infinity;
    }
    if (place.json.is_string()) {
      fail(place, fmt::format("cost {} is neither a number nor \"inf\"", shown(place.json)));
    }
    return whole(place, 0, infinity - 1, "cost");
  }

  [[nodiscard]] std::string text(const Place& place) const {
    if (!place.json.is_string()) {
      fail(place, shown(place.json) + " is not a text");
    }
    return place.json.get<std::string>();
  }

  void read_layouts(const Place& place, Tensor& tensor) const {
    if (!place.json.is_array()) {
      tensor.layouts = static_cast<int>(whole(place, 1, most_layouts, "number of layouts"));
      return;
    }
    if (place.json.empty() || place.json.size() > most_layouts) {
      fail(place, fmt::format("{} layouts; a tensor has 1 to {}", place.json.size(), most_layouts));
    }
    std::set<std::string> taken;
    for (std::size_t i = 0; i < place.json.size(); ++i) {
      tensor.layout_names.push_back(text(place.entry(i)));
      if (!taken.insert(tensor.layout_names.back()).second) {
        fail(place.entry(i), fmt::format("layout {} is listed twice", shown(place.json[i])));
      }
    }
    tensor.layouts = static_cast<int>(place.json.size());
  }

  void expect_one_per_layout(const Place& place, const Tensor& tensor) const {
    expect_list(place);
    if (place.json.size() != static_cast<std::size_t>(tensor.layouts)) {
      fail(place, fmt::format("{} entries for {} layouts", place.json.size(), tensor.layouts));
    }
  }

  void read_conversions(const Place& place, Tensor& tensor) const {
    const auto k = static_cast<std::size_t>(tensor.layouts);
    if (!place.json.is_array()) {
      const Cost all = cost(place);
      for (std::size_t i = 0; i < k * k; ++i) {
        tensor.conversion[i] = i % (k + 1) == 0 ? 0 : all;
      }
      return;
    }
    expect_one_per_layout(place, tensor);
    for (std::size_t from = 0; from < k; ++from) {
      const Place row = place.entry(from);
      expect_one_per_layout(row, tensor);
      for (std::size_t to = 0; to < k; ++to) {
        tensor.conversion[from * k + to] = cost(row.entry(to));
      }
      if (tensor.conversion[from * k + from] != 0) {
        fail(row.entry(from), "converting a layout to itself costs 0");
      }
    }
  }

  void read_tensor(const Place& place) {
    expect_members(place, {"name", "layouts"}, {"convert", "groups"});
    Tensor tensor;
    tensor.name = text(place.member("name"));
    if (!tensors_.emplace(tensor.name, problem_.tensors.size()).second) {
      fail(place.member("name"),
           fmt::format("tensor {} is declared twice", shown(place.json.at("name"))));
    }
    read_layouts(place.member("layouts"), tensor);
    const auto k = static_cast<std::size_t>(tensor.layouts);
    tensor.conversion.assign(k * k, 0);
    if (place.json.contains("convert")) {
      read_conversions(place.member("convert"), tensor);
    } else if (k > 1) {
      fail(place, "'convert' is missing", "give one cost, or a table with a row per layout");
    }
    if (place.json.contains("groups")) {
      const Place groups = place.member("groups");
      expect_one_per_layout(groups, tensor);
      for (std::size_t i = 0; i < k; ++i) {
        tensor.groups.push_back(
            static_cast<int>(whole(groups.entry(i), -1, largest_group, "group")));
      }
    }
    problem_.tensors.add(std::move(tensor));
  }

  [[nodiscard]] TensorId tensor(const Place& place) const {
    if (!place.json.is_string()) {
      return TensorId(static_cast<std::size_t>(
          whole(place, 0, static_cast<std::int64_t>(problem_.tensors.size()) - 1, "tensor")));
    }
    const auto found = tensors_.find(place.json.get_ref<const std::string&>());
    if (found == tensors_.end()) {
      fail(place, fmt::format("tensor {} is not declared", shown(place.json)));
    }
    return TensorId(found->second);
  }

  [[nodiscard]] int layout(const Place& place, TensorId id) const {
    const Tensor& tensor = problem_.tensors[id];
    if (!place.json.is_string()) {
      return static_cast<int>(whole(place, 0, tensor.layouts - 1, "layout"));
    }
    for (std::size_t l = 0; l < tensor.layout_names.size(); ++l) {
      if (tensor.layout_names[l] == place.json.get_ref<const std::string&>()) {
        return static_cast<int>(l);
      }
    }
    fail(place,
         fmt::format("tensor {} has no layout {}", display_name(problem_, id), shown(place.json)));
  }

  void read_operator(const Place& place) {
    expect_members(place, {"name", "output", "rows"}, {"inputs", "family", "group"});
    Operator op;
    op.name = text(place.member("name"));
    if (!operator_names_.insert(op.name).second) {
      fail(place.member("name"),
           fmt::format("operator {} is declared twice", shown(place.json.at("name"))));
    }
    if (place.json.contains("inputs")) {
      const Place inputs = place.member("inputs");
      expect_list(inputs);
      for (std::size_t i = 0; i < inputs.json.size(); ++i) {
        op.inputs.push_back(tensor(inputs.entry(i)));
      }
    }
    op.output = tensor(place.member("output"));
    if (place.json.contains("family")) {
      op.family = text(place.member("family"));
    }
    if (place.json.contains("group")) {
      op.group = static_cast<int>(whole(place.member("group"), -1, largest_group, "group"));
    }
    const Place rows = place.member("rows");
    expect_list(rows);
    for (std::size_t i = 0; i < rows.json.size(); ++i) {
      op.rows.push_back(row(rows.entry(i), op));
    }
    problem_.operators.add(std::move(op));
  }

  [[nodiscard]] Row row(const Place& place, const Operator& op) const {
    expect_members(place, {"output", "cost"}, {"inputs"});
    Row out;
    if (place.json.contains("inputs")) {
      const Place inputs = place.member("inputs");
      expect_list(inputs);
      for (std::size_t i = 0; i < inputs.json.size() && i < op.inputs.size(); ++i) {
        out.layouts.push_back(layout(inputs.entry(i), op.inputs[i]));
      }
      if (inputs.json.size() > op.inputs.size()) {
        fail(inputs, fmt::format("{} layouts for {} inputs", inputs.json.size(), op.inputs.size()));
      }
    }
    if (out.layouts.size() < op.inputs.size()) {
      fail(place, fmt::format("{} layouts for {} inputs", out.layouts.size(), op.inputs.size()));
    }
    out.layouts.push_back(layout(place.member("output"), op.output));
    out.cost = cost(place.member("cost"));
    return out;
  }

  std::string file_;
  Problem problem_;
  std::unordered_map<std::string, std::size_t> tensors_;
  std::set<std::string> operator_names_;
};

// Refuses members given twice, of which the library would silently keep the last.
Json parsed(std::string_view text, const std::string& file) {
  std::vector<std::set<std::string>> open;
  const auto watch = [&](int /*depth*/, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) {
      open.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      open.pop_back();
    } else if (event == Json::parse_event_t::key &&
               !open.back().insert(value.get<std::string>()).second) {
      throw Error(
          file, fmt::format("member '{}' is given twice in one object", value.get<std::string>()));
    }
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const Json::parse_error& error) {
    throw Error(file, fmt::format("is not JSON: byte {} is unexpected", error.byte));
  }
}

Json cost_of(Cost cost) {
  return cost >= infinity ? Json("inf") : Json(cost);
}

std::string unique(const std::string& wanted, std::set<std::string>& taken) {
  std::string name = wanted;
  for (int i = 2; !taken.insert(name).second; ++i) {
    name = fmt::format("{}~{}", wanted, i);
  }
  return name;
}

// Names, unless two are the same or there are none: then layouts go by their numbers.
Json layouts_of(const Tensor& tensor) {
  const std::set<std::string> different(tensor.layout_names.begin(), tensor.layout_names.end());
  return different.empty() || different.size() != tensor.layout_names.size()
             ? Json(tensor.layouts)
             : Json(tensor.layout_names);
}

Json layout_of(const Json& layouts, int layout) {
  return layouts.is_array() ? layouts[static_cast<std::size_t>(layout)] : Json(layout);
}

Json conversions_of(const Tensor& tensor) {
  const auto k = static_cast<std::size_t>(tensor.layouts);
  Json table = Json::array();
  bool uniform = true;
  for (std::size_t from = 0; from < k; ++from) {
    table.push_back(Json::array());
    for (std::size_t to = 0; to < k; ++to) {
      const Cost cost = tensor.conversion[from * k + to];
      uniform = uniform && (from == to || cost == tensor.conversion[1]);
      table.back().push_back(cost_of(cost));
    }
  }
  return uniform ? cost_of(tensor.conversion[1]) : table;
}

std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json row_of(const Row& row, const Operator& op, const IdVector<TensorId, Json>& layouts) {
  Json out = Json::object();
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    out["inputs"].push_back(layout_of(layouts[op.inputs[i]], row.layouts[i]));
  }
  out["output"] = layout_of(layouts[op.output], row.layouts.back());
  out["cost"] = cost_of(row.cost);
  return out;
}

void print_operator(std::string& out, const Operator& op, const std::string& name,
                    const IdVector<TensorId, std::string>& tensors,
                    const IdVector<TensorId, Json>& layouts) {
  Json head = {{"name", name}};
  for (const TensorId input : op.inputs) {
    head["inputs"].push_back(tensors[input]);
  }
  head["output"] = tensors[op.output];
  if (!op.family.empty()) {
    head["family"] = op.family;
  }
  if (op.group != -1) {
    head["group"] = op.group;
  }
  std::string text = line_of(head);
  text.pop_back();
  out += text + ",\"rows\":[";
  for (std::size_t i = 0; i < op.rows.size(); ++i) {
    out += (i == 0 ? "\n      " : ",\n      ") + line_of(row_of(op.rows[i], op, layouts));
  }
  out += "]}";
}

}  // namespace

Problem parse_json(std::string_view text, std::string_view name) {
  const std::string file(name);
  const Json root = parsed(text, file);
  Problem problem = Reader(name).read({root, ""});
  const std::vector<Diagnostic> mistakes = check(problem);
  if (!mistakes.empty()) {
    throw Error(fmt::format("{}: {}", name, mistakes.front().where), mistakes.front().what,
                "correct the problem");
  }
  return problem;
}

std::string print_json(const Problem& problem) {
  std::string out = "{\n  \"layout-selection\": 1,\n  \"tensors\": [";
  std::set<std::string> taken;
  IdVector<TensorId, std::string> names;
  IdVector<TensorId, Json> layouts;
  for (const TensorId id : problem.tensors.ids()) {
    const Tensor& tensor = problem.tensors[id];
    names.add(unique(display_name(problem, id), taken));
    layouts.add(layouts_of(tensor));
    Json json = {{"name", names[id]}, {"layouts", layouts[id]}};
    if (tensor.layouts > 1) {
      json["convert"] = conversions_of(tensor);
    }
    if (!tensor.groups.empty()) {
      json["groups"] = tensor.groups;
    }
    out += (id.index() == 0 ? "\n    " : ",\n    ") + line_of(json);
  }
  out += "\n  ],\n  \"operators\": [";
  std::set<std::string> taken_operators;
  for (const OperatorId id : problem.operators.ids()) {
    out += id.index() == 0 ? "\n    " : ",\n    ";
    print_operator(out, problem.operators[id], unique(display_name(problem, id), taken_operators),
                   names, layouts);
  }
  return out + "\n  ]\n}\n";
}

std::string print_json(const Problem& problem, const Result& result, std::string_view strategy) {
  const auto finite = [](Cost cost) { return cost >= infinity ? Json() : Json(cost); };
  Json out = {{"strategy", strategy},          {"status", name(result.status)},
              {"proof", name(result.proof)},   {"cost", finite(result.cost)},
              {"bound", finite(result.bound)}, {"gap", result.gap()}};
  out["counters"] = Json::object();
  for (const Counter& counter : result.stats) {
    out["counters"][counter.name] = counter.value;
  }
  out["note"] = result.note;
  out["rows"] = Json::array();
  for (std::size_t i = 0; i < result.assignment.row.size(); ++i) {
    const OperatorId id(i);
    const Operator& op = problem.operators[id];
    const Row& row = op.rows[static_cast<std::size_t>(result.assignment.row[id])];
    Json choice = {{"operator", display_name(problem, id)}, {"row", result.assignment.row[id]}};
    choice["inputs"] = Json::array();
    for (std::size_t a = 0; a < op.inputs.size(); ++a) {
      choice["inputs"].push_back(layout_name(problem.tensors[op.inputs[a]], row.layouts[a]));
    }
    choice["output"] = layout_name(problem.tensors[op.output], row.layouts.back());
    out["rows"].push_back(std::move(choice));
  }
  return line_of(out) + "\n";
}

}  // namespace systole::solver::formats
