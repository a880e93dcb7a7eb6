#include "compiler/frontend/recipe/fields.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "isa/base/error.hpp"

namespace systole::frontend::recipe {

std::string read_text(const std::filesystem::path& path) {
  std::error_code error;
  std::ifstream in(path, std::ios::binary);
  const auto size = std::filesystem::file_size(path, error);
  if (!in || error || !std::filesystem::is_regular_file(path, error)) {
    throw Error(path.string(), "cannot be read", "check the path");
  }
  if (size > (std::uintmax_t{1} << 22U)) {
    throw Error(path.string(), "is larger than 4 MB, too large for a recipe");
  }
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

void Fields::fail(const YAML::Node& at, const std::string& what, const std::string& remedy) const {
  const YAML::Mark mark = at.Mark();
  const std::string where =
      mark.is_null() ? file_ : fmt::format("{}:{}:{}", file_, mark.line + 1, mark.column + 1);
  throw Error(where, what, remedy);
}

void Fields::check_keys(const YAML::Node& map, const std::vector<std::string>& known) const {
  if (!map.IsMap()) {
    fail(map, fmt::format("a map with the keys {} is expected here", fmt::join(known, ", ")));
  }
  std::set<std::string> seen;
  for (const auto& entry : map) {
    const std::string key = text(entry.first, "a key");
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      fail(entry.first, fmt::format("unknown key '{}'", key),
           fmt::format("known: {}", fmt::join(known, ", ")));
    }
    if (!seen.insert(key).second) {
      fail(entry.first, fmt::format("key '{}' stands twice", key));
    }
  }
}

YAML::Node Fields::required(const YAML::Node& map, const char* key, const char* kind) const {
  const YAML::Node found = map[key];
  if (!found) {
    fail(map, fmt::format("{} needs the key '{}'", kind, key));
  }
  return found;
}

std::string Fields::text(const YAML::Node& node, const char* what) const {
  if (!node.IsScalar()) {
    fail(node, fmt::format("{} must be one word", what));
  }
  return node.Scalar();
}

// A name with its {expressions} replaced by their values.
std::string Fields::name(const YAML::Node& node, const Frame& frame) const {
  const std::string raw = text(node, "a name");
  std::string out;
  for (std::size_t at = 0; at < raw.size(); ++at) {
    if (raw[at] != '{') {
      out += raw[at];
      continue;
    }
    const auto end = raw.find('}', at);
    if (end == std::string::npos) {
      fail(node, fmt::format("'{}' has no closing brace", raw));
    }
    try {
      out += fmt::format(
          "{}", evaluate_expression(raw.substr(at + 1, end - at - 1), frame.parameters).integer);
    } catch (const Error& error) {
      fail(node, error.what());
    }
    at = end;
  }
  return out;
}

std::vector<std::string> Fields::names(const YAML::Node& node, const Frame& frame) const {
  std::vector<std::string> out;
  if (!node.IsDefined() || node.IsNull()) {
    return out;
  }
  if (!node.IsSequence()) {
    return {name(node, frame)};
  }
  for (const auto& item : node) {
    out.push_back(item.IsNull() ? std::string() : name(item, frame));
  }
  return out;
}

Number Fields::number(const YAML::Node& node, const Frame& frame) const {
  try {
    return evaluate_expression(text(node, "a number"), frame.parameters);
  } catch (const Error& error) {
    fail(node, error.what());
  }
}

std::int64_t Fields::integer(const YAML::Node& node, const Frame& frame) const {
  const Number value = number(node, frame);
  if (value.real) {
    fail(node, fmt::format("'{}' is not an integer", node.Scalar()));
  }
  return value.integer;
}

Shape Fields::shape(const YAML::Node& node, const Frame& frame) const {
  if (!node.IsSequence()) {
    fail(node, "a shape is a list of extents");
  }
  Shape out;
  for (const auto& item : node) {
    out.push_back(integer(item, frame));
    if (out.back() < 0) {
      fail(item, fmt::format("extent '{}' is {}", item.Scalar(), out.back()));
    }
  }
  return out;
}

ElementType Fields::type(const YAML::Node& node) const {
  const auto found = graph::find_element_type(text(node, "an element type"));
  if (!found) {
    fail(node, fmt::format("unknown element type '{}'", node.Scalar()),
         "for example f32, bf16, i64, boolean");
  }
  return *found;
}

// Another recipe file, named relative to this one and without its ending.
Source Fields::load(const YAML::Node& name) const {
  const std::string given = text(name, "a recipe");
  const auto plain = [](char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '/';
  };
  if (given.empty() || !std::all_of(given.begin(), given.end(), plain)) {
    fail(name, fmt::format("'{}' is not the name of a recipe", given),
         "letters, digits, _, - and /; it is looked up beside this file");
  }
  const auto path = std::filesystem::path(file_).parent_path() / (given + ".yaml");
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    fail(name, fmt::format("there is no recipe {}", path.string()));
  }
  try {
    return {path.string(), YAML::Load(read_text(path))};
  } catch (const YAML::Exception& problem) {
    throw Error(
        fmt::format("{}:{}:{}", path.string(), problem.mark.line + 1, problem.mark.column + 1),
        problem.msg, "check the YAML syntax");
  }
}

}  // namespace systole::frontend::recipe
