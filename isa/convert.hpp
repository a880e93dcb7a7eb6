// Exact conversions between stored elements (the bytes of a DType) and float, double and 64-bit
// integers.
//
// Loading into double is exact for every type, into float for every type but i32 and u32 (rounded
// to nearest even). Storing rounds once, to nearest even, directly from the given value (no double
// rounding). Rules:
// - Floating targets: overflow gives infinity (f8e4 included: exponent 15 means infinity and NaN,
// the largest finite
//   value is 240), underflow gives subnormals, the sign of zero is kept. A NaN stays a NaN with its
//   sign and the top of its payload, made quiet.
// - Integer targets: a fraction rounds to nearest even; values beyond the range, infinities
// included, give the nearest
//   end of the range; NaN gives 0.
// - b8 target: 0 for a value equal to 0, otherwise 1 (NaN gives 1). Loading b8: any non-zero byte
// is 1.
// - Integers out of floating elements (load_integer): as for integer targets, into 64 bits.
//
// Bytes are in the order of the host, which must be little-endian. No alignment is needed. Spans of
// one call must agree: bytes.size() == elements * size_of(dtype), otherwise the call is a bug
// (check).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "isa/dtype.hpp"

namespace systole::isa {

// One element.
[[nodiscard]] float load_float(DType dtype, const std::byte* from);
[[nodiscard]] double load_double(DType dtype, const std::byte* from);
[[nodiscard]] std::int64_t load_integer(DType dtype, const std::byte* from);
void store_float(DType dtype, float value, std::byte* to);
void store_double(DType dtype, double value, std::byte* to);
void store_integer(DType dtype, std::int64_t value, std::byte* to);

// Contiguous arrays.
void load(DType dtype, std::span<const std::byte> from, std::span<float> to);
void load(DType dtype, std::span<const std::byte> from, std::span<double> to);
void load(DType dtype, std::span<const std::byte> from, std::span<std::int64_t> to);
void store(DType dtype, std::span<const float> from, std::span<std::byte> to);
void store(DType dtype, std::span<const double> from, std::span<std::byte> to);
void store(DType dtype, std::span<const std::int64_t> from, std::span<std::byte> to);

// Element type to element type: the bytes themselves if the types are equal (also for b8 and NaN
// payloads), whole numbers among integer types, otherwise one rounding.
void convert(DType from_dtype, std::span<const std::byte> from, DType to_dtype,
             std::span<std::byte> to);

// value rounded to the type and loaded again: what an engine sees after writing and reading it.
[[nodiscard]] float rounded(DType dtype, float value);

// Bit patterns of the narrow floating types.
[[nodiscard]] float bf16_to_float(std::uint16_t bits);
[[nodiscard]] float f16_to_float(std::uint16_t bits);
[[nodiscard]] float f8e4_to_float(std::uint8_t bits);
[[nodiscard]] float f8e5_to_float(std::uint8_t bits);
[[nodiscard]] std::uint16_t float_to_bf16(float value);
[[nodiscard]] std::uint16_t float_to_f16(float value);
[[nodiscard]] std::uint8_t float_to_f8e4(float value);
[[nodiscard]] std::uint8_t float_to_f8e5(float value);

}  // namespace systole::isa
