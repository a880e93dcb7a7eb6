#include "isa/dtype.hpp"

#include <array>
#include <cstddef>

namespace systole::isa {
namespace {

constexpr std::array<std::string_view, dtype_count> names = {
    "f32", "bf16", "f16", "f8e4", "f8e5", "i32", "i16", "i8", "u32", "u16", "u8", "b8"};

}  // namespace

int size_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::i32:
    case DType::u32:
      return 4;
    case DType::bf16:
    case DType::f16:
    case DType::i16:
    case DType::u16:
      return 2;
    case DType::f8e4:
    case DType::f8e5:
    case DType::i8:
    case DType::u8:
    case DType::b8:
      return 1;
  }
  return 0;
}

std::string_view name_of(DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  return index < names.size() ? names[index] : "?";
}

std::optional<DType> find_dtype(std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) {
      return static_cast<DType>(i);
    }
  }
  return std::nullopt;
}

bool is_float(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::bf16:
    case DType::f16:
    case DType::f8e4:
    case DType::f8e5:
      return true;
    case DType::i32:
    case DType::i16:
    case DType::i8:
    case DType::u32:
    case DType::u16:
    case DType::u8:
    case DType::b8:
      return false;
  }
  return false;
}

}  // namespace systole::isa
