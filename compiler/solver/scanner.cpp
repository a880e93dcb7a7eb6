#include "compiler/solver/scanner.hpp"

#include <fmt/format.h>

#include <charconv>

#include "isa/base/error.hpp"

namespace systole::solver {

bool Scanner::next_line() {
  words_.clear();
  while (words_.empty() && position_ < text_.size()) {
    ++line_;
    std::size_t end = text_.find('\n', position_);
    end = end == std::string_view::npos ? text_.size() : end;
    std::string_view line = text_.substr(position_, end - position_);
    position_ = end + 1;
    line = line.substr(0, line.find('#'));
    std::size_t at = 0;
    while (at < line.size()) {
      const auto blank = [&](std::size_t i) {
        return line[i] == ' ' || line[i] == '\t' || line[i] == '\r';
      };
      while (at < line.size() && blank(at)) {
        ++at;
      }
      const std::size_t start = at;
      while (at < line.size() && !blank(at)) {
        ++at;
      }
      if (at > start) {
        words_.push_back(line.substr(start, at - start));
      }
    }
  }
  return !words_.empty();
}

std::int64_t Scanner::number(std::string_view word, std::int64_t low, std::int64_t high,
                             std::string_view what) const {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size()) {
    fail(fmt::format("{} '{}' is not a whole number", what, word));
  }
  if (value < low || value > high) {
    fail(fmt::format("{} {} is outside {}..{}", what, value, low, high));
  }
  return value;
}

void Scanner::fail(const std::string& what, const std::string& remedy) const {
  throw Error(fmt::format("{}:{}", name_, line_), what, remedy);
}

}  // namespace systole::solver
