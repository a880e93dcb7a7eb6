// yaml-cpp's event interface builds our own tree: it hands over every key and its mark, so
// duplicates and positions stay visible, and nothing of the library leaks into headers.
#include "isa/base/yaml.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <charconv>
#include <cmath>
#include <set>
#include <sstream>

#include "isa/base/error.hpp"
#include "isa/base/file.hpp"
#include "isa/base/nearest.hpp"

namespace systole::yaml {
namespace {

std::string place(const std::string& file, int line, int column) {
  return fmt::format("{}:{}:{}", file, line, column);
}

class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(const std::string& file)
      : file_(std::make_shared<const std::string>(file)) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    finish(make(mark, Node::Kind::scalar));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuse_anchor(mark, 1); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_anchor(mark, anchor);
    Node node = make(mark, Node::Kind::scalar);
    node.quoted = tag == "!";
    node.text = value;
    finish(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    refuse_anchor(mark, anchor);
    open_.push_back({make(mark, Node::Kind::sequence), {}});
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    refuse_anchor(mark, anchor);
    open_.push_back({make(mark, Node::Kind::mapping), {}});
  }
  void OnMapEnd() override { close(); }

  [[nodiscard]] Node root() const { return root_; }

 private:
  struct Open {
    Node node;
    std::set<std::string> keys;
    bool has_key = false;  // the last entry waits for its value
  };

  Node make(const YAML::Mark& mark, Node::Kind kind) const {
    Node node;
    node.kind = kind;
    node.line = mark.line + 1;
    node.column = mark.column + 1;
    node.file = file_;
    return node;
  }
  void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) const {
    if (anchor != 0) {
      throw Error(place(*file_, mark.line + 1, mark.column + 1),
                  "anchors and aliases are not supported", "write the value out");
    }
  }
  void close() {
    Node node = std::move(open_.back().node);
    open_.pop_back();
    finish(std::move(node));
  }
  void finish(Node node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& open = open_.back();
    if (open.node.kind == Node::Kind::sequence) {
      open.node.items.push_back(std::move(node));
    } else if (open.has_key) {
      open.node.entries.back().value = std::move(node);
      open.has_key = false;
    } else {
      add_key(open, node);
    }
  }
  void add_key(Open& open, const Node& key) const {
    if (key.kind != Node::Kind::scalar) {
      throw Error(key.where(), "a key must be a plain word", "quote it or rename it");
    }
    if (!open.keys.insert(key.text).second) {
      throw Error(key.where(), fmt::format("key \"{}\" appears twice", key.text),
                  "keep one of them");
    }
    open.node.entries.push_back({key.text, key.line, key.column, {}});
    open.has_key = true;
  }

  std::shared_ptr<const std::string> file_;
  std::vector<Open> open_;
  Node root_;
};

// Exactly the whole text as a number.
template <class T>
std::optional<T> number(const std::string& text) {
  const char* begin = text.data();
  const char* end = begin + text.size();
  if (begin != end && *begin == '+') {
    ++begin;
  }
  T value{};
  const auto [stop, error] = std::from_chars(begin, end, value);
  return error == std::errc{} && stop == end ? std::optional<T>(value) : std::nullopt;
}

[[noreturn]] void refuse_type(const Node& node, std::string_view name, std::string_view wanted) {
  std::string found = "a mapping";
  if (node.kind == Node::Kind::sequence) {
    found = "a sequence";
  } else if (node.kind == Node::Kind::scalar) {
    found = node.text.empty() && !node.quoted ? "nothing"
                                              : fmt::format("\"{}\"", node.text.substr(0, 64));
  }
  throw Error(node.where(), fmt::format("\"{}\" is {}, not {}", name, found, wanted),
              fmt::format("give {}", wanted));
}

bool plain_scalar(const Node& node) {
  return node.kind == Node::Kind::scalar && !node.quoted;
}

template <class T>
void check_range(const Node& node, std::string_view name, detail::Range range, T value) {
  const auto wide = static_cast<double>(value);
  if (wide < range.low || wide > range.high) {
    throw Error(node.where(),
                fmt::format("\"{}\" is {}, outside {}", name, value, detail::range_text(range)));
  }
}

std::string limit_text(double limit) {
  return std::abs(limit) < 1e15 && limit == std::floor(limit)
             ? fmt::format("{}", static_cast<std::int64_t>(limit))
             : fmt::format("{}", limit);
}

}  // namespace

const Node* Node::find(std::string_view key) const {
  for (const Entry& entry : entries) {
    if (entry.key == key) {
      return &entry.value;
    }
  }
  return nullptr;
}

std::string Node::where() const {
  return place(file ? *file : std::string(), line, column);
}

Node parse_text(const std::string& text, const std::string& name) {
  TreeBuilder builder(name);
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(builder)) {
      throw Error(name, "the file is empty", "write at least one key");
    }
    Node root = builder.root();
    TreeBuilder rest(name);
    if (parser.HandleNextDocument(rest)) {
      throw Error(rest.root().where(), "a second document begins", "keep one document per file");
    }
    return root;
  } catch (const YAML::Exception& exception) {
    throw Error(place(name, exception.mark.line + 1, exception.mark.column + 1), exception.msg,
                "correct the YAML");
  }
}

Node parse_file(const std::string& path) {
  return parse_text(read_file(path), path);
}

namespace detail {

void read_value(const Node& node, std::string_view name, Range, bool& out) {
  if (!plain_scalar(node) || (node.text != "true" && node.text != "false")) {
    refuse_type(node, name, "true or false");
  }
  out = node.text == "true";
}

void read_value(const Node& node, std::string_view name, Range range, std::int64_t& out) {
  const auto value = plain_scalar(node) ? number<std::int64_t>(node.text) : std::nullopt;
  if (!value) {
    refuse_type(node, name, "a whole number");
  }
  check_range(node, name, range, *value);
  out = *value;
}

void read_value(const Node& node, std::string_view name, Range range, int& out) {
  std::int64_t value = 0;
  read_value(node, name, range, value);
  check_range(node, name, Range{std::numeric_limits<int>::min(), std::numeric_limits<int>::max()},
              value);
  out = static_cast<int>(value);
}

void read_value(const Node& node, std::string_view name, Range range, double& out) {
  const auto value = plain_scalar(node) ? number<double>(node.text) : std::nullopt;
  if (!value || !std::isfinite(*value)) {
    refuse_type(node, name, "a number");
  }
  check_range(node, name, range, *value);
  out = *value;
}

void read_value(const Node& node, std::string_view name, Range, std::string& out) {
  if (node.kind != Node::Kind::scalar || (node.text.empty() && !node.quoted)) {
    refuse_type(node, name, "a text");
  }
  out = node.text;
}

std::string print_value(bool value) {
  return value ? "true" : "false";
}
std::string print_value(int value) {
  return fmt::format("{}", value);
}
std::string print_value(std::int64_t value) {
  return fmt::format("{}", value);
}
std::string print_value(double value) {
  return fmt::format("{}", value);
}

std::string print_value(const std::string& value) {
  std::string text = "\"";
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      text += fmt::format("\\x{:02x}", byte);
    } else {
      text += c;
    }
  }
  return text + "\"";
}

void refuse_name(const Node& node, std::string_view name, const std::vector<std::string>& known) {
  if (node.kind != Node::Kind::scalar) {
    refuse_type(node, name, "a name");
  }
  throw Error(node.where(), fmt::format("\"{}\" is not a {}", node.text, name),
              did_you_mean(node.text, known));
}

void expect_sequence(const Node& node, std::string_view name) {
  if (node.kind != Node::Kind::sequence) {
    refuse_type(node, name, "a sequence");
  }
}

void expect_mapping(const Node& node) {
  if (node.kind != Node::Kind::mapping) {
    throw Error(node.where(), "a mapping of keys to values is expected here",
                "write one \"key: value\" per line");
  }
}

void refuse_unknown_keys(const Node& node, const std::vector<std::string>& known) {
  for (const Entry& entry : node.entries) {
    bool found = false;
    for (const std::string& name : known) {
      found = found || name == entry.key;
    }
    if (!found) {
      throw Error(place(node.file ? *node.file : std::string(), entry.line, entry.column),
                  fmt::format("unknown key \"{}\"", entry.key), did_you_mean(entry.key, known));
    }
  }
}

void refuse_missing(const Node& node, std::string_view name, std::string_view unit) {
  throw Error(node.where(), fmt::format("key \"{}\" is missing", name),
              unit.empty() ? "add it" : fmt::format("add it, in {}", unit));
}

std::string print_line(std::string_view name, const std::string& value, std::string_view unit,
                       std::string_view meaning, int indent) {
  const std::string pair = fmt::format("{}: {}", name, value);
  const std::string_view colon = unit.empty() ? "" : ": ";
  return fmt::format("{:{}}{:<36}  # {}{}{}\n", "", indent, pair, unit, colon, meaning);
}

std::string range_text(Range range) {
  if (range.low == -unbounded && range.high == unbounded) {
    return "any";
  }
  if (range.high == unbounded) {
    return fmt::format("at least {}", limit_text(range.low));
  }
  if (range.low == -unbounded) {
    return fmt::format("at most {}", limit_text(range.high));
  }
  return fmt::format("{} to {}", limit_text(range.low), limit_text(range.high));
}

}  // namespace detail
}  // namespace systole::yaml
