#include "isa/cursor.hpp"

#include <bit>

namespace systole::isa::detail {

std::string Cursor::quoted() {
  std::string text;
  expect("\"");
  while (true) {
    if (at_ == line_.size()) {
      fail("a text in quotes has no end", "close it with \" on the same line");
    }
    const char c = line_[at_++];
    if (c == '"') {
      return text;
    }
    if (c != '\\') {
      text += c;
      continue;
    }
    const char escaped = peek();
    ++at_;
    if (escaped == '"' || escaped == '\\') {
      text += escaped;
      continue;
    }
    unsigned byte = 0;
    const std::string_view digits = at_ < line_.size() ? line_.substr(at_, 2) : "";
    const auto [stop, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (escaped != 'x' || digits.size() != 2 || stop != digits.data() + 2 || error != std::errc{}) {
      --at_;
      fail("unknown escape in a text", "write \\\", \\\\ or \\x with two digits");
    }
    at_ += 2;
    text += static_cast<char>(byte);
  }
}

void Cursor::value(float& v) {
  if (accept("nan:")) {
    const std::uint64_t bits = hexadecimal();
    v = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (bits > 0xffffffffU || v == v) {
      fail("these bits are no NaN", "write the number itself, or nan");
    }
    return;
  }
  const char* begin = line_.data() + at_;
  const auto [stop, error] = std::from_chars(begin, line_.data() + line_.size(), v);
  if (stop == begin) {
    fail_expected("a number");
  }
  if (error != std::errc{}) {
    fail("the number does not fit in fp32", "give a nearer one, or inf");
  }
  at_ += static_cast<std::size_t>(stop - begin);
}

template <class A, class F>
void Cursor::dims(A& access, F&& stride) {
  access.rank = 0;
  if (!accept("(")) {
    return;
  }
  bool used = !accept("|");
  std::size_t d = 0;
  do {
    if (d == access.dims.size()) {
      fail(fmt::format("an access pattern has at most {} dims", access.dims.size()),
           "merge dims or split the instruction");
    }
    value(access.dims[d].extent);
    expect(":");
    stride(access.dims[d]);
    ++d;
    if (used) {
      access.rank = static_cast<std::int8_t>(d);
    }
    if (used && accept("|")) {
      used = false;
      continue;
    }
    if (accept(")")) {
      return;
    }
    expect(",");
  } while (true);
}

void Cursor::value(Access& access) {
  access = Access{};
  access.space = name<Space>();
  expect(":");
  access.dtype = name<DType>();
  expect("[");
  access.partition = integer<std::int16_t>();
  expect("+");
  access.partitions = integer<std::int16_t>();
  expect("]@");
  access.offset = integer<std::int32_t>();
  dims(access, [this](AccessDim& dim) { value(dim.stride); });
}

void Cursor::value(DmaAccess& access) {
  access = DmaAccess{};
  access.space = name<Space>();
  expect(":");
  access.dtype = name<DType>();
  expect("[");
  if (access.space == Space::hbm) {
    access.tensor = id<TensorId>('t');
    access.partition = accept("|") ? integer<std::int16_t>() : std::int16_t{0};
  } else {
    access.partition = integer<std::int16_t>();
    access.tensor = accept("|") ? id<TensorId>('t') : TensorId{};
  }
  expect("]@");
  access.offset = integer<std::int64_t>();
  dims(access, [this](DmaDim& dim) {
    dim.across = accept("p");
    dim.stride = integer<std::int64_t>();
  });
}

void Cursor::value(Scalar& scalar) {
  scalar.per_partition = at_space();
  if (scalar.per_partition) {
    value(scalar.access);
    if (accept("|")) {
      value(scalar.value);
    }
    return;
  }
  value(scalar.value);
  scalar.access = Access{};
  if (accept("|")) {
    value(scalar.access);
  }
}

}  // namespace systole::isa::detail
