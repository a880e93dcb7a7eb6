// MatMul, Gemm and Einsum. All become contractions whose labels name axes, so that no transpose is ever needed.

#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "compiler/frontend/onnx/converters.hpp"
#include "compiler/frontend/onnx/products.hpp"

namespace systole::frontend {

namespace {

std::vector<int> labels(int first, int count) {
  std::vector<int> out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), first);
  return out;
}

// An operand of an einsum term: a tensor and the label of each of its axes.
struct Labelled {
  TensorId tensor;
  std::vector<int> labels;
};

bool contains(const std::vector<int>& list, int label) {
  return std::find(list.begin(), list.end(), label) != list.end();
}

// Axes with the same label become their diagonal.
Labelled without_repeats(Builder& build, Labelled x) {
  for (int a = 0; a < build.rank(x.tensor); ++a) {
    for (int b = a + 1; b < build.rank(x.tensor); ++b) {
      if (x.labels[static_cast<std::size_t>(a)] != x.labels[static_cast<std::size_t>(b)]) {
        continue;
      }
      std::vector<int> perm;
      Shape shape;
      std::vector<int> kept;
      for (int c = 0; c < build.rank(x.tensor); ++c) {
        if (c != a && c != b) {
          perm.push_back(c);
          shape.push_back(build.extent(x.tensor, c));
          kept.push_back(x.labels[static_cast<std::size_t>(c)]);
        }
      }
      perm.push_back(a);
      perm.push_back(b);
      const std::int64_t n = build.extent(x.tensor, a);
      if (n != build.extent(x.tensor, b)) {
        build.fail("Einsum: a repeated label has two extents");
      }
      kept.push_back(x.labels[static_cast<std::size_t>(a)]);
      shape.push_back(n * n);
      const TensorId flat = build.reshape(build.transpose(x.tensor, perm), shape);
      const int last = build.rank(flat) - 1;
      return without_repeats(build, {build.slice_axis(flat, last, 0, n, n + 1), kept});
    }
  }
  return x;
}

// Sums over the labels that neither `keep` names.
Labelled reduced(Builder& build, const Labelled& x, const std::vector<int>& keep) {
  std::vector<int> axes;
  Labelled out;
  for (std::size_t a = 0; a < x.labels.size(); ++a) {
    if (contains(keep, x.labels[a])) {
      out.labels.push_back(x.labels[a]);
    } else {
      axes.push_back(static_cast<int>(a));
    }
  }
  out.tensor = build.reduce(ReduceFunction::sum, x.tensor, axes, false);
  return out;
}

// Drops the extent-1 axes whose label has a larger extent in the other operand.
Labelled without_broadcast(Builder& build, const Labelled& x, const Labelled& other) {
  Labelled out;
  Shape shape;
  for (std::size_t a = 0; a < x.labels.size(); ++a) {
    const std::int64_t extent = build.shape(x.tensor)[a];
    const auto at = std::find(other.labels.begin(), other.labels.end(), x.labels[a]);
    const bool wider =
        at != other.labels.end() &&
        build.shape(other.tensor)[static_cast<std::size_t>(at - other.labels.begin())] != 1;
    if (extent != 1 || !wider) {
      out.labels.push_back(x.labels[a]);
      shape.push_back(extent);
    }
  }
  out.tensor = build.reshape(x.tensor, shape);
  return out;
}

// Labels become 0, 1, ... as the core wants them; the order carries no meaning.
void renumber(std::vector<std::vector<int>*> lists) {
  std::map<int, int> numbers;
  for (auto* list : lists) {
    for (int& label : *list) {
      label = numbers.emplace(label, static_cast<int>(numbers.size())).first->second;
    }
  }
}

Labelled multiplied(Builder& build, const Labelled& a, const Labelled& b,
                    const std::vector<int>& keep) {
  std::vector<int> both = keep;
  both.insert(both.end(), b.labels.begin(), b.labels.end());
  Labelled lhs = without_broadcast(build, a, b);
  Labelled rhs = without_broadcast(build, b, a);
  both = keep;
  both.insert(both.end(), rhs.labels.begin(), rhs.labels.end());
  lhs = reduced(build, lhs, both);
  both = keep;
  both.insert(both.end(), lhs.labels.begin(), lhs.labels.end());
  rhs = reduced(build, rhs, both);
  Labelled out;
  for (const int label : keep) {
    if (contains(lhs.labels, label) || contains(rhs.labels, label)) {
      out.labels.push_back(label);
    }
  }
  graph::Contraction op{lhs.labels, rhs.labels, out.labels};
  renumber({&op.lhs, &op.rhs, &op.out});
  out.tensor = build.contract(lhs.tensor, rhs.tensor, std::move(op));
  return out;
}

struct Equation {
  std::vector<std::string> terms;
  std::string result;
};

Equation parse_equation(const Call& call) {
  std::string text = call.text("equation", "");
  std::erase(text, ' ');
  const auto arrow = text.find("->");
  Equation out;
  std::string terms = text.substr(0, arrow);
  for (std::size_t start = 0; start <= terms.size();) {
    const auto comma = std::min(terms.find(',', start), terms.size());
    out.terms.push_back(terms.substr(start, comma - start));
    start = comma + 1;
  }
  if (arrow != std::string::npos) {
    out.result = text.substr(arrow + 2);
    return out;
  }
  std::map<char, int> seen;  // implicit result: the ellipsis, then labels that occur once, in order
  for (const char c : terms) {
    ++seen[c];
  }
  out.result = terms.find("...") != std::string::npos ? "..." : "";
  for (const auto& [c, times] : seen) {
    if (times == 1 && std::isalpha(static_cast<unsigned char>(c)) != 0) {
      out.result += c;
    }
  }
  return out;
}

// Letters are labels by code; the axes of an ellipsis count down from -1 at its right end.
std::vector<int> labels_of(const Call& call, const std::string& term, int ellipsis_rank) {
  std::vector<int> out;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (term.compare(i, 3, "...") == 0) {
      for (int e = ellipsis_rank; e > 0; --e) {
        out.push_back(-e);
      }
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(term[i])) != 0) {
      out.push_back(term[i]);
    } else {
      call.fail(fmt::format("equation '{}' is malformed", call.text("equation", "")));
    }
  }
  return out;
}

}  // namespace

TensorId matmul(Builder& build, TensorId a, TensorId b) {
  if (build.rank(a) == 0 || build.rank(b) == 0) {
    build.fail("a matrix product of a scalar is not possible");
  }
  const int ra = build.rank(a);
  const int rb = build.rank(b);
  const std::int64_t inner_a = build.extent(a, ra - 1);
  const std::int64_t inner_b = build.extent(b, std::max(0, rb - 2));
  if (inner_a != inner_b) {
    build.fail(fmt::format("matrix product of {} and {}: inner extents {} and {} differ",
                           graph::to_string(build.shape(a)), graph::to_string(build.shape(b)),
                           inner_a, inner_b));
  }
  // Labels: batch axes count from the right, 0 being next to the matrices.
  const int batch = std::max({0, ra - 2, rb - 2});
  const int row = batch;
  const int column = batch + 1;
  const int inner = batch + 2;
  Labelled lhs{a, {}};
  Labelled rhs{b, {}};
  for (int i = ra - 3; i >= 0; --i) {
    lhs.labels.push_back(i);
  }
  for (int i = rb - 3; i >= 0; --i) {
    rhs.labels.push_back(i);
  }
  std::vector<int> out = labels(0, batch);
  std::reverse(out.begin(), out.end());
  if (ra > 1) {
    lhs.labels.push_back(row);
    out.push_back(row);
  }
  lhs.labels.push_back(inner);
  rhs.labels.push_back(inner);
  if (rb > 1) {
    rhs.labels.push_back(column);
    out.push_back(column);
  }
  return multiplied(build, lhs, rhs, out).tensor;
}

Values convert_matmul(Call& call) {
  return {matmul(call.build, call.input(0), call.input(1))};
}

Values convert_gemm(Call& call) {
  Builder& build = call.build;
  TensorId a = call.input(0);
  if (build.rank(a) != 2) {  // opsets below 7 flatten
    const std::int64_t rows = build.rank(a) == 0 ? 1 : build.extent(a, 0);
    a = build.reshape(a, {rows, rows == 0 ? 0 : build.count(a) / rows});
  }
  const TensorId b = call.input(1);
  if (build.rank(b) != 2) {
    call.fail("the second operand is not a matrix");
  }
  const bool swap_a = call.integer("transA", 0) != 0;
  const bool swap_b = call.integer("transB", 0) != 0;
  const std::int64_t inner_a = build.extent(a, swap_a ? 0 : 1);
  const std::int64_t inner_b = build.extent(b, swap_b ? 1 : 0);
  if (inner_a != inner_b) {
    call.fail(fmt::format("inner extents {} and {} differ", inner_a, inner_b));
  }
  graph::Contraction op;
  op.lhs = swap_a ? std::vector<int>{2, 0} : std::vector<int>{0, 2};
  op.rhs = swap_b ? std::vector<int>{1, 2} : std::vector<int>{2, 1};
  op.out = {0, 1};
  const TensorId product = build.multiply(build.contract(a, b, op), call.real("alpha", 1.0));
  if (!call.has(2) || call.real("beta", 1.0) == 0.0) {
    return {product};
  }
  return {build.add(product, build.multiply(call.input(2), call.real("beta", 1.0)))};
}

Values convert_einsum(Call& call) {
  Builder& build = call.build;
  const Equation equation = parse_equation(call);
  if (equation.terms.size() != call.operands.size()) {
    call.fail(fmt::format("{} terms for {} operands", equation.terms.size(), call.operand_count()));
  }
  std::vector<Labelled> operands;
  int widest = 0;
  for (std::size_t i = 0; i < equation.terms.size(); ++i) {
    const std::string& term = equation.terms[i];
    const bool open = term.find("...") != std::string::npos;
    const int extra =
        call.rank(static_cast<int>(i)) - static_cast<int>(term.size()) + (open ? 3 : 0);
    Labelled x{call.input(static_cast<int>(i)), labels_of(call, term, open ? extra : 0)};
    if (extra < 0 || static_cast<int>(x.labels.size()) != build.rank(x.tensor)) {
      call.fail(fmt::format("term '{}' does not fit rank {}", term, build.rank(x.tensor)));
    }
    widest = open ? std::max(widest, extra) : widest;
    operands.push_back(without_repeats(build, x));
  }
  const std::vector<int> result = labels_of(call, equation.result, widest);
  Labelled total = operands[0];
  for (std::size_t i = 1; i < operands.size(); ++i) {
    std::vector<int> keep = result;
    for (std::size_t later = i + 1; later < operands.size(); ++later) {
      for (const int label : operands[later].labels) {
        if (!contains(keep, label)) {
          keep.push_back(label);
        }
      }
    }
    total = multiplied(build, total, operands[i], keep);
  }
  total = reduced(build, total, result);
  std::vector<int> perm;
  for (const int label : result) {
    const auto at = std::find(total.labels.begin(), total.labels.end(), label);
    if (at == total.labels.end()) {
      call.fail("a label of the result occurs in no operand");
    }
    perm.push_back(static_cast<int>(at - total.labels.begin()));
  }
  return {build.transpose(total.tensor, perm)};
}

}  // namespace systole::frontend
