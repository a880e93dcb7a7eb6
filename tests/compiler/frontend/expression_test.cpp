#include "compiler/frontend/expression.hpp"

#include <doctest/doctest.h>

#include "isa/base/error.hpp"

using namespace systole;
using frontend::evaluate_expression;
using frontend::Number;

namespace {

const frontend::Parameters parameters = {
    {"a", Number::of(7)}, {"b_2", Number::of(-3)}, {"r", Number::of_real(0.5)}};

std::int64_t integer(const char* text) {
  const Number n = evaluate_expression(text, parameters);
  CHECK_FALSE(n.real);
  return n.integer;
}

}  // namespace

TEST_CASE("integer expressions follow the usual precedence and round division down") {
  CHECK(integer("1 + 2 * 3") == 7);
  CHECK(integer("(1 + 2) * 3") == 9);
  CHECK(integer("a / 2") == 3);
  CHECK(integer("b_2 / 2") == -2);
  CHECK(integer("b_2 % 2") == 1);
  CHECK(integer("-a + 1") == -6);
  CHECK(integer("10 - 3 - 2") == 5);
  CHECK(integer("min(a, 5) + max(a, 5)") == 12);
  CHECK(integer("pow(2, 10)") == 1024);
  CHECK(integer("a > 3 && !(a == 8) ? 1 + 1 : 0") == 2);
  CHECK(integer("a != 7 || b_2 >= 0") == 0);
}

TEST_CASE("an operation with a real operand is real") {
  CHECK(evaluate_expression("r * 4", parameters).value == 2.0);
  CHECK(evaluate_expression("1 / sqrt(16)", parameters).value == 0.25);
  CHECK(evaluate_expression("1e-5", parameters).value == 1e-5);
  CHECK(evaluate_expression("float(a) / 2", parameters).value == 3.5);
}

TEST_CASE("malformed expressions are refused") {
  for (const char* text :
       {"", "1 +", "(1", "1 2", "a b_2", "unknown", "1 / 0", "1 % 0", "min(1)", "1 ? 2", ".5.5",
        "0x10", "9223372036854775807 + 1", "-9223372036854775807 - 2", "pow(10, 30)", "r % 2",
        "99999999999999999999 @"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(static_cast<void>(evaluate_expression(text, parameters)), Error);
  }
  CHECK_THROWS_AS(static_cast<void>(evaluate_expression(std::string(1000, '('), parameters)),
                  Error);
  CHECK_THROWS_AS(
      static_cast<void>(evaluate_expression(std::string(100000, '-') + "1", parameters)), Error);
  CHECK_THROWS_WITH_AS(static_cast<void>(evaluate_expression("aa", parameters)),
                       doctest::Contains("no parameter 'aa' here; known: a, b_2, r"), Error);
}

TEST_CASE("a word is an expression only when all its names are known") {
  CHECK(frontend::is_expression("a + 1", parameters));
  CHECK(frontend::is_expression("1e-5", parameters));
  CHECK(frontend::is_expression("max(a, 2)", parameters));
  CHECK_FALSE(frontend::is_expression("SAME_UPPER", parameters));
  CHECK_FALSE(frontend::is_expression("", parameters));
}
