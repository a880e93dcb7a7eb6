// One template for every narrow floating type. Encoding works on the bit pattern of the wide value
// (float or double): results in the normal range are rounded by adding just under half of the last
// kept place (plus one if that place is odd) to the pattern; the carry runs into the exponent by
// itself. Subnormal results come from one addition of a power of two whose last place is the
// smallest subnormal: the adder rounds to nearest even. Both paths are free of branches that depend
// on data, so loops over them vectorise.
#include "isa/convert.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "isa/base/error.hpp"

namespace systole::isa {
namespace {

static_assert(std::endian::native == std::endian::little);
static_assert(std::numeric_limits<float>::is_iec559 && std::numeric_limits<double>::is_iec559);

template <class T>
struct Wide;
template <>
struct Wide<float> {
  using Bits = std::uint32_t;
  static constexpr int exponent = 8;
  static constexpr int mantissa = 23;
};
template <>
struct Wide<double> {
  using Bits = std::uint64_t;
  static constexpr int exponent = 11;
  static constexpr int mantissa = 52;
};

// A binary format with a sign bit; the all-ones exponent means infinity and NaN.
template <int exponent_bits, int mantissa_bits>
struct Narrow {
  using Bits =
      std::conditional_t<exponent_bits + mantissa_bits + 1 == 8, std::uint8_t, std::uint16_t>;
  static constexpr int bias = (1 << (exponent_bits - 1)) - 1;

  template <class T>
  static Bits encode(T value) {
    using W = Wide<T>;
    using B = typename W::Bits;
    constexpr int wide_bias = (1 << (W::exponent - 1)) - 1;
    constexpr int shift = W::mantissa - mantissa_bits;
    constexpr B wide_infinity = ((B{1} << W::exponent) - 1) << W::mantissa;
    constexpr B infinity = ((B{1} << exponent_bits) - 1) << mantissa_bits;
    [[maybe_unused]] constexpr B first_normal = static_cast<B>(wide_bias - bias + 1) << W::mantissa;
    // 2^k with a last place of 2^(1 - bias - mantissa_bits)
    [[maybe_unused]] constexpr B magic_bits =
        static_cast<B>(1 - bias - mantissa_bits + W::mantissa + wide_bias) << W::mantissa;

    const B bits = std::bit_cast<B>(value);
    const B magnitude = bits & ~(B{1} << (W::exponent + W::mantissa));
    const B sign = bits >> (W::exponent + W::mantissa) << (exponent_bits + mantissa_bits);

    const B half = (B{1} << (shift - 1)) - 1 + ((magnitude >> shift) & 1);
    const B nan = infinity | (B{1} << (mantissa_bits - 1)) |
                  ((magnitude >> shift) & ((B{1} << mantissa_bits) - 1));

    B result = 0;
    if constexpr (exponent_bits == W::exponent) {
      result = (magnitude + half) >> shift;  // same range: subnormals and infinity need no care
    } else {
      const B rebias = static_cast<B>(wide_bias - bias) << W::mantissa;
      const B normal = std::min((magnitude - rebias + half) >> shift, infinity);
      const B subnormal =
          std::bit_cast<B>(std::bit_cast<T>(magnitude) + std::bit_cast<T>(magic_bits)) - magic_bits;
      result = magnitude < first_normal ? subnormal : normal;
    }
    result = magnitude > wide_infinity ? nan : result;
    return static_cast<Bits>(result | sign);
  }

  static float decode(Bits bits) {
    constexpr int shift = 23 - mantissa_bits;
    const auto pattern = static_cast<std::uint32_t>(bits);
    const std::uint32_t magnitude = pattern & ((1U << (exponent_bits + mantissa_bits)) - 1U);
    const std::uint32_t sign = (pattern >> (exponent_bits + mantissa_bits)) << 31U;
    if constexpr (exponent_bits == 8) {
      return std::bit_cast<float>((magnitude << shift) | sign);
    } else {
      // Read as a float with too small an exponent, then scaled: exact, and subnormals become
      // normal.
      constexpr auto scale = static_cast<std::uint32_t>(127 + 127 - bias) << 23U;
      const float scaled = std::bit_cast<float>(magnitude << shift) * std::bit_cast<float>(scale);
      constexpr std::uint32_t infinity = ((1U << exponent_bits) - 1U) << mantissa_bits;
      const std::uint32_t special = 0x7f800000U | (magnitude << shift);
      const std::uint32_t wide =
          magnitude >= infinity ? special : std::bit_cast<std::uint32_t>(scaled);
      return std::bit_cast<float>(wide | sign);
    }
  }
};

using Bf16 = Narrow<8, 7>;
using F16 = Narrow<5, 10>;
using F8e4 = Narrow<4, 3>;
using F8e5 = Narrow<5, 2>;

template <class I, class T>
I to_integer(T value) {
  constexpr auto low = static_cast<T>(std::numeric_limits<I>::min());
  constexpr auto high = static_cast<T>(std::numeric_limits<I>::max());  // may round up to 2^n
  if (!(value > low)) {
    return value == value ? std::numeric_limits<I>::min() : I{0};
  }
  if (value >= high) {
    return std::numeric_limits<I>::max();
  }
  const T whole = std::nearbyint(value);
  return static_cast<I>(whole);
}

template <class I>
I clamp_to(std::int64_t value) {
  return static_cast<I>(std::clamp<std::int64_t>(value, std::numeric_limits<I>::min(),
                                                 std::numeric_limits<I>::max()));
}

// To double with the last bit as a sticky bit (round to odd), so that a later rounding to fewer
// bits is exact.
double to_double_odd(std::int64_t value) {
  const bool negative = value < 0;
  auto magnitude = static_cast<std::uint64_t>(value);
  magnitude = negative ? 0U - magnitude : magnitude;
  if (const int excess = static_cast<int>(std::bit_width(magnitude)) - 53; excess > 0) {
    const std::uint64_t lost = magnitude & ((std::uint64_t{1} << excess) - 1U);
    magnitude = magnitude >> excess << excess;
    magnitude |= lost != 0U ? std::uint64_t{1} << excess : 0U;
  }
  const auto result = static_cast<double>(magnitude);
  return negative ? -result : result;
}

// ---- Codecs: how each element type is stored, and its conversions to and from float, double,
// int64.

template <class N>
struct FloatCodec {
  using Stored = typename N::Bits;
  static float to_float(Stored s) { return N::decode(s); }
  static double to_double(Stored s) { return static_cast<double>(N::decode(s)); }
  static std::int64_t to_integer64(Stored s) { return to_integer<std::int64_t>(N::decode(s)); }
  static Stored from(float v) { return N::encode(v); }
  static Stored from(double v) { return N::encode(v); }
  static Stored from(std::int64_t v) { return N::encode(to_double_odd(v)); }
};

struct F32Codec {
  using Stored = float;
  static float to_float(float s) { return s; }
  static double to_double(float s) { return static_cast<double>(s); }
  static std::int64_t to_integer64(float s) { return to_integer<std::int64_t>(s); }
  static float from(float v) { return v; }
  static float from(double v) { return static_cast<float>(v); }
  static float from(std::int64_t v) { return static_cast<float>(v); }
};

template <class I>
struct IntegerCodec {
  using Stored = I;
  static float to_float(I s) { return static_cast<float>(s); }
  static double to_double(I s) { return static_cast<double>(s); }
  static std::int64_t to_integer64(I s) { return static_cast<std::int64_t>(s); }
  static I from(float v) { return to_integer<I>(v); }
  static I from(double v) { return to_integer<I>(v); }
  static I from(std::int64_t v) { return clamp_to<I>(v); }
};

struct BoolCodec {
  using Stored = std::uint8_t;
  static float to_float(Stored s) { return s != 0U ? 1.0F : 0.0F; }
  static double to_double(Stored s) { return s != 0U ? 1.0 : 0.0; }
  static std::int64_t to_integer64(Stored s) { return s != 0U ? 1 : 0; }
  static Stored from(float v) { return v == 0.0F ? 0U : 1U; }
  static Stored from(double v) { return v == 0.0 ? 0U : 1U; }
  static Stored from(std::int64_t v) { return v == 0 ? 0U : 1U; }
};

template <class F>
auto with_codec(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32:
      return f(F32Codec{});
    case DType::bf16:
      return f(FloatCodec<Bf16>{});
    case DType::f16:
      return f(FloatCodec<F16>{});
    case DType::f8e4:
      return f(FloatCodec<F8e4>{});
    case DType::f8e5:
      return f(FloatCodec<F8e5>{});
    case DType::i32:
      return f(IntegerCodec<std::int32_t>{});
    case DType::i16:
      return f(IntegerCodec<std::int16_t>{});
    case DType::i8:
      return f(IntegerCodec<std::int8_t>{});
    case DType::u32:
      return f(IntegerCodec<std::uint32_t>{});
    case DType::u16:
      return f(IntegerCodec<std::uint16_t>{});
    case DType::u8:
      return f(IntegerCodec<std::uint8_t>{});
    case DType::b8:
      return f(BoolCodec{});
  }
  check(false, "element type out of range");
  return f(F32Codec{});
}

template <class S>
S read(const std::byte* from) {
  S stored;
  std::memcpy(&stored, from, sizeof(S));
  return stored;
}

template <class C, class T>
T decoded(typename C::Stored stored) {
  if constexpr (std::is_same_v<T, float>) {
    return C::to_float(stored);
  } else if constexpr (std::is_same_v<T, double>) {
    return C::to_double(stored);
  } else {
    return C::to_integer64(stored);
  }
}

template <class T>
T load_one(DType dtype, const std::byte* from) {
  return with_codec(dtype, [from](auto codec) {
    using C = decltype(codec);
    return decoded<C, T>(read<typename C::Stored>(from));
  });
}

template <class T>
void store_one(DType dtype, T value, std::byte* to) {
  with_codec(dtype, [=](auto codec) {
    const auto stored = decltype(codec)::from(value);
    std::memcpy(to, &stored, sizeof(stored));
  });
}

void check_sizes(DType dtype, std::size_t bytes, std::size_t elements) {
  check(bytes == elements * static_cast<std::size_t>(size_of(dtype)),
        "conversion between arrays of different length");
}

template <class T>
void load_all(DType dtype, std::span<const std::byte> from, std::span<T> to) {
  check_sizes(dtype, from.size(), to.size());
  with_codec(dtype, [=](auto codec) {
    using C = decltype(codec);
    for (std::size_t i = 0; i < to.size(); ++i) {
      to[i] = decoded<C, T>(read<typename C::Stored>(from.data() + i * sizeof(typename C::Stored)));
    }
  });
}

template <class T>
void store_all(DType dtype, std::span<const T> from, std::span<std::byte> to) {
  check_sizes(dtype, to.size(), from.size());
  with_codec(dtype, [=](auto codec) {
    for (std::size_t i = 0; i < from.size(); ++i) {
      const auto stored = decltype(codec)::from(from[i]);
      std::memcpy(to.data() + i * sizeof(stored), &stored, sizeof(stored));
    }
  });
}

// T holds every value of both types' source exactly: float for narrow floats, int64 for integers.
template <class From, class To>
void convert_all(std::span<const std::byte> from, std::span<std::byte> to) {
  using S = typename From::Stored;
  using D = typename To::Stored;
  constexpr bool from_float =
      std::is_same_v<From, F32Codec> || !std::is_integral_v<S> ||
      std::is_same_v<From, FloatCodec<Bf16>> || std::is_same_v<From, FloatCodec<F16>> ||
      std::is_same_v<From, FloatCodec<F8e4>> || std::is_same_v<From, FloatCodec<F8e5>>;
  using T = std::conditional_t<from_float, float, std::int64_t>;
  for (std::size_t i = 0; i < from.size() / sizeof(S); ++i) {
    const D stored = To::from(decoded<From, T>(read<S>(from.data() + i * sizeof(S))));
    std::memcpy(to.data() + i * sizeof(D), &stored, sizeof(D));
  }
}

}  // namespace

float load_float(DType dtype, const std::byte* from) {
  return load_one<float>(dtype, from);
}
double load_double(DType dtype, const std::byte* from) {
  return load_one<double>(dtype, from);
}
std::int64_t load_integer(DType dtype, const std::byte* from) {
  return load_one<std::int64_t>(dtype, from);
}
void store_float(DType dtype, float value, std::byte* to) {
  store_one(dtype, value, to);
}
void store_double(DType dtype, double value, std::byte* to) {
  store_one(dtype, value, to);
}
void store_integer(DType dtype, std::int64_t value, std::byte* to) {
  store_one(dtype, value, to);
}

void load(DType dtype, std::span<const std::byte> from, std::span<float> to) {
  load_all(dtype, from, to);
}
void load(DType dtype, std::span<const std::byte> from, std::span<double> to) {
  load_all(dtype, from, to);
}
void load(DType dtype, std::span<const std::byte> from, std::span<std::int64_t> to) {
  load_all(dtype, from, to);
}
void store(DType dtype, std::span<const float> from, std::span<std::byte> to) {
  store_all(dtype, from, to);
}
void store(DType dtype, std::span<const double> from, std::span<std::byte> to) {
  store_all(dtype, from, to);
}
void store(DType dtype, std::span<const std::int64_t> from, std::span<std::byte> to) {
  store_all(dtype, from, to);
}

void convert(DType from_dtype, std::span<const std::byte> from, DType to_dtype,
             std::span<std::byte> to) {
  const std::size_t count = from.size() / static_cast<std::size_t>(size_of(from_dtype));
  check_sizes(from_dtype, from.size(), count);
  check_sizes(to_dtype, to.size(), count);
  if (from_dtype == to_dtype) {
    std::copy(from.begin(), from.end(), to.begin());
    return;
  }
  with_codec(from_dtype, [=](auto source) {
    with_codec(to_dtype,
               [=](auto target) { convert_all<decltype(source), decltype(target)>(from, to); });
  });
}

float rounded(DType dtype, float value) {
  return with_codec(dtype, [value](auto codec) {
    using C = decltype(codec);
    return C::to_float(C::from(value));
  });
}

float bf16_to_float(std::uint16_t bits) {
  return Bf16::decode(bits);
}
float f16_to_float(std::uint16_t bits) {
  return F16::decode(bits);
}
float f8e4_to_float(std::uint8_t bits) {
  return F8e4::decode(bits);
}
float f8e5_to_float(std::uint8_t bits) {
  return F8e5::decode(bits);
}
std::uint16_t float_to_bf16(float value) {
  return Bf16::encode(value);
}
std::uint16_t float_to_f16(float value) {
  return F16::encode(value);
}
std::uint8_t float_to_f8e4(float value) {
  return F8e4::encode(value);
}
std::uint8_t float_to_f8e5(float value) {
  return F8e5::encode(value);
}

}  // namespace systole::isa
