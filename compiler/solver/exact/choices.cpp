#include "compiler/solver/exact/choices.hpp"

#include "isa/base/error.hpp"

namespace systole::solver::exact {

Choices::Choices(int values, std::size_t rows, std::size_t row_length) : row_length_(row_length) {
  check(values <= 1 << 16, "a domain fits into 16 bits");
  bits_ = values <= 2 ? 1 : values <= 4 ? 2 : values <= 16 ? 4 : values <= 256 ? 8 : 16;
  row_bytes_ = (row_length * bits_ + 7) / 8;
  bytes_.resize(rows * row_bytes_);
}

void Choices::store(std::size_t row, std::size_t begin, const std::uint16_t* choice,
                    std::size_t count) {
  std::uint8_t* out = bytes_.data() + row * row_bytes_ + begin * bits_ / 8;
  const std::size_t per_byte = bits_ >= 8 ? 1 : 8 / bits_;
  if (bits_ == 16) {
    for (std::size_t i = 0; i < count; ++i) {
      out[2 * i] = static_cast<std::uint8_t>(choice[i] & 255U);
      out[2 * i + 1] = static_cast<std::uint8_t>(choice[i] >> 8U);
    }
    return;
  }
  std::size_t i = 0;
  if (bits_ == 2) {
    for (; i + 4 <= count; i += 4) {
      *out++ = static_cast<std::uint8_t>(choice[i] | choice[i + 1] << 2U | choice[i + 2] << 4U |
                                         choice[i + 3] << 6U);
    }
  } else if (bits_ == 8) {
    for (; i < count; ++i) {
      *out++ = static_cast<std::uint8_t>(choice[i]);
    }
  }
  for (; i < count; i += per_byte) {
    unsigned packed = 0;
    for (std::size_t j = 0; j < per_byte && i + j < count; ++j) {
      packed |= static_cast<unsigned>(choice[i + j]) << (j * bits_);
    }
    *out++ = static_cast<std::uint8_t>(packed);
  }
}

int Choices::load(std::size_t cell) const {
  const std::uint8_t* row = bytes_.data() + cell / row_length_ * row_bytes_;
  const std::size_t bit = cell % row_length_ * bits_;
  if (bits_ == 16) {
    return row[bit / 8] + 256 * row[bit / 8 + 1];
  }
  return row[bit / 8] >> (bit % 8) & ((1 << bits_) - 1);
}

}  // namespace systole::solver::exact
