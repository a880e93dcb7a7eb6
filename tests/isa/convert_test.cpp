// Conversions against an independent formula: the value of a bit pattern by its definition, and the nearest pattern by
// search among all of them.
#include "isa/convert.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "isa/base/random.hpp"

namespace systole::isa {
namespace {

struct Format {
  DType dtype;
  int exponent_bits;
  int mantissa_bits;
  float (*decode)(std::uint32_t);
  std::uint32_t (*encode)(float);
};

const std::vector<Format> formats = {
    {DType::bf16, 8, 7,
     [](std::uint32_t b) { return bf16_to_float(static_cast<std::uint16_t>(b)); },
     [](float v) -> std::uint32_t { return float_to_bf16(v); }},
    {DType::f16, 5, 10, [](std::uint32_t b) { return f16_to_float(static_cast<std::uint16_t>(b)); },
     [](float v) -> std::uint32_t { return float_to_f16(v); }},
    {DType::f8e4, 4, 3, [](std::uint32_t b) { return f8e4_to_float(static_cast<std::uint8_t>(b)); },
     [](float v) -> std::uint32_t { return float_to_f8e4(v); }},
    {DType::f8e5, 5, 2, [](std::uint32_t b) { return f8e5_to_float(static_cast<std::uint8_t>(b)); },
     [](float v) -> std::uint32_t { return float_to_f8e5(v); }},
};

// By definition: sign * 2^(e - bias) * 1.m, subnormal 2^(1 - bias) * 0.m, all-ones exponent infinity or NaN.
double value_of(const Format& f, std::uint32_t bits) {
  const int m = static_cast<int>(bits & ((1U << f.mantissa_bits) - 1U));
  const int e = static_cast<int>((bits >> f.mantissa_bits) & ((1U << f.exponent_bits) - 1U));
  const double sign = ((bits >> (f.exponent_bits + f.mantissa_bits)) & 1U) != 0U ? -1.0 : 1.0;
  const int bias = (1 << (f.exponent_bits - 1)) - 1;
  const double fraction = std::ldexp(m, -f.mantissa_bits);
  if (e == (1 << f.exponent_bits) - 1) {
    return m == 0 ? sign * std::numeric_limits<double>::infinity()
                  : std::numeric_limits<double>::quiet_NaN();
  }
  return sign * (e == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1.0 + fraction, e - bias));
}

std::uint32_t patterns(const Format& f) {
  return 1U << (f.exponent_bits + f.mantissa_bits + 1);
}

// The magnitude pattern nearest to a finite value: candidates are consecutive, so bisect; ties to the even pattern; the
// pattern after the largest finite one (infinity) stands for the next power of two when rounding.
std::uint32_t nearest(const Format& f, double value) {
  const double magnitude = std::abs(value);
  const std::uint32_t infinity = ((1U << f.exponent_bits) - 1U) << f.mantissa_bits;
  const auto weight = [&](std::uint32_t pattern) {
    return pattern == infinity ? 2.0 * std::ldexp(1.0, (1 << (f.exponent_bits - 1)) - 1)
                               : value_of(f, pattern);
  };
  std::uint32_t low = 0;
  std::uint32_t high = infinity;
  while (high - low > 1) {
    const std::uint32_t middle = (low + high) / 2;
    (weight(middle) <= magnitude ? low : high) = middle;
  }
  const double below = magnitude - weight(low);
  const double above = weight(high) - magnitude;
  const std::uint32_t chosen = below < above || (below == above && low % 2 == 0) ? low : high;
  return chosen | (std::signbit(value) ? patterns(f) / 2 : 0U);
}

bool same_bits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

template <class T>
T stored(DType dtype, double value) {
  T out{};
  store_double(dtype, value, reinterpret_cast<std::byte*>(&out));
  return out;
}

TEST_CASE("every pattern of a narrow type has the value of its definition") {
  for (const Format& f : formats) {
    for (std::uint32_t bits = 0; bits < patterns(f); ++bits) {
      const double expected = value_of(f, bits);
      const float found = f.decode(bits);
      if (std::isnan(expected)) {
        REQUIRE(std::isnan(found));
      } else {
        REQUIRE(static_cast<double>(found) == expected);
        REQUIRE(std::signbit(found) == std::signbit(expected));
        REQUIRE(f.encode(found) == bits);
      }
    }
  }
}

TEST_CASE("a NaN stays a NaN with its sign, and the patterns of NaN survive") {
  for (const Format& f : formats) {
    for (std::uint32_t bits = 0; bits < patterns(f); ++bits) {
      if (std::isnan(value_of(f, bits))) {
        const std::uint32_t quiet = bits | (1U << (f.mantissa_bits - 1));
        REQUIRE(f.encode(f.decode(bits)) == quiet);
      }
    }
    const float deep = std::bit_cast<float>(0x7f800001U);  // payload only in the lowest bit
    CHECK(std::isnan(f.decode(f.encode(deep))));
    CHECK(std::isnan(f.decode(f.encode(-deep))));
    CHECK(std::signbit(f.decode(f.encode(std::bit_cast<float>(0xffc00000U)))));
  }
}

TEST_CASE("rounding goes to the nearest value, ties to even, at every boundary") {
  for (const Format& f : formats) {
    const std::uint32_t infinity = ((1U << f.exponent_bits) - 1U) << f.mantissa_bits;
    for (std::uint32_t bits = 0; bits < infinity; ++bits) {
      const double here = value_of(f, bits);
      const double next = bits + 1 == infinity
                              ? 2.0 * std::ldexp(1.0, (1 << (f.exponent_bits - 1)) - 1)
                              : value_of(f, bits + 1);
      const double middle = here + (next - here) / 2;
      for (const double value :
           {here, middle, std::nextafter(middle, here), std::nextafter(middle, next)}) {
        for (const double signed_value : {value, -value}) {
          const std::uint32_t expected = nearest(f, signed_value);
          if (size_of(f.dtype) == 2) {
            REQUIRE(stored<std::uint16_t>(f.dtype, signed_value) == expected);
          } else {
            REQUIRE(stored<std::uint8_t>(f.dtype, signed_value) == expected);
          }
          const auto narrow = static_cast<float>(signed_value);
          if (std::isfinite(narrow)) {
            REQUIRE(f.encode(narrow) == nearest(f, static_cast<double>(narrow)));
          }
        }
      }
    }
  }
}

TEST_CASE("random floats of every size round like the search says") {
  Random random(1);
  for (int i = 0; i < 100000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random.next()));
    if (std::isfinite(value)) {
      for (const Format& f : formats) {
        REQUIRE(f.encode(value) == nearest(f, static_cast<double>(value)));
      }
    }
  }
}

TEST_CASE("overflow gives infinity, also in f8e4") {
  CHECK(float_to_f8e4(240.0F) == 0x77);
  CHECK(float_to_f8e4(247.9F) == 0x77);
  CHECK(float_to_f8e4(248.0F) == 0x78);
  CHECK(std::isinf(f8e4_to_float(0x78)));
  CHECK(float_to_f16(65520.0F) == 0x7c00);
  CHECK(float_to_f16(65519.0F) == 0x7bff);
  CHECK(float_to_bf16(3.4e38F) == 0x7f80);
  CHECK(float_to_bf16(-std::numeric_limits<float>::infinity()) == 0xff80);
}

TEST_CASE("integers of more than 53 bits round once") {
  // 2^60 + 2^52 is a tie of bf16 (8 significant bits); one more must go up, though double would forget it.
  const std::int64_t tie = (std::int64_t{1} << 60) + (std::int64_t{1} << 52);
  std::uint16_t bits = 0;
  store_integer(DType::bf16, tie, reinterpret_cast<std::byte*>(&bits));
  CHECK(static_cast<double>(bf16_to_float(bits)) == 0x1p60);
  store_integer(DType::bf16, tie + 1, reinterpret_cast<std::byte*>(&bits));
  CHECK(static_cast<double>(bf16_to_float(bits)) == 0x1p60 + 0x1p53);
  store_integer(DType::bf16, -tie - 1, reinterpret_cast<std::byte*>(&bits));
  CHECK(static_cast<double>(bf16_to_float(bits)) == -0x1p60 - 0x1p53);
  store_integer(DType::bf16, std::numeric_limits<std::int64_t>::min(),
                reinterpret_cast<std::byte*>(&bits));
  CHECK(static_cast<double>(bf16_to_float(bits)) == -0x1p63);
}

TEST_CASE("fractions round to even and integers saturate, NaN gives 0") {
  const auto to = [](DType dtype, float value) {
    std::int64_t raw = 0;
    std::byte bytes[4];
    store_float(dtype, value, bytes);
    raw = load_integer(dtype, bytes);
    return raw;
  };
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(to(DType::i8, 0.5F) == 0);
  CHECK(to(DType::i8, 1.5F) == 2);
  CHECK(to(DType::i8, -2.5F) == -2);
  CHECK(to(DType::i8, 127.4F) == 127);
  CHECK(to(DType::i8, 128.0F) == 127);
  CHECK(to(DType::i8, -129.0F) == -128);
  CHECK(to(DType::u8, -0.6F) == 0);
  CHECK(to(DType::u8, 255.5F) == 255);
  CHECK(to(DType::i16, 1e9F) == 32767);
  CHECK(to(DType::u16, 65535.0F) == 65535);
  CHECK(to(DType::i32, 2147483648.0F) == 2147483647);
  CHECK(to(DType::i32, -2147483648.0F) == -2147483648LL);
  CHECK(to(DType::u32, 4294967296.0F) == 4294967295LL);
  CHECK(to(DType::i32, infinity) == 2147483647);
  CHECK(to(DType::i32, -infinity) == -2147483648LL);
  CHECK(to(DType::u32, -infinity) == 0);
  CHECK(to(DType::i32, nan) == 0);
  CHECK(to(DType::b8, 0.0F) == 0);
  CHECK(to(DType::b8, -0.0F) == 0);
  CHECK(to(DType::b8, 1e-30F) == 1);
  CHECK(to(DType::b8, nan) == 1);
  std::byte byte[1] = {std::byte{200}};
  CHECK(load_float(DType::b8, byte) == 1.0F);
  CHECK(load_float(DType::i8, byte) == -56.0F);
  CHECK(load_integer(DType::u8, byte) == 200);
}

TEST_CASE("all 8- and 16-bit integers survive every loader") {
  for (const DType dtype : {DType::i8, DType::u8, DType::i16, DType::u16}) {
    const bool has_sign = dtype == DType::i8 || dtype == DType::i16;
    const int bits = size_of(dtype) * 8;
    for (std::int64_t raw = 0; raw < (std::int64_t{1} << bits); ++raw) {
      const std::int64_t value = has_sign && raw >= (std::int64_t{1} << (bits - 1))
                                     ? raw - (std::int64_t{1} << bits)
                                     : raw;
      const auto word = static_cast<std::uint16_t>(raw);
      const auto* bytes = reinterpret_cast<const std::byte*>(&word);
      REQUIRE(load_integer(dtype, bytes) == value);
      REQUIRE(load_float(dtype, bytes) == static_cast<float>(value));
      REQUIRE(load_double(dtype, bytes) == static_cast<double>(value));
      std::uint16_t back = 0;
      store_integer(dtype, value, reinterpret_cast<std::byte*>(&back));
      REQUIRE(back == (dtype == DType::i8 || dtype == DType::u8 ? (word & 0xffU) : word));
    }
  }
}

TEST_CASE("arrays convert like single elements, between all pairs of types") {
  constexpr int count = 257;
  Random random(2);
  for (int from = 0; from < dtype_count; ++from) {
    const auto source = static_cast<DType>(from);
    std::vector<std::byte> bytes(static_cast<std::size_t>(count * size_of(source)));
    for (std::byte& b : bytes) {
      b = static_cast<std::byte>(random.integer(0, 255));
    }
    std::vector<float> floats(count);
    std::vector<double> doubles(count);
    std::vector<std::int64_t> integers(count);
    load(source, bytes, floats);
    load(source, bytes, doubles);
    load(source, bytes, integers);
    for (int to = 0; to < dtype_count; ++to) {
      const auto target = static_cast<DType>(to);
      const auto size = static_cast<std::size_t>(size_of(target));
      std::vector<std::byte> all(count * size);
      convert(source, bytes, target, all);
      std::vector<std::byte> from_floats(count * size);
      store(target, floats, from_floats);
      for (std::size_t i = 0; i < count; ++i) {
        const std::byte* one = bytes.data() + i * static_cast<std::size_t>(size_of(source));
        std::byte expected[4];
        if (source == target) {
          std::copy(one, one + size, expected);
        } else if (is_float(source)) {
          store_float(target, load_float(source, one), expected);
        } else {
          store_integer(target, load_integer(source, one), expected);
        }
        REQUIRE(std::equal(expected, expected + size, all.data() + i * size));
        store_float(target, floats[i], expected);
        REQUIRE(std::equal(expected, expected + size, from_floats.data() + i * size));
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      const std::byte* one = bytes.data() + i * static_cast<std::size_t>(size_of(source));
      REQUIRE(same_bits(floats[i], load_float(source, one)));
      REQUIRE((doubles[i] == load_double(source, one) || std::isnan(doubles[i])));
      REQUIRE(integers[i] == load_integer(source, one));
    }
  }
}

TEST_CASE("rounded is a store and a load") {
  CHECK(rounded(DType::bf16, 1.00390625F) == 1.0F);       // 1 + 2^-8, a tie
  CHECK(rounded(DType::bf16, 1.01171875F) == 1.015625F);  // 1 + 3 * 2^-8, a tie
  CHECK(rounded(DType::f32, 0.1F) == 0.1F);
  CHECK(rounded(DType::i8, 300.0F) == 127.0F);
}

}  // namespace
}  // namespace systole::isa
