// Contraction: the labels are sorted into batch, m, n and k; every class becomes a list of element
// offsets per operand, so that a block of either operand is gathered into a dense panel whatever
// its axis order, and Eigen multiplies panels. Panels bound the memory (about 30 MB) however large
// the operands are. Floats are multiplied and accumulated in double.
#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <map>

#include "compiler/graph/ops/ops.hpp"
#include "compiler/graph/ops/values.hpp"
#include "compiler/graph/ops/walk.hpp"

namespace systole::graph::ops {
namespace {

bool contains(const std::vector<int>& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

void require_labels(const InferCall& call, std::string_view name, const std::vector<int>& labels,
                    std::size_t rank) {
  require_size(call, "contraction", fmt::format("the label list {}", name), labels.size(), rank);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (labels[i] == labels[j]) {
        refuse(call, "contraction", fmt::format("label {} stands twice in {}", labels[i], name),
               "labels of one operand are distinct");
      }
    }
  }
}

// Offsets of all index tuples over `labels`, row-major, in an operand with these labels and this
// shape. Labels that the operand lacks do not occur.
std::vector<std::int64_t> offsets_of(const std::vector<int>& labels, const std::vector<int>& own,
                                     const Shape& shape) {
  const Strides strides = strides_of(shape);
  std::vector<std::int64_t> offsets{0};
  for (const int label : labels) {
    const auto axis =
        static_cast<std::size_t>(std::find(own.begin(), own.end(), label) - own.begin());
    std::vector<std::int64_t> next;
    next.reserve(offsets.size() * static_cast<std::size_t>(shape[axis]));
    for (const std::int64_t offset : offsets) {
      for (std::int64_t i = 0; i < shape[axis]; ++i) {
        next.push_back(offset + i * strides[axis]);
      }
    }
    offsets = std::move(next);
  }
  return offsets;
}

template <class W>
using Panel = Eigen::Matrix<W, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

using Offsets = std::vector<std::int64_t>;
struct Range {
  std::size_t begin, end;
  [[nodiscard]] Eigen::Index size() const { return static_cast<Eigen::Index>(end - begin); }
};

template <class W>
void gather_panel(Panel<W>& panel, const Array& array, std::int64_t base, const Offsets& rows,
                  Range r, const Offsets& columns, Range c) {
  panel.resize(r.size(), c.size());
  with_element(array.type, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    const T* data = data_of<T>(array) + base;
    for (std::size_t i = r.begin; i < r.end; ++i) {
      const T* row = data + rows[i];
      W* to = panel.data() + static_cast<Eigen::Index>(i - r.begin) * c.size();
      for (std::size_t j = c.begin; j < c.end; ++j) {
        to[j - c.begin] = element_cast<W>(row[columns[j]]);
      }
    }
  });
}

template <class W>
void scatter_panel(const Panel<W>& panel, Array& array, std::int64_t base, const Offsets& rows,
                   Range r, const Offsets& columns, Range c) {
  with_element(array.type, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    T* data = data_of<T>(array) + base;
    for (std::size_t i = r.begin; i < r.end; ++i) {
      for (std::size_t j = c.begin; j < c.end; ++j) {
        data[rows[i] + columns[j]] = element_cast<T>(
            panel(static_cast<Eigen::Index>(i - r.begin), static_cast<Eigen::Index>(j - c.begin)));
      }
    }
  });
}

struct Classes {
  std::vector<int> batch, m, n, k;
};

Classes classify(const Contraction& op) {
  Classes classes;
  for (const int label : op.out) {
    const bool left = contains(op.lhs, label);
    const bool right = contains(op.rhs, label);
    (left && right ? classes.batch : left ? classes.m : classes.n).push_back(label);
  }
  for (const int label : op.lhs) {
    if (!contains(op.out, label)) {
      classes.k.push_back(label);
    }
  }
  return classes;
}

template <class W>
Array multiply(const Contraction& op, const Array& lhs, const Array& rhs,
               const TensorType& output) {
  Array out = make_array(output.type, output.shape);
  if (elements(output.shape) == 0) {
    return out;
  }
  const Classes classes = classify(op);
  const Offsets lhs_batch = offsets_of(classes.batch, op.lhs, lhs.shape);
  const Offsets rhs_batch = offsets_of(classes.batch, op.rhs, rhs.shape);
  const Offsets out_batch = offsets_of(classes.batch, op.out, out.shape);
  const Offsets lhs_m = offsets_of(classes.m, op.lhs, lhs.shape);
  const Offsets out_m = offsets_of(classes.m, op.out, out.shape);
  const Offsets rhs_n = offsets_of(classes.n, op.rhs, rhs.shape);
  const Offsets out_n = offsets_of(classes.n, op.out, out.shape);
  const Offsets lhs_k = offsets_of(classes.k, op.lhs, lhs.shape);
  const Offsets rhs_k = offsets_of(classes.k, op.rhs, rhs.shape);
  constexpr std::size_t m_block = 1024;
  constexpr std::size_t n_block = 2048;
  constexpr std::size_t k_block = 512;
  Panel<W> a;
  Panel<W> b;
  Panel<W> c;
  for (std::size_t batch = 0; batch < out_batch.size(); ++batch) {
    for (std::size_t n = 0; n < out_n.size(); n += n_block) {
      const Range columns{n, std::min(n + n_block, out_n.size())};
      for (std::size_t m = 0; m < out_m.size(); m += m_block) {
        const Range rows{m, std::min(m + m_block, out_m.size())};
        c.setZero(rows.size(), columns.size());
        for (std::size_t k = 0; k < lhs_k.size(); k += k_block) {
          const Range depth{k, std::min(k + k_block, lhs_k.size())};
          gather_panel(a, lhs, lhs_batch[batch], lhs_m, rows, lhs_k, depth);
          gather_panel(b, rhs, rhs_batch[batch], rhs_k, depth, rhs_n, columns);
          c.noalias() += a * b;
        }
        scatter_panel(c, out, out_batch[batch], out_m, rows, out_n, columns);
      }
    }
  }
  return out;
}

}  // namespace

TensorType infer(const Contraction& op, const InferCall& call) {
  require_operands(call, "contraction", 2);
  require_same_type(call, "contraction");
  const TensorType& lhs = call.inputs[0];
  const TensorType& rhs = call.inputs[1];
  if (lhs.type == ElementType::boolean) {
    refuse(call, "contraction", "booleans are not numbers", "cast the operands first");
  }
  require_labels(call, "lhs", op.lhs, lhs.shape.size());
  require_labels(call, "rhs", op.rhs, rhs.shape.size());
  require_labels(call, "out", op.out, op.out.size());
  std::map<int, std::int64_t> extents;
  for (std::size_t i = 0; i < op.lhs.size(); ++i) {
    extents[op.lhs[i]] = lhs.shape[i];
    if (!contains(op.rhs, op.lhs[i]) && !contains(op.out, op.lhs[i])) {
      refuse(call, "contraction", fmt::format("label {} stands in lhs only", op.lhs[i]),
             "reduce that axis first");
    }
  }
  for (std::size_t i = 0; i < op.rhs.size(); ++i) {
    const auto [place, fresh] = extents.try_emplace(op.rhs[i], rhs.shape[i]);
    if (place->second != rhs.shape[i]) {
      refuse(call, "contraction",
             fmt::format("label {} is {} in lhs and {} in rhs", op.rhs[i], place->second,
                         rhs.shape[i]),
             "axes that are multiplied together need equal extents");
    }
    if (fresh && !contains(op.out, op.rhs[i])) {
      refuse(call, "contraction", fmt::format("label {} stands in rhs only", op.rhs[i]),
             "reduce that axis first");
    }
  }
  TensorType result{lhs.type, {}};
  for (const int label : op.out) {
    const auto found = extents.find(label);
    if (found == extents.end()) {
      refuse(call, "contraction", fmt::format("label {} of the result stands in no operand", label),
             "take it out or expand the result");
    }
    result.shape.push_back(found->second);
  }
  return result;
}

Array compute(const Contraction& op, const ComputeCall& call) {
  return is_float(call.output.type)
             ? multiply<double>(op, *call.inputs[0], *call.inputs[1], call.output)
             : multiply<std::uint64_t>(op, *call.inputs[0], *call.inputs[1], call.output);
}

}  // namespace systole::graph::ops
