// Lines of a text, split into words, with the line number for error messages. '#' starts a comment.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace systole::solver {

class Scanner {
 public:
  // name: what errors call the text, usually its path.
  Scanner(std::string_view text, std::string_view name) : text_(text), name_(name) {}

  // Moves to the next line that has a word; false at the end.
  bool next_line();
  [[nodiscard]] const std::vector<std::string_view>& words() const { return words_; }
  // A whole number in [low, high] from a word of this line; throws otherwise. `what` names it.
  std::int64_t number(std::string_view word, std::int64_t low, std::int64_t high,
                      std::string_view what) const;
  [[noreturn]] void fail(const std::string& what, const std::string& remedy = {}) const;

 private:
  std::string_view text_;
  std::string name_;
  std::size_t position_ = 0;
  int line_ = 0;
  std::vector<std::string_view> words_;
};

}  // namespace systole::solver
