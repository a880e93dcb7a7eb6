#include "compiler/graph/scanner.hpp"

#include <fmt/format.h>

#include <charconv>

#include "isa/base/error.hpp"

namespace systole::graph {
namespace {

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-' || c == '+';
}

template <class T>
bool convert_number(std::string_view word, T& value) {
  const auto [end, fault] = std::from_chars(word.data(), word.data() + word.size(), value);
  return fault == std::errc() && end == word.data() + word.size();
}

}  // namespace

void Scanner::fail(const std::string& what, const std::string& remedy) const {
  throw Error(fmt::format("{}:{}", file_, line_), what, remedy);
}

void Scanner::skip() {
  while (!text_.empty() &&
         (text_.front() == ' ' || text_.front() == '\t' || text_.front() == '\r')) {
    text_.remove_prefix(1);
  }
}

bool Scanner::at_end() {
  skip();
  return text_.empty() || text_.front() == '#';
}

bool Scanner::accept(char c) {
  skip();
  if (text_.empty() || text_.front() != c) {
    return false;
  }
  text_.remove_prefix(1);
  return true;
}

void Scanner::expect(char c) {
  if (!accept(c)) {
    fail(text_.empty() ? fmt::format("expected '{}', the line ends", c)
                       : fmt::format("expected '{}', found '{}'", c, text_.substr(0, 12)),
         "see compiler/graph/text.hpp for the format");
  }
}

std::string_view Scanner::peek() {
  skip();
  std::size_t size = 0;
  while (size < text_.size() && is_word_character(text_[size])) {
    ++size;
  }
  return text_.substr(0, size);
}

bool Scanner::accept_word(std::string_view word) {
  if (peek() != word) {
    return false;
  }
  text_.remove_prefix(word.size());
  return true;
}

std::string Scanner::word() {
  const std::string found(peek());
  if (found.empty()) {
    fail(fmt::format("expected a word, found '{}'", text_.substr(0, 12)),
         "see compiler/graph/text.hpp for the format");
  }
  text_.remove_prefix(found.size());
  return found;
}

std::string Scanner::reference() {
  expect('%');
  return word();
}

std::string Scanner::quoted() {
  expect('"');
  std::string out;
  while (!text_.empty() && text_.front() != '"') {
    char c = text_.front();
    text_.remove_prefix(1);
    if (c == '\\' && !text_.empty()) {
      c = text_.front();
      text_.remove_prefix(1);
      if (c == 'x') {
        int code = 0;
        const std::string_view digits = text_.substr(0, 2);
        const auto [end, fault] =
            std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
        if (fault != std::errc() || end != digits.data() + 2) {
          fail("\\x needs two hexadecimal digits", "correct the escape");
        }
        text_.remove_prefix(2);
        c = static_cast<char>(code);
      }
    }
    out += c;
  }
  expect('"');
  return out;
}

std::int64_t Scanner::integer() {
  const std::string text = word();
  std::int64_t value = 0;
  if (!convert_number(text, value)) {
    fail("'" + text + "' is no whole number of 64 bits", "correct the number");
  }
  return value;
}

std::uint64_t Scanner::natural() {
  const std::string text = word();
  std::uint64_t value = 0;
  if (!convert_number(text, value)) {
    fail("'" + text + "' is no unsigned number of 64 bits", "correct the number");
  }
  return value;
}

double Scanner::real() {
  const std::string text = word();
  double value = 0.0;
  if (!convert_number(text, value)) {
    fail("'" + text + "' is no number", "correct the number");
  }
  return value;
}

}  // namespace systole::graph
