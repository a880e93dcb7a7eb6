// Inside compiler/graph only: reads the words of one line of graph text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace systole::graph {

class Scanner {
 public:
  Scanner(std::string_view line, std::string_view file, int number)
      : text_(line), file_(file), line_(number) {}

  [[noreturn]] void fail(const std::string& what,
                         const std::string& remedy) const;  // Error at file:line
  [[nodiscard]] int line() const { return line_; }
  [[nodiscard]] std::size_t rest() const { return text_.size(); }

  bool at_end();  // nothing but blanks and a comment left
  bool accept(char c);
  void expect(char c);
  bool accept_word(std::string_view word);
  std::string word();       // letters, digits, '_', '.', '-', '+'
  std::string reference();  // %word, without the sign
  std::string quoted();     // "text" with \" \\ \xNN
  std::int64_t integer();
  std::uint64_t natural();
  double real();

 private:
  void skip();
  std::string_view peek();

  std::string_view text_, file_;
  int line_;
};

}  // namespace systole::graph
