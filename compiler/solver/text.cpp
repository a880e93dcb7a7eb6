#include "compiler/solver/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <unordered_map>

#include "compiler/solver/ls_text.hpp"
#include "compiler/solver/scanner.hpp"
#include "isa/base/error.hpp"

namespace systole::solver {
namespace {

// Reads the named form. Operators may mention tensors declared further down, so the operators' lines are resolved at
// the end of each operator block only if the tensor is known by then; tensors are therefore collected first.
class ProblemReader {
 public:
  ProblemReader(std::string_view text, std::string_view name) : text_(text), name_(name) {}

  Problem read() {
    collect_tensors();
    Scanner scan(text_, name_);
    scan.next_line();  // header, already checked
    while (scan.next_line()) {
      statement(scan);
    }
    finish_tensor(scan);
    return std::move(problem_);
  }

 private:
  void collect_tensors() {
    Scanner scan(text_, name_);
    if (!scan.next_line() || scan.words().size() != 2 || scan.words()[0] != "layout-selection") {
      scan.fail("the first statement must be 'layout-selection 1'");
    }
    scan.number(scan.words()[1], 1, 1, "format version");
    while (scan.next_line()) {
      const auto& words = scan.words();
      if (words[0] != "tensor") {
        continue;
      }
      if (words.size() < 3) {
        scan.fail("a tensor needs a name and at least one layout");
      }
      Tensor tensor;
      tensor.name = words[1];
      tensor.layouts = static_cast<int>(words.size()) - 2;
      for (std::size_t i = 2; i < words.size(); ++i) {
        if (find_layout(tensor, words[i]) >= 0) {
          scan.fail(fmt::format("tensor {} has layout {} twice", tensor.name, words[i]));
        }
        tensor.layout_names.emplace_back(words[i]);
      }
      const auto k = static_cast<std::size_t>(tensor.layouts);
      tensor.conversion.assign(k * k, unstated);
      for (std::size_t i = 0; i < k; ++i) {
        tensor.conversion[i * (k + 1)] = 0;
      }
      const TensorId id(problem_.tensors.size());
      if (!by_name_.emplace(tensor.name, id).second) {
        scan.fail(fmt::format("tensor {} is declared twice", tensor.name));
      }
      problem_.tensors.add(std::move(tensor));
    }
  }

  void statement(const Scanner& scan) {
    const std::string_view keyword = scan.words()[0];
    if (keyword == "tensor" || keyword == "operator") {
      finish_tensor(scan);
      tensor_ = TensorId{};
      in_operator_ = false;
    }
    if (keyword == "tensor") {
      tensor_ = by_name_.at(std::string(scan.words()[1]));
    } else if (keyword == "operator") {
      begin_operator(scan);
    } else if (keyword == "convert") {
      convert(scan);
    } else if (keyword == "groups") {
      groups(scan);
    } else if (keyword == "row") {
      row(scan);
    } else if (keyword == "family") {
      need(scan, in_operator_ && scan.words().size() == 2, "family NAME, inside an operator");
      last_operator().family = scan.words()[1];
    } else if (keyword == "group") {
      need(scan, in_operator_ && scan.words().size() == 2, "group NUMBER, inside an operator");
      last_operator().group = static_cast<int>(scan.number(scan.words()[1], -1, 1 << 30, "group"));
    } else {
      scan.fail(fmt::format("unknown statement '{}'", keyword),
                "statements are tensor, convert, groups, operator, family, group, row");
    }
  }

  void finish_tensor(const Scanner& scan) const {
    if (!tensor_.valid()) {
      return;
    }
    const Tensor& tensor = problem_.tensors[tensor_];
    for (int from = 0; from < tensor.layouts; ++from) {
      for (int to = 0; to < tensor.layouts; ++to) {
        if (tensor.convert(from, to) == unstated) {
          scan.fail(fmt::format("tensor {} ends without the cost of converting {} to {}",
                                tensor.name, layout_name(tensor, from), layout_name(tensor, to)),
                    "state it with 'convert FROM TO COST' or 'convert all COST'");
        }
      }
    }
  }

  void begin_operator(const Scanner& scan) {
    const auto& words = scan.words();
    need(scan, words.size() >= 4 && words[words.size() - 2] == "->",
         "operator NAME INPUT... -> OUTPUT");
    Operator op;
    op.name = words[1];
    if (!operator_names_.insert(op.name).second) {
      scan.fail(fmt::format("operator {} is declared twice", op.name));
    }
    for (std::size_t i = 2; i < words.size(); ++i) {
      if (i == words.size() - 2) {
        continue;
      }
      const auto found = by_name_.find(std::string(words[i]));
      if (found == by_name_.end()) {
        scan.fail(
            fmt::format("operator {} names tensor {}, which is not declared", op.name, words[i]));
      }
      (i + 1 == words.size() ? op.output : op.inputs.emplace_back()) = found->second;
    }
    problem_.operators.add(std::move(op));
    in_operator_ = true;
  }

  void convert(const Scanner& scan) {
    const auto& words = scan.words();
    const bool all = words.size() == 3 && words[1] == "all";
    need(scan, tensor_.valid() && (all || words.size() == 4),
         "convert all COST or convert FROM TO COST, inside a tensor");
    Tensor& tensor = problem_.tensors[tensor_];
    const Cost value = cost(scan, words.back());
    const auto k = static_cast<std::size_t>(tensor.layouts);
    if (all) {
      for (std::size_t i = 0; i < k * k; ++i) {
        tensor.conversion[i] = i % (k + 1) == 0 ? 0 : value;
      }
      return;
    }
    const auto from = static_cast<std::size_t>(layout(scan, tensor, words[1]));
    const auto to = static_cast<std::size_t>(layout(scan, tensor, words[2]));
    if (from == to && value != 0) {
      scan.fail("converting a layout to itself costs 0");
    }
    tensor.conversion[from * k + to] = value;
  }

  void groups(const Scanner& scan) {
    need(scan, tensor_.valid(), "groups NUMBER..., inside a tensor");
    Tensor& tensor = problem_.tensors[tensor_];
    need(scan, scan.words().size() == tensor.layout_names.size() + 1, "groups: one per layout");
    tensor.groups.clear();
    for (std::size_t i = 1; i < scan.words().size(); ++i) {
      tensor.groups.push_back(static_cast<int>(scan.number(scan.words()[i], -1, 1 << 30, "group")));
    }
  }

  void row(const Scanner& scan) {
    const auto& words = scan.words();
    need(scan, in_operator_, "row, inside an operator");
    Operator& op = last_operator();
    need(scan, words.size() == op.inputs.size() + 4 && words[op.inputs.size() + 1] == "->",
         fmt::format("row, {} input layouts, ->, output layout, cost", op.inputs.size()));
    Row out;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      out.layouts.push_back(layout(scan, problem_.tensors[op.inputs[i]], words[i + 1]));
    }
    out.layouts.push_back(layout(scan, problem_.tensors[op.output], words[op.inputs.size() + 2]));
    out.cost = cost(scan, words.back());
    op.rows.push_back(std::move(out));
  }

  static void need(const Scanner& scan, bool condition, const std::string& form) {
    if (!condition) {
      scan.fail(fmt::format("statement '{}' has the wrong form or place", scan.words()[0]),
                "the form is: " + form);
    }
  }
  static Cost cost(const Scanner& scan, std::string_view word) {
    return word == "inf" ? infinity : scan.number(word, 0, infinity - 1, "cost");
  }
  static int find_layout(const Tensor& tensor, std::string_view word) {
    const auto found = std::find(tensor.layout_names.begin(), tensor.layout_names.end(), word);
    return found == tensor.layout_names.end()
               ? -1
               : static_cast<int>(found - tensor.layout_names.begin());
  }
  static int layout(const Scanner& scan, const Tensor& tensor, std::string_view word) {
    const int found = find_layout(tensor, word);
    if (found < 0) {
      scan.fail(fmt::format("tensor {} has no layout {}", tensor.name, word),
                fmt::format("it has {}", fmt::join(tensor.layout_names, " ")));
    }
    return found;
  }
  Operator& last_operator() {
    return problem_.operators[OperatorId(problem_.operators.size() - 1)];
  }

  static constexpr Cost unstated = -1;

  std::string_view text_;
  std::string_view name_;
  Problem problem_;
  std::unordered_map<std::string, TensorId> by_name_;
  std::set<std::string> operator_names_;
  TensorId tensor_;           // of the tensor block being read
  bool in_operator_ = false;  // inside an operator block
};

// A word that can stand in the file and is not taken yet.
std::string unique_word(std::string wanted, std::set<std::string>& taken) {
  for (char& c : wanted) {
    if (static_cast<unsigned char>(c) <= ' ' || c == '#') {
      c = '_';
    }
  }
  if (wanted.empty() || wanted == "->" || wanted == "all") {
    wanted += '_';
  }
  std::string word = wanted;
  for (int i = 2; !taken.insert(word).second; ++i) {
    word = fmt::format("{}~{}", wanted, i);
  }
  return word;
}

std::string cost_word(Cost cost) {
  return cost >= infinity ? "inf" : fmt::format("{}", cost);
}

void print_tensor(fmt::memory_buffer& out, const Tensor& tensor, const std::string& name,
                  const std::vector<std::string>& layouts) {
  const auto sink = std::back_inserter(out);
  fmt::format_to(sink, "tensor {} {}\n", name, fmt::join(layouts, " "));
  const auto k = static_cast<std::size_t>(tensor.layouts);
  bool uniform = true;
  for (std::size_t i = 0; i < k * k; ++i) {
    uniform = uniform && (i % (k + 1) == 0 || tensor.conversion[i] == tensor.conversion[1]);
  }
  if (k > 1 && uniform) {
    fmt::format_to(sink, "  convert all {}\n", cost_word(tensor.conversion[1]));
  }
  for (std::size_t i = 0; i < k * k && !uniform; ++i) {
    if (i % (k + 1) != 0) {
      fmt::format_to(sink, "  convert {} {} {}\n", layouts[i / k], layouts[i % k],
                     cost_word(tensor.conversion[i]));
    }
  }
  if (!tensor.groups.empty()) {
    fmt::format_to(sink, "  groups {}\n", fmt::join(tensor.groups, " "));
  }
}

}  // namespace

Problem parse_problem(std::string_view text, std::string_view name) {
  Scanner scan(text, name);
  const bool ls = scan.next_line() && scan.words()[0] == "ls";
  Problem problem = ls ? parse_ls(text, name) : ProblemReader(text, name).read();
  const std::vector<Diagnostic> mistakes = check(problem);
  if (!mistakes.empty()) {
    throw Error(fmt::format("{}: {}", name, mistakes.front().where), mistakes.front().what,
                "correct the problem");
  }
  return problem;
}

Problem read_problem(const std::string& path) {
  return parse_problem(read_file(path), path);
}

std::string print_problem(const Problem& problem) {
  fmt::memory_buffer out;
  const auto sink = std::back_inserter(out);
  fmt::format_to(sink, "layout-selection 1\n");
  std::set<std::string> taken;
  IdVector<TensorId, std::string> names;
  IdVector<TensorId, std::vector<std::string>> layouts(problem.tensors.size());
  for (const TensorId id : problem.tensors.ids()) {
    const Tensor& tensor = problem.tensors[id];
    names.add(unique_word(display_name(problem, id), taken));
    std::set<std::string> taken_layouts;
    for (int l = 0; l < tensor.layouts; ++l) {
      layouts[id].push_back(unique_word(layout_name(tensor, l), taken_layouts));
    }
    print_tensor(out, tensor, names[id], layouts[id]);
  }
  std::set<std::string> taken_operators;
  for (const OperatorId id : problem.operators.ids()) {
    const Operator& op = problem.operators[id];
    fmt::format_to(sink, "operator {}", unique_word(display_name(problem, id), taken_operators));
    for (const TensorId input : op.inputs) {
      fmt::format_to(sink, " {}", names[input]);
    }
    fmt::format_to(sink, " -> {}\n", names[op.output]);
    if (!op.family.empty()) {
      fmt::format_to(sink, "  family {}\n", op.family);
    }
    if (op.group != -1) {
      fmt::format_to(sink, "  group {}\n", op.group);
    }
    for (const Row& row : op.rows) {
      fmt::format_to(sink, "  row");
      for (std::size_t i = 0; i < op.inputs.size(); ++i) {
        fmt::format_to(sink, " {}",
                       layouts[op.inputs[i]][static_cast<std::size_t>(row.layouts[i])]);
      }
      fmt::format_to(sink, " -> {} {}\n",
                     layouts[op.output][static_cast<std::size_t>(row.layouts.back())],
                     cost_word(row.cost));
    }
  }
  return fmt::to_string(out);
}

std::string read_file(const std::string& path) {
  if (std::filesystem::is_directory(path)) {
    throw Error(path, "is a folder, not a file");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw Error(path, "cannot open the file for reading");
  }
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (file.bad()) {
    throw Error(path, "cannot read the file");
  }
  return text;
}

}  // namespace systole::solver
