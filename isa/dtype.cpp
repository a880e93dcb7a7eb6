#include "isa/dtype.hpp"

#include "isa/names.hpp"

namespace systole::isa {

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
  return enum_name(dtype);
}

std::optional<DType> find_dtype(std::string_view name) {
  return find_enum<DType>(name);
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
