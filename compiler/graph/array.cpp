#include "compiler/graph/array.hpp"

#include <array>
#include <limits>
#include <utility>

#include "compiler/graph/ops/values.hpp"
#include "isa/base/error.hpp"

namespace systole::graph {
namespace {

struct TypeRow {
  ElementType type;
  std::string_view name;
};
constexpr std::array<TypeRow, 13> type_rows{{{ElementType::f32, "f32"},
                                             {ElementType::f64, "f64"},
                                             {ElementType::f16, "f16"},
                                             {ElementType::bf16, "bf16"},
                                             {ElementType::i64, "i64"},
                                             {ElementType::i32, "i32"},
                                             {ElementType::i16, "i16"},
                                             {ElementType::i8, "i8"},
                                             {ElementType::u64, "u64"},
                                             {ElementType::u32, "u32"},
                                             {ElementType::u16, "u16"},
                                             {ElementType::u8, "u8"},
                                             {ElementType::boolean, "bool"}}};

void require_index(const Array& array, std::int64_t i) {
  check(i >= 0 && i < elements(array.shape), "array index out of range");
}

}  // namespace

int size_of(ElementType type) {
  return ops::with_element(type, [](auto* tag) {
    return static_cast<int>(sizeof(std::remove_pointer_t<decltype(tag)>));
  });
}

std::string_view name_of(ElementType type) {
  return type_rows[static_cast<std::size_t>(type)].name;
}

std::optional<ElementType> find_element_type(std::string_view name) {
  for (const TypeRow& row : type_rows) {
    if (row.name == name) {
      return row.type;
    }
  }
  return std::nullopt;
}

bool is_float(ElementType type) {
  return type == ElementType::f32 || type == ElementType::f64 || type == ElementType::f16 ||
         type == ElementType::bf16;
}

bool is_unsigned(ElementType type) {
  return type == ElementType::u64 || type == ElementType::u32 || type == ElementType::u16 ||
         type == ElementType::u8;
}

std::optional<std::int64_t> checked_elements(const Shape& shape) {
  constexpr std::int64_t limit = std::int64_t{1} << 62;
  std::int64_t product = 1;
  bool empty = false;
  for (const std::int64_t extent : shape) {
    if (extent < 0) {
      return std::nullopt;
    }
    if (extent == 0) {
      empty = true;
      continue;  // the other extents must fit all the same: strides are computed from them
    }
    if (product > limit / extent) {
      return std::nullopt;
    }
    product *= extent;
  }
  return empty ? 0 : product;
}

std::int64_t elements(const Shape& shape) {
  const std::optional<std::int64_t> count = checked_elements(shape);
  check(count.has_value(), "shape with a negative extent or too many elements");
  return *count;
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) {
      text += ',';
    }
    text += std::to_string(shape[i]);
  }
  return text + "]";
}

Array make_array(ElementType type, Shape shape) {
  const std::int64_t count = elements(shape);
  constexpr std::int64_t limit = std::int64_t{1} << 40;  // a terabyte: no host can hold it
  if (count > limit / size_of(type)) {
    throw Error(
        "", "an array of shape " + to_string(shape) + " does not fit into this machine's memory",
        "use smaller extents");
  }
  Array array;
  array.type = type;
  array.shape = std::move(shape);
  array.data.resize(static_cast<std::size_t>(count * size_of(type)));
  return array;
}

double get(const Array& array, std::int64_t i) {
  require_index(array, i);
  return ops::with_element(array.type, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    return ops::element_cast<double>(ops::data_of<T>(array)[i]);
  });
}

std::int64_t get_integer(const Array& array, std::int64_t i) {
  require_index(array, i);
  return ops::with_element(array.type, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    return ops::element_cast<std::int64_t>(ops::data_of<T>(array)[i]);
  });
}

void set(Array& array, std::int64_t i, double value) {
  require_index(array, i);
  ops::with_element(array.type, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    ops::data_of<T>(array)[i] = ops::element_cast<T>(value);
  });
}

void set_integer(Array& array, std::int64_t i, std::int64_t value) {
  require_index(array, i);
  ops::with_element(array.type, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    ops::data_of<T>(array)[i] = ops::element_cast<T>(value);
  });
}

Array convert(const Array& array, ElementType type) {
  Array out = make_array(type, array.shape);
  const std::int64_t count = elements(array.shape);
  ops::with_element(array.type, [&](auto* from_tag) {
    using From = std::remove_pointer_t<decltype(from_tag)>;
    const From* from = ops::data_of<From>(array);
    ops::with_element(type, [&](auto* to_tag) {
      using To = std::remove_pointer_t<decltype(to_tag)>;
      To* to = ops::data_of<To>(out);
      for (std::int64_t i = 0; i < count; ++i) {
        to[i] = ops::element_cast<To>(from[i]);
      }
    });
  });
  return out;
}

}  // namespace systole::graph
