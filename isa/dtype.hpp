// Element types of simulated memory and of programs.
//
// Floating types hold IEEE-like values of the stated width (f8e4: 4 exponent bits, f8e5: 5); arithmetic happens in fp32
// inside the engines, conversion to a narrower type rounds to nearest even. b8 is a byte that is 0 or 1.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace systole::isa {

enum class DType : std::uint8_t { f32, bf16, f16, f8e4, f8e5, i32, i16, i8, u32, u16, u8, b8 };
inline constexpr int dtype_count = 12;

[[nodiscard]] int size_of(DType dtype);  // bytes
[[nodiscard]] std::string_view name_of(DType dtype);
[[nodiscard]] std::optional<DType> find_dtype(std::string_view name);
[[nodiscard]] bool is_float(DType dtype);

}  // namespace systole::isa
