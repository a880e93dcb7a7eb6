#include "compiler/layout/iteration_space.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace systole::layout {

namespace {

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

Iterators count(std::size_t begin, std::size_t extent) {
  Iterators iterators(extent);
  std::iota(iterators.begin(), iterators.end(), static_cast<int>(begin));
  return iterators;
}

struct Shapes {
  std::vector<const graph::Shape*> inputs;
  const graph::Shape* output;
};

// Every operand has the output's axes, counted from the right.
IterationSpace broadcast_space(const Shapes& shapes) {
  IterationSpace space;
  const std::size_t rank = shapes.output->size();
  for (const graph::Shape* shape : shapes.inputs) {
    space.operands.push_back(count(rank - shape->size(), shape->size()));
  }
  space.operands.push_back(count(0, rank));
  return space;
}

Iterators kept(std::size_t rank, const std::vector<int>& axes, bool keep) {
  Iterators iterators;
  for (const int axis : count(0, rank)) {
    if (keep || std::ranges::find(axes, axis) == axes.end()) {
      iterators.push_back(axis);
    }
  }
  return iterators;
}

IterationSpace space_of(const graph::Contraction& op, const Shapes&) {
  return {{op.lhs, op.rhs, op.out}};
}

// N, C, O, then the spatial iterators of the result, then the kernel's. Input pixels run with the
// result's.
IterationSpace space_of(const graph::Convolution& op, const Shapes&) {
  const std::size_t spatial = op.strides.size();
  Iterators x{0, 1};
  Iterators w{2, 1};
  Iterators out{0, 2};
  for (std::size_t i = 0; i < spatial; ++i) {
    x.push_back(static_cast<int>(3 + i));
    out.push_back(static_cast<int>(3 + i));
    w.push_back(static_cast<int>(3 + spatial + i));
  }
  return {{x, w, out}};
}

IterationSpace space_of(const graph::Map&, const Shapes& shapes) {
  return broadcast_space(shapes);
}

IterationSpace space_of(const graph::Reduce& op, const Shapes& shapes) {
  const std::size_t rank = shapes.inputs[0]->size();
  return {{count(0, rank), kept(rank, op.axes, op.keep)}};
}

IterationSpace space_of(const graph::ArgReduce& op, const Shapes& shapes) {
  const std::size_t rank = shapes.inputs[0]->size();
  return {{count(0, rank), kept(rank, {op.axis}, op.keep)}};
}

IterationSpace space_of(const graph::Window&, const Shapes& shapes) {
  return broadcast_space(shapes);
}

IterationSpace space_of(const graph::Transpose& op, const Shapes& shapes) {
  return {{count(0, shapes.inputs[0]->size()), op.perm}};
}

IterationSpace space_of(const graph::Reshape&, const Shapes& shapes) {
  const std::size_t rank = shapes.inputs[0]->size();
  return {{count(0, rank), count(rank, shapes.output->size())}};
}

IterationSpace space_of(const graph::Slice&, const Shapes& shapes) {
  return broadcast_space(shapes);
}
IterationSpace space_of(const graph::Concat&, const Shapes& shapes) {
  return broadcast_space(shapes);
}
IterationSpace space_of(const graph::Pad&, const Shapes& shapes) {
  return broadcast_space(shapes);
}
IterationSpace space_of(const graph::Expand&, const Shapes& shapes) {
  return broadcast_space(shapes);
}

// Data axes first, then those of the indices.
IterationSpace space_of(const graph::Gather& op, const Shapes& shapes) {
  const std::size_t rank = shapes.inputs[0]->size();
  const Iterators data = count(0, rank);
  const Iterators indices = count(rank, shapes.inputs[1]->size());
  Iterators out(data.begin(), data.begin() + op.axis);
  out.insert(out.end(), indices.begin(), indices.end());
  out.insert(out.end(), data.begin() + op.axis + 1, data.end());
  return {{data, indices, out}};
}

IterationSpace space_of(const graph::GatherElements&, const Shapes& shapes) {
  return broadcast_space(shapes);
}

// Data and result run together; indices and updates are numbered apart (they are only ever in one
// layout).
IterationSpace space_of(const graph::ScatterND&, const Shapes& shapes) {
  const std::size_t rank = shapes.inputs[0]->size();
  const std::size_t index_rank = shapes.inputs[1]->size();
  return {{count(0, rank), count(rank, index_rank),
           count(rank + index_rank, shapes.inputs[2]->size()), count(0, rank)}};
}

IterationSpace space_of(const graph::Convert&, const Shapes& shapes) {
  return broadcast_space(shapes);
}

}  // namespace

IterationSpace iteration_space(const graph::Graph& graph, const graph::Node& node) {
  Shapes shapes;
  for (const graph::TensorId input : node.inputs) {
    shapes.inputs.push_back(&graph.tensors[input].shape);
  }
  shapes.output = &graph.tensors[node.output].shape;
  IterationSpace space =
      std::visit([&shapes](const auto& op) { return space_of(op, shapes); }, node.op);
  for (const Iterators& iterators : space.operands) {
    for (const int iterator : iterators) {
      space.iterators = std::max(space.iterators, iterator + 1);
    }
  }
  check(space.iterators <= 64, "an operator has at most 64 iterators");
  return space;
}

std::uint64_t mask_of(const Iterators& iterators) {
  std::uint64_t mask = 0;
  for (const int iterator : iterators) {
    mask |= bit(iterator);
  }
  return mask;
}

Iterators moving(const graph::Shape& shape, const Iterators& iterators) {
  Iterators result;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] != 1) {
      result.push_back(iterators[axis]);
    }
  }
  return result;
}

Form form_of(const Layout& layout, const graph::Shape& shape, const Iterators& iterators) {
  Form form;
  for (int i = 0; i < static_cast<int>(layout.order.size()); ++i) {
    const int axis = layout.order[at(i)];
    if (shape[at(axis)] != 1) {
      (i < layout.split ? form.partition : form.free).push_back(iterators[at(axis)]);
      form.mask |= bit(iterators[at(axis)]);
    }
  }
  return form;
}

Layout layout_of(const Form& form, const graph::Shape& shape, const Iterators& iterators) {
  Layout layout;
  layout.order.reserve(shape.size());
  const auto take = [&](const Iterators& order) {
    for (const int iterator : order) {
      const auto found = std::ranges::find(iterators, iterator);
      if (found != iterators.end()) {
        const auto axis = static_cast<std::size_t>(found - iterators.begin());
        if (shape[axis] != 1) {
          layout.order.push_back(static_cast<int>(axis));
        }
      }
    }
  };
  take(form.partition);
  layout.split = static_cast<int>(layout.order.size());
  take(form.free);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 1) {
      layout.order.push_back(static_cast<int>(axis));
    }
  }
  check(layout.order.size() == shape.size(), "a form covers the axes of its operand");
  return layout;
}

bool agree(const Form& a, const Form& b) {
  const auto same = [](const Iterators& x, std::uint64_t keep_x, const Iterators& y,
                       std::uint64_t keep_y) {
    std::size_t j = 0;
    for (const int iterator : x) {
      if ((keep_x & bit(iterator)) == 0) {
        continue;
      }
      while (j < y.size() && (keep_y & bit(y[j])) == 0) {
        ++j;
      }
      if (j == y.size() || y[j] != iterator) {
        return false;
      }
      ++j;
    }
    while (j < y.size() && (keep_y & bit(y[j])) == 0) {
      ++j;
    }
    return j == y.size();
  };
  return same(a.partition, b.mask, b.partition, a.mask) && same(a.free, b.mask, b.free, a.mask);
}

Form induced(const Form& form, const graph::Shape& shape, const Iterators& iterators) {
  const Iterators own = moving(shape, iterators);
  Form result;
  result.mask = mask_of(own);
  for (const int iterator : form.partition) {
    if ((result.mask & bit(iterator)) != 0) {
      result.partition.push_back(iterator);
    }
  }
  for (const int iterator : form.free) {
    if ((result.mask & bit(iterator)) != 0) {
      result.free.push_back(iterator);
    }
  }
  // What `form` does not know goes behind its predecessor among the operand's own axes.
  for (std::size_t i = 0; i < own.size(); ++i) {
    if ((form.mask & bit(own[i])) == 0) {
      const auto before = i == 0 ? result.free.end() : std::ranges::find(result.free, own[i - 1]);
      result.free.insert(before == result.free.end() ? result.free.begin() : before + 1, own[i]);
    }
  }
  return result;
}

}  // namespace systole::layout
