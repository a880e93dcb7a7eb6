#include "compiler/solver/formats/wcsp.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "compiler/solver/flat.hpp"
#include "compiler/solver/scanner.hpp"

namespace systole::solver::formats {
namespace {

constexpr int most_set_layouts = 8;

class NetworkOf {
 public:
  explicit NetworkOf(const Problem& problem) : flat_(flatten(problem)) {}

  Wcsp build() {
    for (int op = 0; op < flat_.operators; ++op) {
      out_.domains.push_back(std::max(flat_.rows(op), 1));
      CostFunction unary{{op}, 0, {}};
      if (flat_.rows(op) == 0) {  // no format knows an empty domain
        unary.tuples.push_back({{0}, infinity});
      }
      for (int r = 0; r < flat_.rows(op); ++r) {
        unary.tuples.push_back(
            {{r}, cost(flat_.row_cost[Flat::at(flat_.row_begin[Flat::at(op)] + r)])});
      }
      add(std::move(unary));
    }
    for (int tensor = 0; tensor < flat_.tensors; ++tensor) {
      add_tensor(tensor);
    }
    finish();
    return std::move(out_);
  }

 private:
  static Cost cost(Cost value) { return value >= infinity ? infinity : value; }

  void add(CostFunction function) {
    const bool matters = std::any_of(function.tuples.begin(), function.tuples.end(),
                                     [](const auto& tuple) { return tuple.second != 0; });
    if (matters) {
      out_.functions.push_back(std::move(function));
    }
  }

  // top is one more than every finite total.
  void finish() {
    Cost total = 0;
    for (const CostFunction& function : out_.functions) {
      Cost most = 0;
      for (const auto& [tuple, value] : function.tuples) {
        most = value < infinity ? std::max(most, value) : most;
      }
      total += most;
    }
    out_.top = total + 1;
    for (CostFunction& function : out_.functions) {
      for (auto& [tuple, value] : function.tuples) {
        value = std::min(value, out_.top);
      }
    }
  }

  [[nodiscard]] const int* layouts(int op, int r) const {
    return flat_.layouts_of(op, flat_.row_begin[Flat::at(op)] + r);
  }

  void add_tensor(int tensor) {
    const int producer = flat_.slot_op[Flat::at(flat_.producer_slot[Flat::at(tensor)])];
    std::map<int, std::vector<int>> arguments;  // by consumer
    for (const int use : flat_.uses_of(tensor)) {
      const int op = flat_.slot_op[Flat::at(use)];
      arguments[op].push_back(use - flat_.slot_begin[Flat::at(op)]);
    }
    if (arguments.size() == 1) {
      add_single(tensor, producer, arguments.begin()->first, arguments.begin()->second);
    } else if (!arguments.empty() && flat_.layouts[Flat::at(tensor)] <= most_set_layouts) {
      add_sets(tensor, producer, arguments);
    } else if (!arguments.empty()) {
      add_flags(tensor, producer, arguments);
    }
  }

  [[nodiscard]] Cost conversions(int tensor, int from, unsigned wanted) const {
    Cost sum = 0;
    for (int l = 0; l < flat_.layouts[Flat::at(tensor)]; ++l) {
      sum = solver::add(sum, (wanted >> l & 1U) != 0 ? flat_.convert(tensor, from, l) : 0);
    }
    return sum;
  }

  void add_single(int tensor, int producer, int consumer, const std::vector<int>& arguments) {
    CostFunction function{{producer, consumer}, 0, {}};
    for (int p = 0; p < flat_.rows(producer); ++p) {
      const int from = layouts(producer, p)[flat_.inputs(producer)];
      for (int c = 0; c < flat_.rows(consumer); ++c) {
        std::vector<int> wanted;
        Cost sum = 0;
        for (const int argument : arguments) {
          const int l = layouts(consumer, c)[argument];
          if (std::find(wanted.begin(), wanted.end(), l) == wanted.end()) {
            wanted.push_back(l);
            sum = solver::add(sum, flat_.convert(tensor, from, l));
          }
        }
        function.tuples.push_back({{p, c}, cost(sum)});
      }
    }
    add(std::move(function));
  }

  void add_sets(int tensor, int producer, const std::map<int, std::vector<int>>& arguments) {
    const auto sets = static_cast<int>((1U << flat_.layouts[Flat::at(tensor)]) - 1);
    const int variable = static_cast<int>(out_.domains.size());
    out_.domains.push_back(sets);  // value s is the set s + 1
    CostFunction price{{producer, variable}, 0, {}};
    for (int p = 0; p < flat_.rows(producer); ++p) {
      for (int s = 0; s < sets; ++s) {
        price.tuples.push_back({{p, s},
                                conversions(tensor, layouts(producer, p)[flat_.inputs(producer)],
                                            static_cast<unsigned>(s + 1))});
      }
    }
    add(std::move(price));
    for (const auto& [consumer, slots] : arguments) {
      CostFunction link{{consumer, variable}, 0, {}};
      for (int c = 0; c < flat_.rows(consumer); ++c) {
        unsigned wanted = 0;
        for (const int argument : slots) {
          wanted |= 1U << layouts(consumer, c)[argument];
        }
        for (int s = 0; s < sets; ++s) {
          const bool offered = (static_cast<unsigned>(s + 1) & wanted) == wanted;
          link.tuples.push_back({{c, s}, offered ? 0 : infinity});
        }
      }
      add(std::move(link));
    }
  }

  void add_flags(int tensor, int producer, const std::map<int, std::vector<int>>& arguments) {
    for (int l = 0; l < flat_.layouts[Flat::at(tensor)]; ++l) {
      const int flag = static_cast<int>(out_.domains.size());
      out_.domains.push_back(2);
      CostFunction price{{producer, flag}, 0, {}};
      for (int p = 0; p < flat_.rows(producer); ++p) {
        const int from = layouts(producer, p)[flat_.inputs(producer)];
        price.tuples.push_back({{p, 0}, 0});
        price.tuples.push_back({{p, 1}, cost(flat_.convert(tensor, from, l))});
      }
      add(std::move(price));
      for (const auto& [consumer, slots] : arguments) {
        CostFunction link{{consumer, flag}, 0, {}};
        for (int c = 0; c < flat_.rows(consumer); ++c) {
          const bool wants = std::any_of(slots.begin(), slots.end(), [&](int argument) {
            return layouts(consumer, c)[argument] == l;
          });
          link.tuples.push_back({{c, 0}, wants ? infinity : 0});
          link.tuples.push_back({{c, 1}, 0});
        }
        add(std::move(link));
      }
    }
  }

  Flat flat_;
  Wcsp out_;
};

std::string word_of(std::string_view title) {
  std::string out;
  for (const char c : title) {
    out += static_cast<unsigned char>(c) <= ' ' || c == '"' ? '_' : c;
  }
  return out.empty() ? "problem" : out;
}

}  // namespace

Wcsp wcsp_of(const Problem& problem) {
  return NetworkOf(problem).build();
}

std::string print_wcsp(const Wcsp& network, std::string_view title) {
  fmt::memory_buffer out;
  const auto sink = std::back_inserter(out);
  const int largest = network.domains.empty()
                          ? 0
                          : *std::max_element(network.domains.begin(), network.domains.end());
  fmt::format_to(sink, "{} {} {} {} {}\n", word_of(title), network.domains.size(), largest,
                 network.functions.size(), network.top);
  fmt::format_to(sink, "{}\n", fmt::join(network.domains, " "));
  for (const CostFunction& function : network.functions) {
    std::size_t listed = 0;
    for (const auto& [tuple, cost] : function.tuples) {
      listed += cost != function.otherwise ? 1 : 0;
    }
    fmt::format_to(sink, "{} {} {} {}\n", function.scope.size(), fmt::join(function.scope, " "),
                   function.otherwise, listed);
    for (const auto& [tuple, cost] : function.tuples) {
      if (cost != function.otherwise) {
        fmt::format_to(sink, "{} {}\n", fmt::join(tuple, " "), cost);
      }
    }
  }
  return fmt::to_string(out);
}

std::string print_cfn(const Wcsp& network, std::string_view title) {
  fmt::memory_buffer out;
  const auto sink = std::back_inserter(out);
  fmt::format_to(sink, "{{\"problem\":{{\"name\":\"{}\",\"mustbe\":\"<{}\"}},\n\"variables\":{{",
                 word_of(title), network.top);
  for (std::size_t v = 0; v < network.domains.size(); ++v) {
    fmt::format_to(sink, "{}\"x{}\":{}", v == 0 ? "" : ",", v, network.domains[v]);
  }
  fmt::format_to(sink, "}},\n\"functions\":{{");
  for (std::size_t f = 0; f < network.functions.size(); ++f) {
    const CostFunction& function = network.functions[f];
    fmt::format_to(sink, "{}\n\"f{}\":{{\"scope\":[", f == 0 ? "" : ",", f);
    for (std::size_t i = 0; i < function.scope.size(); ++i) {
      fmt::format_to(sink, "{}\"x{}\"", i == 0 ? "" : ",", function.scope[i]);
    }
    fmt::format_to(sink, "],\"defaultcost\":{},\"costs\":[", function.otherwise);
    bool first = true;
    for (const auto& [tuple, cost] : function.tuples) {
      if (cost != function.otherwise) {
        fmt::format_to(sink, "{}{},{}", first ? "" : ",", fmt::join(tuple, ","), cost);
        first = false;
      }
    }
    fmt::format_to(sink, "]}}");
  }
  fmt::format_to(sink, "}}\n}}\n");
  return fmt::to_string(out);
}

Wcsp parse_wcsp(std::string_view text, std::string_view name) {
  Scanner scan(text, name);
  std::size_t next = 0;
  const auto word = [&]() {  // .wcsp is a stream of words; lines do not matter
    while (next >= scan.words().size()) {
      if (!scan.next_line()) {
        scan.fail("the text ends too early");
      }
      next = 0;
    }
    return scan.words()[next++];
  };
  const auto number = [&](std::int64_t low, std::int64_t high, std::string_view what) {
    return scan.number(word(), low, high, what);
  };
  word();  // title
  Wcsp out;
  const std::int64_t variables = number(0, 1 << 26, "number of variables");
  number(0, 1 << 20, "largest domain");
  const std::int64_t functions = number(0, 1 << 26, "number of functions");
  out.top = number(1, infinity, "top");
  for (std::int64_t v = 0; v < variables; ++v) {
    out.domains.push_back(static_cast<int>(number(1, 1 << 20, "domain size")));
  }
  for (std::int64_t f = 0; f < functions; ++f) {
    CostFunction function;
    const std::int64_t arity = number(0, variables, "arity");
    for (std::int64_t i = 0; i < arity; ++i) {
      function.scope.push_back(static_cast<int>(number(0, variables - 1, "variable")));
    }
    function.otherwise = number(0, infinity, "default cost (named functions are not read)");
    const std::int64_t tuples = number(0, 1 << 28, "number of tuples");
    for (std::int64_t t = 0; t < tuples; ++t) {
      std::vector<int> tuple;
      for (const int v : function.scope) {
        tuple.push_back(
            static_cast<int>(number(0, out.domains[static_cast<std::size_t>(v)] - 1, "value")));
      }
      function.tuples.emplace_back(std::move(tuple), number(0, infinity, "cost"));
    }
    out.functions.push_back(std::move(function));
  }
  return out;
}

Problem problem_of(const Wcsp& network) {
  Problem problem;
  for (std::size_t v = 0; v < network.domains.size(); ++v) {
    const auto k = static_cast<std::size_t>(network.domains[v]);
    Tensor tensor{fmt::format("x{}", v), network.domains[v], {}, {}, {}};
    tensor.conversion.assign(k * k, infinity);
    Operator source{fmt::format("choose_x{}", v), {}, TensorId(v), {}, "source", -1};
    for (std::size_t l = 0; l < k; ++l) {
      tensor.conversion[l * (k + 1)] = 0;
      source.rows.push_back({{static_cast<int>(l)}, 0});
    }
    problem.tensors.add(std::move(tensor));
    problem.operators.add(std::move(source));
  }
  for (std::size_t f = 0; f < network.functions.size(); ++f) {
    const CostFunction& function = network.functions[f];
    Operator op{fmt::format("f{}", f), {}, TensorId{}, {}, "", -1};
    std::map<std::vector<int>, Cost> listed(function.tuples.begin(), function.tuples.end());
    for (const int v : function.scope) {
      op.inputs.emplace_back(static_cast<std::size_t>(v));
    }
    std::vector<int> tuple(function.scope.size(), 0);
    for (bool more = true; more;) {
      const auto found = listed.find(tuple);
      const Cost cost = found == listed.end() ? function.otherwise : found->second;
      Row row{tuple, cost >= network.top ? infinity : cost};
      row.layouts.push_back(0);
      op.rows.push_back(std::move(row));
      more = false;
      for (std::size_t i = tuple.size(); i-- > 0 && !more;) {
        more = ++tuple[i] < network.domains[static_cast<std::size_t>(function.scope[i])];
        tuple[i] = more ? tuple[i] : 0;
      }
    }
    op.output = problem.tensors.add({fmt::format("r{}", f), 1, {0}, {}, {}});
    problem.operators.add(std::move(op));
  }
  return problem;
}

}  // namespace systole::solver::formats
