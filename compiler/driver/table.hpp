// Plain text tables for the terminal: columns sized to their content, numbers to the right, text to the left.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace systole::driver {

class Table {
 public:
  enum class Align : std::uint8_t { left, right };
  struct Column {
    std::string title;
    Align align = Align::right;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  [[nodiscard]] std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

[[nodiscard]] std::string grouped(std::int64_t number);        // 1,234,567
[[nodiscard]] std::string bytes_text(std::int64_t bytes);      // 1.5 MiB
[[nodiscard]] std::string percent(double part, double whole);  // 12.3 %, "-" if whole is 0

}  // namespace systole::driver
