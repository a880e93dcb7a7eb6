// A host array: element type, shape, row-major bytes. What constants, inputs, outputs and the
// reference evaluator hold. i64 and f64 exist on the host only; the machine stores them as i32 and
// f32 (compiler/layout/storage.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace systole::graph {

enum class ElementType : std::uint8_t {
  f32,
  f64,
  f16,
  bf16,
  i64,
  i32,
  i16,
  i8,
  u64,
  u32,
  u16,
  u8,
  boolean
};
[[nodiscard]] int size_of(ElementType type);
[[nodiscard]] std::string_view name_of(ElementType type);
[[nodiscard]] std::optional<ElementType> find_element_type(std::string_view name);
[[nodiscard]] bool is_float(ElementType type);
[[nodiscard]] bool is_unsigned(ElementType type);  // u8 to u64; boolean is not

using Shape = std::vector<std::int64_t>;
[[nodiscard]] std::int64_t elements(
    const Shape& shape);  // 1 for rank 0; the product must fit (checked)
// The product of the extents, unless one is negative or the product (zeros left out) exceeds 2^62.
[[nodiscard]] std::optional<std::int64_t> checked_elements(const Shape& shape);
[[nodiscard]] std::string to_string(const Shape& shape);  // [1,3,224,224]

struct Array {
  ElementType type = ElementType::f32;
  Shape shape;
  std::vector<std::byte> data;

  bool operator==(const Array&) const = default;
};
[[nodiscard]] Array make_array(ElementType type, Shape shape);  // zeros
// Element i in row-major order, converted; set rounds to the array's type.
[[nodiscard]] double get(const Array& array, std::int64_t i);
[[nodiscard]] std::int64_t get_integer(const Array& array, std::int64_t i);
void set(Array& array, std::int64_t i, double value);
void set_integer(Array& array, std::int64_t i, std::int64_t value);
[[nodiscard]] Array convert(const Array& array, ElementType type);

}  // namespace systole::graph
