#include "compiler/layout/layout.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>

namespace systole::layout {

namespace {

std::size_t at(int axis) {
  return static_cast<std::size_t>(axis);
}

// Long free axes, in order.
std::vector<int> free_axes(const Layout& layout, const graph::Shape& shape) {
  std::vector<int> out(layout.order.begin() + layout.split, layout.order.end());
  std::erase_if(out, [&shape](int axis) { return shape[at(axis)] == 1; });
  return out;
}

// Extent of the last axes that both lists have in common.
std::int64_t common_end(const std::vector<int>& a, const std::vector<int>& b,
                        const graph::Shape& shape) {
  const auto differ = std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend());
  std::int64_t extent = 1;
  for (auto axis = a.rbegin(); axis != differ.first; ++axis) {
    extent *= shape[at(*axis)];
  }
  return extent;
}

// What one step along a digit of the row-major linear index does to the place of an element.
struct Digit {
  std::int64_t extent = 1;
  Place step;
  bool operator==(const Digit&) const = default;
};

std::vector<Place> steps_of(const Layout& c, const graph::Shape& shape) {
  std::vector<Place> steps(shape.size());
  std::int64_t stride = 1;
  bool innermost = true;
  for (int i = static_cast<int>(c.order.size()) - 1; i >= c.split; --i) {
    const std::int64_t extent = shape[at(c.order[at(i)])];
    steps[at(c.order[at(i)])].free = stride;
    if (extent != 1) {
      stride *= innermost ? extent + c.padding : extent;
      innermost = false;
    }
  }
  stride = 1;
  for (int i = c.split - 1; i >= 0; --i) {
    steps[at(c.order[at(i)])].partition = stride;
    stride *= shape[at(c.order[at(i)])];
  }
  return steps;
}

// The map from linear index to place as the shortest list of digits, innermost first. Two layouts
// (of any shapes with as many elements) put every element at the same place iff their lists are
// equal: the innermost digit ends at the first index whose place is not a multiple of the first
// step, and so on outwards.
std::vector<Digit> digits_of(const Layout& c, const graph::Shape& shape) {
  const std::vector<Place> steps = steps_of(c, shape);
  std::vector<Digit> digits;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] == 1) {
      continue;
    }
    const Place step = steps[axis];
    if (!digits.empty() && step.partition == digits.back().step.partition * digits.back().extent &&
        step.free == digits.back().step.free * digits.back().extent) {
      digits.back().extent *= shape[axis];
    } else {
      digits.push_back({shape[axis], step});
    }
  }
  return digits;
}

Place place_of_linear(const std::vector<Digit>& digits, std::int64_t linear) {
  Place place;
  for (const Digit& digit : digits) {
    const std::int64_t i = linear % digit.extent;
    place.partition += i * digit.step.partition;
    place.free += i * digit.step.free;
    linear /= digit.extent;
  }
  return place;
}

bool is_empty(const graph::Shape& shape) {
  return std::ranges::find(shape, 0) != shape.end();
}

}  // namespace

bool fits(const Layout& layout, const graph::Shape& shape) {
  const auto rank = shape.size();
  if (layout.order.size() != rank || layout.split < 0 || at(layout.split) > rank ||
      layout.padding < 0) {
    return false;
  }
  std::vector<bool> seen(rank, false);
  for (const int axis : layout.order) {
    if (axis < 0 || at(axis) >= rank || seen[at(axis)]) {
      return false;
    }
    seen[at(axis)] = true;
  }
  return true;
}

Layout row_major(int rank, int split) {
  check(split >= 0 && split <= rank, "the split of a layout lies between its axes");
  Layout layout;
  layout.split = split;
  for (int axis = 0; axis < rank; ++axis) {
    layout.order.push_back(axis);
  }
  return layout;
}

Layout canonical(const Layout& layout, const graph::Shape& shape) {
  check(fits(layout, shape), "a layout fits its tensor's shape");
  Layout result;
  result.order.reserve(layout.order.size());
  result.padding = layout.padding;
  for (int i = 0; i < static_cast<int>(layout.order.size()); ++i) {
    const int axis = layout.order[at(i)];
    if (shape[at(axis)] != 1) {
      result.order.push_back(axis);
      result.split += i < layout.split ? 1 : 0;
    }
  }
  for (int axis = 0; axis < static_cast<int>(shape.size()); ++axis) {
    if (shape[at(axis)] == 1) {
      result.order.push_back(axis);
    }
  }
  return result;
}

bool same_bytes(const Layout& a, const Layout& b, const graph::Shape& shape) {
  return is_empty(shape) || canonical(a, shape) == canonical(b, shape);
}

bool same_bytes_in_hbm(const Layout& a, const Layout& b, const graph::Shape& shape) {
  if (is_empty(shape)) {
    return true;
  }
  const Layout ca = canonical(a, shape);
  const Layout cb = canonical(b, shape);
  // Padding follows the last element of every partition, so it makes the split count again.
  return ca.order == cb.order && ca.padding == cb.padding &&
         (ca.padding == 0 || ca.split == cb.split);
}

bool identity_order(const Layout& layout, const graph::Shape& shape) {
  const Layout c = canonical(layout, shape);
  int last = -1;
  for (const int axis : c.order) {
    if (shape[at(axis)] == 1) {
      break;
    }
    if (axis < last) {
      return false;
    }
    last = axis;
  }
  return c.padding == 0;
}

std::int64_t partition_extent(const Layout& layout, const graph::Shape& shape) {
  std::int64_t extent = 1;
  for (int i = 0; i < layout.split; ++i) {
    extent *= shape[at(layout.order[at(i)])];
  }
  return extent;
}

std::int64_t free_extent(const Layout& layout, const graph::Shape& shape) {
  std::int64_t extent = 1;
  bool innermost = true;
  for (int i = static_cast<int>(layout.order.size()) - 1; i >= layout.split; --i) {
    const std::int64_t e = shape[at(layout.order[at(i)])];
    if (e != 1) {
      extent *= innermost ? e + layout.padding : e;
      innermost = false;
    }
  }
  return innermost ? 1 + layout.padding : extent;
}

std::int64_t blocks(const Layout& layout, const graph::Shape& shape, int partitions) {
  return (partition_extent(layout, shape) + partitions - 1) / partitions;
}

std::vector<int> partition_axes(const Layout& layout, const graph::Shape& shape) {
  std::vector<int> out;
  for (int i = 0; i < layout.split; ++i) {
    const int axis = layout.order[static_cast<std::size_t>(i)];
    if (shape[static_cast<std::size_t>(axis)] > 1) {
      out.push_back(axis);
    }
  }
  return out;
}

std::optional<std::size_t> kept_partition_axes(const Layout& a, const Layout& b,
                                               const graph::Shape& shape, int partitions) {
  const std::vector<int> x = partition_axes(a, shape);
  const std::vector<int> y = partition_axes(b, shape);
  const auto differ = std::mismatch(x.rbegin(), x.rend(), y.rbegin(), y.rend());
  const auto shared = static_cast<std::size_t>(differ.first - x.rbegin());
  if (shared == x.size() && shared == y.size()) {
    return shared;
  }
  std::int64_t extent = 1;
  for (std::size_t i = 0; i < shared; ++i) {
    extent *= shape[static_cast<std::size_t>(x[x.size() - 1 - i])];
  }
  return extent % partitions == 0 ? std::optional(shared) : std::nullopt;
}

std::optional<isa::Transposition> transposition_of(const Layout& from, const Layout& to,
                                                   const graph::Shape& shape) {
  if (from.padding != 0 || to.padding != 0) {
    return std::nullopt;
  }
  isa::Transposition out;
  out.columns = common_end(free_axes(from, shape), partition_axes(to, shape), shape);
  out.rows = common_end(free_axes(to, shape), partition_axes(from, shape), shape);
  if (out.columns == 1 || out.rows == 1) {
    return std::nullopt;
  }
  out.repeats = graph::elements(shape) / (out.columns * out.rows);
  return out;
}

Place place(const Layout& layout, const graph::Shape& shape,
            const std::vector<std::int64_t>& index) {
  check(index.size() == shape.size(), "an index has one entry per axis");
  const std::vector<Place> steps = steps_of(layout, shape);
  Place result;
  for (std::size_t axis = 0; axis < index.size(); ++axis) {
    result.partition += index[axis] * steps[axis].partition;
    result.free += index[axis] * steps[axis].free;
  }
  return result;
}

Layout through_transpose(const Layout& input, const std::vector<int>& perm) {
  std::vector<int> output_axis(perm.size());
  for (std::size_t i = 0; i < perm.size(); ++i) {
    output_axis[at(perm[i])] = static_cast<int>(i);
  }
  Layout result = input;
  for (int& axis : result.order) {
    axis = output_axis[at(axis)];
  }
  return result;
}

Layout back_through_transpose(const Layout& output, const std::vector<int>& perm) {
  Layout result = output;
  for (int& axis : result.order) {
    axis = perm[at(axis)];
  }
  return result;
}

// A layout of the output is determined by where it puts the elements one step along each axis, so
// there is at most one candidate: read its axes' steps off the input's map, sort, and see whether
// it is the same map everywhere.
std::optional<Layout> through_reshape(const Layout& input, const graph::Shape& from,
                                      const graph::Shape& to) {
  const int rank = static_cast<int>(to.size());
  if (is_empty(from)) {
    return canonical(row_major(rank, 0), to);
  }
  const Layout source = canonical(input, from);
  const std::vector<Digit> digits = digits_of(source, from);
  std::vector<Place> steps(to.size());
  std::vector<int> partition;
  std::vector<int> free;
  std::int64_t stride = 1;
  for (int axis = rank - 1; axis >= 0; --axis) {
    if (to[at(axis)] == 1) {
      continue;
    }
    steps[at(axis)] = place_of_linear(digits, stride);
    if (steps[at(axis)].partition != 0 && steps[at(axis)].free != 0) {
      return std::nullopt;
    }
    (steps[at(axis)].partition != 0 ? partition : free).push_back(axis);
    stride *= to[at(axis)];
  }
  std::ranges::sort(partition,
                    [&](int a, int b) { return steps[at(a)].partition > steps[at(b)].partition; });
  std::ranges::sort(free, [&](int a, int b) { return steps[at(a)].free > steps[at(b)].free; });
  Layout result;
  result.order = partition;
  result.order.insert(result.order.end(), free.begin(), free.end());
  for (int axis = 0; axis < rank; ++axis) {
    if (to[at(axis)] == 1) {
      result.order.push_back(axis);
    }
  }
  result.split = static_cast<int>(partition.size());
  result.padding = source.padding;
  if (digits_of(result, to) != digits || free_extent(result, to) != free_extent(source, from)) {
    return std::nullopt;
  }
  return result;
}

std::string to_string(const Layout& layout) {
  std::string text = "(";
  for (int i = 0; i < static_cast<int>(layout.order.size()); ++i) {
    if (i == layout.split) {
      text += '|';
    } else if (i > 0) {
      text += ' ';
    }
    text += std::to_string(layout.order[at(i)]);
  }
  if (at(layout.split) == layout.order.size()) {
    text += '|';
  }
  text += ')';
  if (layout.padding > 0) {
    text += '+' + std::to_string(layout.padding);
  }
  return text;
}

std::optional<Layout> parse_layout(const std::string& text) {
  const std::size_t close = text.find(')');
  if (text.empty() || text.front() != '(' || close == std::string::npos) {
    return std::nullopt;
  }
  Layout layout;
  bool split_seen = false;
  const char* p = text.data() + 1;
  const char* end = text.data() + close;
  while (p < end) {
    if (*p == ' ') {
      ++p;
    } else if (*p == '|' && !split_seen) {
      split_seen = true;
      layout.split = static_cast<int>(layout.order.size());
      ++p;
    } else {
      int axis = 0;
      const auto [next, error] = std::from_chars(p, end, axis);
      if (error != std::errc{}) {
        return std::nullopt;
      }
      layout.order.push_back(axis);
      p = next;
    }
  }
  if (close + 1 < text.size()) {
    const char* last = text.data() + text.size();
    if (text[close + 1] != '+') {
      return std::nullopt;
    }
    const auto [next, error] = std::from_chars(text.data() + close + 2, last, layout.padding);
    if (error != std::errc{} || next != last || layout.padding <= 0) {
      return std::nullopt;
    }
  }
  const graph::Shape any(layout.order.size(), 2);
  return split_seen && fits(layout, any) ? std::optional(layout) : std::nullopt;
}

}  // namespace systole::layout
