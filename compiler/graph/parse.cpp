#include <fmt/format.h>

#include <charconv>
#include <map>
#include <utility>

#include "compiler/graph/op_fields.hpp"
#include "compiler/graph/scanner.hpp"
#include "compiler/graph/text.hpp"
#include "isa/base/error.hpp"

namespace systole::graph {
namespace {

struct OutputLine {
  std::string word, name;
  int line = 0;
};

struct NodeLine {
  Node node;
  std::vector<std::string> operands;
  int line = 0;
};

struct Lines {
  std::vector<std::pair<std::string, Tensor>> tensors;  // in the order of the file
  std::map<std::string, std::size_t> place;             // %word -> index in `tensors`
  std::vector<NodeLine> nodes;
  std::map<std::string, std::size_t> producers;  // %word -> index in `nodes`
  std::vector<std::string> inputs;
  std::vector<OutputLine> outputs;
  std::string name;
};

void read_field(Scanner& s, bool& value) {
  const std::string word = s.word();
  if (word != "true" && word != "false") {
    s.fail("expected true or false, found '" + word + "'", "write true or false");
  }
  value = word == "true";
}
void read_field(Scanner& s, double& value) {
  value = s.real();
}
void read_field(Scanner& s, std::int64_t& value) {
  value = s.integer();
}
void read_field(Scanner& s, int& value) {
  const std::int64_t number = s.integer();
  if (number < std::numeric_limits<int>::min() || number > std::numeric_limits<int>::max()) {
    s.fail(fmt::format("{} is out of range", number), "use a smaller number");
  }
  value = static_cast<int>(number);
}
template <class T>
void read_field(Scanner& s, std::vector<T>& values) {
  values.clear();
  s.expect('[');
  while (!s.accept(']')) {
    if (!values.empty()) {
      s.expect(',');
    }
    T value{};
    read_field(s, value);
    values.push_back(value);
  }
}
template <class E>
void read_enum(Scanner& s, E& value, E last) {
  const std::string word = s.word();
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    if (name_of(static_cast<E>(i)) == word) {
      value = static_cast<E>(i);
      return;
    }
  }
  s.fail("'" + word + "' is not known here", "see op.hpp for the names");
}
void read_field(Scanner& s, ReduceFunction& value) {
  read_enum(s, value, ReduceFunction::mean);
}
void read_field(Scanner& s, ScatterMode& value) {
  read_enum(s, value, ScatterMode::min);
}

TensorType read_type(Scanner& s) {
  TensorType type;
  const std::string word = s.word();
  const std::optional<ElementType> found = find_element_type(word);
  if (!found.has_value()) {
    s.fail("'" + word + "' is no element type", "use f32, bf16, i64, bool, ...");
  }
  type.type = *found;
  read_field(s, type.shape);
  if (!checked_elements(type.shape).has_value()) {
    s.fail("shape " + to_string(type.shape) + " is not possible", "use extents of 0 or more");
  }
  return type;
}

void read_element(Scanner& s, Array& array, std::int64_t i) {
  if (is_float(array.type)) {
    set(array, i, s.real());
  } else if (array.type == ElementType::u64) {
    set_integer(array, i, static_cast<std::int64_t>(s.natural()));
  } else {
    set_integer(array, i, s.integer());
  }
}

std::shared_ptr<const Array> read_value(Scanner& s, const TensorType& type) {
  constexpr std::int64_t limit = std::int64_t{1} << 28;
  if (s.accept_word("absent")) {
    return nullptr;
  }
  if (s.accept_word("omitted")) {
    s.word();
    return nullptr;
  }
  const std::int64_t count = elements(type.shape);
  if (count > limit) {
    s.fail("constant of " + to_string(type.shape) + " is too large to be written out",
           "write absent");
  }
  if (s.accept_word("splat")) {
    Array array = make_array(type.type, type.shape);
    Array one = make_array(type.type, {1});
    read_element(s, one, 0);
    const std::size_t size = one.data.size();
    for (std::size_t i = 0; i < array.data.size(); ++i) {
      array.data[i] = one.data[i % size];
    }
    return std::make_shared<const Array>(std::move(array));
  }
  s.expect('[');
  if (count > static_cast<std::int64_t>(
                  s.rest())) {  // every element takes a character: no memory for empty promises
    s.fail(fmt::format("fewer than {} values", count), "give one value per element");
  }
  Array array = make_array(type.type, type.shape);
  for (std::int64_t i = 0; i < count; ++i) {
    if (i > 0) {
      s.expect(',');
    }
    read_element(s, array, i);
  }
  s.expect(']');
  return std::make_shared<const Array>(std::move(array));
}

Op find_op(Scanner& s, const std::string& word) {
  for (const Op& op :
       {Op(Contraction{}), Op(Convolution{}), Op(Reduce{}), Op(ArgReduce{}), Op(Window{}),
        Op(Transpose{}), Op(Reshape{}), Op(Slice{}), Op(Concat{}), Op(Pad{}), Op(Expand{}),
        Op(Gather{}), Op(GatherElements{}), Op(ScatterND{}), Op(Convert{})}) {
    if (name_of(op) == word) {
      return op;
    }
  }
  for (int i = 0; i <= static_cast<int>(MapFunction::select); ++i) {
    if (name_of(static_cast<MapFunction>(i)) == word) {
      return Map{static_cast<MapFunction>(i)};
    }
  }
  s.fail("'" + word + "' is no operator", "see op.hpp for the names");
}

void add_tensor(Scanner& s, Lines& lines, const std::string& word, Tensor tensor) {
  if (!lines.place.try_emplace(word, lines.tensors.size()).second) {
    s.fail("%" + word + " is defined twice", "give every tensor its own %word");
  }
  lines.tensors.emplace_back(word, std::move(tensor));
}

Tensor read_tensor(Scanner& s, TensorKind kind) {
  TensorType type = read_type(s);
  Tensor tensor;
  tensor.type = type.type;
  tensor.shape = std::move(type.shape);
  tensor.kind = kind;
  tensor.name = s.quoted();
  return tensor;
}

void read_attributes(Scanner& s, Node& node, Tensor& output) {
  while (!s.at_end()) {
    const std::string key = s.word();
    s.expect('=');
    if (key == "origin") {
      node.origin = s.quoted();
      continue;
    }
    if (key == "tensor") {
      output.name = s.quoted();
      continue;
    }
    bool found = false;
    each_field(node.op, [&](const char* name, auto& value) {
      if (name == key) {
        found = true;
        read_field(s, value);
      }
    });
    if (!found) {
      s.fail(fmt::format("{} has no attribute '{}'", name_of(node.op), key),
             "see op.hpp for the names");
    }
  }
}

void read_node(Scanner& s, Lines& lines) {
  NodeLine line;
  line.line = s.line();
  const std::string word = s.reference();
  Tensor output = read_tensor(s, TensorKind::intermediate);
  line.node.name = output.name;
  line.node.origin = output.name;
  s.expect('=');
  line.node.op = find_op(s, s.word());
  s.expect('(');
  while (!s.accept(')')) {
    if (!line.operands.empty()) {
      s.expect(',');
    }
    line.operands.push_back(s.reference());
  }
  read_attributes(s, line.node, output);
  lines.producers[word] = lines.nodes.size();
  add_tensor(s, lines, word, std::move(output));
  lines.nodes.push_back(std::move(line));
}

void read_statement(Scanner& s, Lines& lines) {
  const std::string keyword = s.word();
  if (keyword == "input") {
    const std::string word = s.reference();
    add_tensor(s, lines, word, read_tensor(s, TensorKind::input));
    lines.inputs.push_back(word);
  } else if (keyword == "constant") {
    const std::string word = s.reference();
    Tensor tensor = read_tensor(s, TensorKind::constant);
    s.expect('=');
    tensor.data = read_value(s, type_of(tensor));
    add_tensor(s, lines, word, std::move(tensor));
  } else if (keyword == "node") {
    read_node(s, lines);
  } else if (keyword == "output") {
    OutputLine output{s.reference(), {}, s.line()};
    output.name = s.quoted();
    lines.outputs.push_back(std::move(output));
  } else {
    s.fail("unknown statement '" + keyword + "'", "use input, constant, node or output");
  }
}

// Index of each tensor: its word if the words are 0 .. n-1, else its place in the file.
std::vector<std::size_t> assign_ids(const Lines& lines) {
  const std::size_t count = lines.tensors.size();
  std::vector<std::size_t> ids(count, count);
  std::vector<bool> taken(count, false);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string& word = lines.tensors[i].first;
    std::size_t id = count;
    const auto [end, fault] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (fault != std::errc() || end != word.data() + word.size() || id >= count || taken[id]) {
      for (std::size_t j = 0; j < count; ++j) {
        ids[j] = j;
      }
      return ids;
    }
    taken[id] = true;
    ids[i] = id;
  }
  return ids;
}

Graph assemble(Lines lines, std::string_view name) {
  const std::vector<std::size_t> ids = assign_ids(lines);
  const auto id_of = [&](const std::string& word, int line) {
    const auto found = lines.place.find(word);
    if (found == lines.place.end()) {
      throw Error(fmt::format("{}:{}", name, line), "%" + word + " is not defined",
                  "define it or correct the word");
    }
    return TensorId(ids[found->second]);
  };
  Graph graph;
  graph.name = lines.name;
  graph.tensors.resize(lines.tensors.size());
  for (std::size_t i = 0; i < lines.tensors.size(); ++i) {
    auto& [word, tensor] = lines.tensors[i];
    if (tensor.kind == TensorKind::intermediate) {
      tensor.producer = NodeId(lines.producers.at(word));
    }
    graph.tensor_names.try_emplace(tensor.name, 1);
    graph.tensors[TensorId(ids[i])] = std::move(tensor);
  }
  for (const auto& [word, index] : lines.producers) {
    lines.nodes[index].node.output = id_of(word, lines.nodes[index].line);
  }
  for (NodeLine& line : lines.nodes) {
    for (const std::string& word : line.operands) {
      line.node.inputs.push_back(id_of(word, line.line));
    }
    graph.node_names.try_emplace(line.node.name, 1);
    graph.nodes.add(std::move(line.node));
  }
  for (const std::string& word : lines.inputs) {
    graph.inputs.push_back(id_of(word, 0));
  }
  for (const OutputLine& output : lines.outputs) {
    graph.outputs.push_back(id_of(output.word, output.line));
    graph.output_names.push_back(output.name);
  }
  return graph;
}

}  // namespace

Graph parse(std::string_view text, std::string_view name) {
  Lines lines;
  bool started = false;
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    Scanner s(text.substr(0, end), name, ++number);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (s.at_end()) {
      continue;
    }
    if (!started) {
      if (!s.accept_word("graph") || s.integer() != 1) {
        s.fail("this is no graph text of version 1", "start with: graph 1 \"name\"");
      }
      lines.name = s.quoted();
      started = true;
    } else {
      read_statement(s, lines);
    }
    if (!s.at_end()) {
      s.fail("unexpected text behind the statement", "write one statement per line");
    }
  }
  if (!started) {
    throw Error(std::string(name), "this is no graph text", "start with: graph 1 \"name\"");
  }
  Graph graph = assemble(std::move(lines), name);
  const std::vector<std::string> faults = verify(graph);
  if (!faults.empty()) {
    throw Error(std::string(name), faults.front(),
                faults.size() > 1 ? "and more faults of this kind" : "");
  }
  return graph;
}

}  // namespace systole::graph
