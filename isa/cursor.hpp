// One line of assembly under a reading position: the values of isa/text.hpp's grammar. Internal to
// the reader. Every failure is an Error with file:line:column; nothing is allocated beyond what the
// line itself is long.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "isa/base/error.hpp"
#include "isa/base/nearest.hpp"
#include "isa/names.hpp"

namespace systole::isa::detail {

inline bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

template <Named E>
std::vector<std::string> known_names() {
  std::vector<std::string> known;
  for (const std::string_view name : enum_names(std::type_identity<E>{})) {
    known.emplace_back(name);
  }
  return known;
}

class Cursor {
 public:
  Cursor(std::string_view line, int number, const std::string& file)
      : line_(line), number_(number), file_(&file) {}

  [[noreturn]] void fail(const std::string& what, const std::string& remedy) const {
    throw Error(fmt::format("{}:{}:{}", *file_, number_, at_ + 1), what, remedy);
  }
  [[noreturn]] void fail_expected(std::string_view wanted) const {
    const std::string_view rest = line_.substr(at_, 24);
    fail(rest.empty() ? fmt::format("{} expected, the line ends", wanted)
                      : fmt::format("{} expected before \"{}\"", wanted, rest),
         "the form is described in isa/README.md");
  }

  // Skips blanks; true at the end of the line or a comment.
  bool at_end() {
    while (at_ < line_.size() && (line_[at_] == ' ' || line_[at_] == '\t' || line_[at_] == '\r')) {
      ++at_;
    }
    return at_ == line_.size() || line_[at_] == ';';
  }
  void expect_end() {
    if (!at_end()) {
      fail_expected("the end of the line");
    }
  }
  bool accept(std::string_view text) {
    if (line_.substr(at_, text.size()) != text) {
      return false;
    }
    at_ += text.size();
    return true;
  }
  void expect(std::string_view text) {
    if (!accept(text)) {
      fail_expected(fmt::format("\"{}\"", text));
    }
  }
  // A whole word, blanks before it skipped.
  bool accept_word(std::string_view text) {
    const std::size_t start = at_;
    if (!at_end() && accept(text) && (at_ == line_.size() || !is_word(line_[at_]))) {
      return true;
    }
    at_ = start;
    return false;
  }
  void expect_word(std::string_view text) {
    if (!accept_word(text)) {
      at_end();
      fail_expected(fmt::format("\"{}\"", text));
    }
  }
  std::string_view word() {
    const std::size_t start = at_;
    while (at_ < line_.size() && is_word(line_[at_])) {
      ++at_;
    }
    return line_.substr(start, at_ - start);
  }
  void back_to(std::size_t position) { at_ = position; }
  [[nodiscard]] std::size_t position() const { return at_; }
  [[nodiscard]] char peek() const { return at_ < line_.size() ? line_[at_] : '\0'; }

  template <class I>
  I integer(std::int64_t low = std::numeric_limits<I>::min(),
            std::int64_t high = std::numeric_limits<I>::max()) {
    std::int64_t value = 0;
    const char* begin = line_.data() + at_;
    const auto [stop, error] = std::from_chars(begin, line_.data() + line_.size(), value);
    if (stop == begin) {
      fail_expected("a whole number");
    }
    if (error != std::errc{} || value < low || value > high) {
      fail("the number is out of range", fmt::format("give one from {} to {}", low, high));
    }
    at_ += static_cast<std::size_t>(stop - begin);
    return static_cast<I>(value);
  }
  std::uint64_t hexadecimal() {
    std::uint64_t value = 0;
    const char* begin = line_.data() + at_;
    const auto [stop, error] = std::from_chars(begin, line_.data() + line_.size(), value, 16);
    if (stop == begin || error != std::errc{}) {
      fail_expected("a hexadecimal number of up to 16 digits");
    }
    at_ += static_cast<std::size_t>(stop - begin);
    return value;
  }
  std::string quoted();

  template <Named E>
  E name() {
    const std::size_t start = at_;
    const std::string_view text = word();
    if (const auto value = find_enum<E>(text)) {
      return *value;
    }
    at_ = start;
    fail(fmt::format("\"{}\" is not a name of this place", text.substr(0, 64)),
         did_you_mean(text, known_names<E>()));
  }
  template <class I>
  I id(char letter) {
    if (accept("none")) {
      return I{};
    }
    if (peek() != letter) {
      fail_expected(fmt::format("an id like {}0", letter));
    }
    ++at_;
    return I(integer<std::size_t>(0, 0xfffffffeLL));
  }

  void value(bool& v) { v = accept("true") || (expect("false"), false); }
  void value(float& v);
  void value(Access& access);
  void value(DmaAccess& access);
  void value(Scalar& scalar);
  template <Named E>
  void value(E& v) {
    v = name<E>();
  }
  template <class I>
  requires(std::is_integral_v<I> && !std::is_same_v<I, bool>) void value(I& v) { v = integer<I>(); }
  template <class T, std::size_t n>
  void value(std::array<T, n>& values) {
    expect("(");
    for (std::size_t i = 0; i < n; ++i) {
      if (i != 0) {
        expect(",");
      }
      value(values[i]);
    }
    expect(")");
  }
  template <class T>
  void value(std::vector<T>& values) {
    expect("(");
    if (accept(")")) {
      return;
    }
    do {
      value(values.emplace_back());
    } while (accept(","));
    expect(")");
  }

 private:
  template <class A, class F>
  void dims(A& access, F&& stride);
  bool at_space() const {
    const std::string_view rest = line_.substr(at_, 5);
    return rest.substr(0, 4) == "hbm:" || rest == "sbuf:" || rest == "psum:";
  }

  std::string_view line_;
  int number_;
  const std::string* file_;
  std::size_t at_ = 0;
};

}  // namespace systole::isa::detail
