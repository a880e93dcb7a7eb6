// Structs from YAML and back, by field table.
//
// A Node is a parsed document as plain values, each with its place in the file. A field table is a
// tuple of Field, one per member of a struct, written once beside the struct:
//
//   constexpr auto fields() {
//     return std::tuple{yaml::Field{"latency", &Timing::latency, "ns", 0, 1e6, yaml::required,
//     "trigger to data"}, ...};
//   }
//   const Timing timing = yaml::read<Timing>(node, fields());
//
// read() refuses, with file:line:column: unknown keys (naming the nearest known one), duplicates,
// missing required keys, wrong types, values outside [low, high]. An optional key that is absent
// leaves the member's own initial value: that is the default, and describe() shows it. print()
// writes a mapping that read() reads back to an equal struct. Members may be bool, int, int64,
// double, string, Quantity, an enum with `yaml_names(E)` (found by argument-dependent lookup: an
// array of {name, value} pairs), or a vector of any of these. Anchors and aliases are refused.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "isa/base/units.hpp"

namespace systole::yaml {

struct Entry;

struct Node {
  enum class Kind : std::uint8_t { scalar, sequence, mapping };

  Kind kind = Kind::scalar;
  bool quoted = false;  // scalar written in quotes: never a number or a boolean
  int line = 0;         // 1-based
  int column = 0;
  std::string text;            // scalar; empty and not quoted = null
  std::vector<Node> items;     // sequence
  std::vector<Entry> entries;  // mapping, in file order, keys distinct
  std::shared_ptr<const std::string> file;

  [[nodiscard]] const Node* find(std::string_view key) const;  // null if absent or no mapping
  [[nodiscard]] std::string where() const;                     // "file:line:column"
};

struct Entry {
  std::string key;
  int line = 0;
  int column = 0;
  Node value;
};

// Throw Error for unreadable files, syntax errors, duplicate keys, anchors, more than one document.
[[nodiscard]] Node parse_file(const std::string& path);
[[nodiscard]] Node parse_text(const std::string& text, const std::string& name);

enum class Presence : std::uint8_t { required, optional };
inline constexpr Presence required = Presence::required;
inline constexpr Presence optional = Presence::optional;

inline constexpr double unbounded = std::numeric_limits<double>::infinity();

template <class S, class T>
struct Field {
  using Struct = S;
  using Type = T;
  std::string_view name;
  T S::*member;
  std::string_view unit;  // "" for none
  double low;             // both ends belong to the range; numbers only
  double high;
  Presence presence;
  std::string_view meaning;  // one phrase; the source of a machine's figure stands in its file
};
template <class S, class T>
Field(const char*, T S::*, const char*, double, double, Presence, const char*) -> Field<S, T>;

// One row of the reference of a field table.
struct FieldDescription {
  std::string name;
  std::string unit;
  std::string range;
  std::string standard;  // default as text, "required" if there is none
  std::string meaning;
};

namespace detail {

struct Range {
  double low = -unbounded;
  double high = unbounded;
};

// Each throws Error at the node.
void read_value(const Node& node, std::string_view name, Range range, bool& out);
void read_value(const Node& node, std::string_view name, Range range, int& out);
void read_value(const Node& node, std::string_view name, Range range, std::int64_t& out);
void read_value(const Node& node, std::string_view name, Range range, double& out);
void read_value(const Node& node, std::string_view name, Range range, std::string& out);

[[nodiscard]] std::string print_value(bool value);
[[nodiscard]] std::string print_value(int value);
[[nodiscard]] std::string print_value(std::int64_t value);
[[nodiscard]] std::string print_value(double value);
[[nodiscard]] std::string print_value(const std::string& value);

[[noreturn]] void refuse_name(const Node& node, std::string_view name,
                              const std::vector<std::string>& known);
void expect_sequence(const Node& node, std::string_view name);
void expect_mapping(const Node& node);
void refuse_unknown_keys(const Node& node, const std::vector<std::string>& known);
[[noreturn]] void refuse_missing(const Node& node, std::string_view name, std::string_view unit);
[[nodiscard]] std::string print_line(std::string_view name, const std::string& value,
                                     std::string_view unit, std::string_view meaning, int indent);
[[nodiscard]] std::string range_text(Range range);

template <class E>
concept NamedEnum = std::is_enum_v<E> && requires(E e) {
  yaml_names(e);
};

template <NamedEnum E>
void read_value(const Node& node, std::string_view name, Range, E& out) {
  std::vector<std::string> known;
  for (const auto& [text, value] : yaml_names(E{})) {
    if (node.kind == Node::Kind::scalar && node.text == text) {
      out = value;
      return;
    }
    known.emplace_back(text);
  }
  refuse_name(node, name, known);
}

template <NamedEnum E>
std::string print_value(E value) {
  for (const auto& [text, known] : yaml_names(E{})) {
    if (known == value) {
      return std::string(text);
    }
  }
  return "?";
}

template <class Tag>
void read_value(const Node& node, std::string_view name, Range range, Quantity<Tag>& out) {
  std::int64_t count = 0;
  read_value(node, name, range, count);
  out = Quantity<Tag>(count);
}

template <class Tag>
std::string print_value(Quantity<Tag> value) {
  return print_value(value.count());
}

template <class T>
void read_value(const Node& node, std::string_view name, Range range, std::vector<T>& out) {
  expect_sequence(node, name);
  out.clear();
  for (const Node& item : node.items) {
    T value{};
    read_value(item, name, range, value);
    out.push_back(std::move(value));
  }
}

template <class T>
std::string print_value(const std::vector<T>& values) {
  std::string text = "[";
  for (std::size_t i = 0; i < values.size(); ++i) {
    text += (i == 0 ? "" : ", ") + print_value(T(values[i]));
  }
  return text + "]";
}

template <class S, class T>
void read_field(const Node& node, const Field<S, T>& field, S& out) {
  if (const Node* value = node.find(field.name)) {
    read_value(*value, field.name, Range{field.low, field.high}, out.*(field.member));
  } else if (field.presence == Presence::required) {
    refuse_missing(node, field.name, field.unit);
  }
}

}  // namespace detail

// `sections`: keys of the mapping that another reader understands and this one skips.
template <class S, class... F>
[[nodiscard]] S read(const Node& node, const std::tuple<F...>& fields,
                     const std::vector<std::string>& sections = {}) {
  detail::expect_mapping(node);
  std::vector<std::string> known;
  std::apply([&known](const auto&... field) { (known.emplace_back(field.name), ...); }, fields);
  known.insert(known.end(), sections.begin(), sections.end());
  detail::refuse_unknown_keys(node, known);
  S out{};
  std::apply([&](const auto&... field) { (detail::read_field(node, field, out), ...); }, fields);
  return out;
}

// One line per field, indented by `indent` spaces, with unit and meaning as a comment.
template <class S, class... F>
[[nodiscard]] std::string print(const S& value, const std::tuple<F...>& fields, int indent = 0) {
  std::string text;
  std::apply(
      [&](const auto&... field) {
        ((text += detail::print_line(field.name, detail::print_value(value.*(field.member)),
                                     field.unit, field.meaning, indent)),
         ...);
      },
      fields);
  return text;
}

template <class S, class... F>
[[nodiscard]] std::vector<FieldDescription> describe(const std::tuple<F...>& fields) {
  std::vector<FieldDescription> rows;
  const S standard{};
  std::apply(
      [&](const auto&... field) {
        (rows.push_back({std::string(field.name), std::string(field.unit),
                         detail::range_text({field.low, field.high}),
                         field.presence == Presence::required
                             ? "required"
                             : detail::print_value(standard.*(field.member)),
                         std::string(field.meaning)}),
         ...);
      },
      fields);
  return rows;
}

}  // namespace systole::yaml
