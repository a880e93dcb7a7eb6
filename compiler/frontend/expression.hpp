// Arithmetic of recipes: integers and reals over named parameters.
//
// Operators, loosest first: a ? b : c, ||, &&, == != < <= > >=, + -, * / %, unary - and !. Integer division rounds down;
// functions min, max, sqrt, exp, log, pow, float. An operation with a real operand is real; pow of two integers is one. Errors: malformed text, unknown
// name, division by zero, integer overflow; they name the text.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace systole::frontend {

struct Number {
  bool real = false;
  std::int64_t integer = 0;
  double value = 0.0;  // also set for integers

  static Number of(std::int64_t i) { return {false, i, static_cast<double>(i)}; }
  static Number of_real(double v) { return {true, 0, v}; }
};

using Parameters = std::map<std::string, Number>;

[[nodiscard]] Number evaluate_expression(std::string_view text, const Parameters& parameters);
// Whether the text consists of numbers, known names and operators, so that it is meant as an expression and not as a word.
[[nodiscard]] bool is_expression(std::string_view text, const Parameters& parameters);

}  // namespace systole::frontend
