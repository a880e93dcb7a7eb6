// The minimising value of an eliminated variable for every cell of its message, packed: 1, 2, 4, 8 or 16 bits each.
//
// Cells come in rows of equal length; every row starts on a byte, so rows can be written by different threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace systole::solver::exact {

class Choices {
 public:
  Choices() = default;
  // values: size of the variable's domain, at most 65,536.
  Choices(int values, std::size_t rows, std::size_t row_length);

  // Stores `count` choices from position `begin` of a row; begin must be a multiple of 8.
  void store(std::size_t row, std::size_t begin, const std::uint16_t* choice, std::size_t count);
  [[nodiscard]] int load(std::size_t cell) const;
  [[nodiscard]] std::size_t bytes() const { return bytes_.size(); }

 private:
  std::size_t bits_ = 8;
  std::size_t row_length_ = 0;
  std::size_t row_bytes_ = 0;
  std::vector<std::uint8_t> bytes_;
};

}  // namespace systole::solver::exact
