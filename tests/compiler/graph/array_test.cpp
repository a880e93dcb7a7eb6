#include "compiler/graph/array.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "isa/base/error.hpp"

namespace systole::graph {
namespace {

double through(ElementType type, double value) {
  Array array = make_array(type, {1});
  set(array, 0, value);
  return get(array, 0);
}

}  // namespace

TEST_CASE("element types have names that are found again and their sizes") {
  const std::vector<std::pair<ElementType, int>> sizes{
      {ElementType::f32, 4},    {ElementType::f64, 8}, {ElementType::f16, 2},
      {ElementType::bf16, 2},   {ElementType::i64, 8}, {ElementType::i32, 4},
      {ElementType::i16, 2},    {ElementType::i8, 1},  {ElementType::u64, 8},
      {ElementType::u32, 4},    {ElementType::u16, 2}, {ElementType::u8, 1},
      {ElementType::boolean, 1}};
  for (const auto& [type, size] : sizes) {
    CHECK(size_of(type) == size);
    CHECK(find_element_type(name_of(type)) == type);
  }
  CHECK(!find_element_type("float").has_value());
}

TEST_CASE("shapes count their elements, and refuse negative and overflowing extents") {
  CHECK(elements({}) == 1);
  CHECK(elements({2, 0, 3}) == 0);
  CHECK(elements({2, 3, 4}) == 24);
  CHECK(!checked_elements({-1}).has_value());
  CHECK(!checked_elements({0, -1}).has_value());
  CHECK(!checked_elements({std::int64_t{1} << 32, std::int64_t{1} << 31}).has_value());
  CHECK(!checked_elements({0, std::int64_t{1} << 62, 2}).has_value());
  CHECK(checked_elements({std::int64_t{1} << 31, std::int64_t{1} << 31}) == std::int64_t{1} << 62);
  CHECK(to_string(Shape{1, 3, 224, 224}) == "[1,3,224,224]");
  CHECK(to_string(Shape{}) == "[]");
  CHECK_THROWS_AS((void)make_array(ElementType::f64, {std::int64_t{1} << 40}), Error);
}

TEST_CASE("floats are rounded to nearest even when stored") {
  CHECK(through(ElementType::f32, 16777217.0) == 16777216.0);
  CHECK(through(ElementType::f32, 16777219.0) == 16777220.0);
  CHECK(through(ElementType::f64, 16777217.0) == 16777217.0);
  CHECK(through(ElementType::f16, 2049.0) == 2048.0);
  CHECK(through(ElementType::f16, 2051.0) == 2052.0);
  CHECK(std::isinf(through(ElementType::f16, 65520.0)));
  CHECK(through(ElementType::f16, 65519.0) == 65504.0);
  CHECK(through(ElementType::bf16, 257.0) == 256.0);
  CHECK(through(ElementType::bf16, 259.0) == 260.0);
  CHECK(std::isnan(through(ElementType::bf16, std::nan(""))));
}

TEST_CASE("reals become integers towards zero, and stop at the ends of the type") {
  CHECK(through(ElementType::i32, -2.9) == -2.0);
  CHECK(through(ElementType::i8, 300.0) == 127.0);
  CHECK(through(ElementType::u8, -5.0) == 0.0);
  CHECK(through(ElementType::i64, std::nan("")) == 0.0);
  CHECK(through(ElementType::boolean, 0.25) == 1.0);
  CHECK(through(ElementType::boolean, -0.0) == 0.0);
  Array wide = make_array(ElementType::i64, {1});
  set(wide, 0, 1e30);
  CHECK(get_integer(wide, 0) == std::numeric_limits<std::int64_t>::max());
}

TEST_CASE("integers wrap into narrower integers and are exact in 64 bits") {
  Array array = make_array(ElementType::i64, {3});
  set_integer(array, 0, 257);
  set_integer(array, 1, -1);
  set_integer(array, 2, (std::int64_t{1} << 53) + 1);
  const Array narrow = convert(array, ElementType::u8);
  CHECK(get_integer(narrow, 0) == 1);
  CHECK(get_integer(narrow, 1) == 255);
  CHECK(get_integer(array, 2) == (std::int64_t{1} << 53) + 1);
  const Array flags = convert(array, ElementType::boolean);
  CHECK(get_integer(flags, 0) == 1);
  CHECK(get(convert(convert(array, ElementType::u64), ElementType::f64), 1) ==
        18446744073709551616.0);
}

}  // namespace systole::graph
