#include "compiler/frontend/expression.hpp"

#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <vector>

#include <fmt/format.h>

#include "isa/base/error.hpp"

namespace systole::frontend {

namespace {

constexpr int deepest = 64;

bool is_function(std::string_view name) {
  return name == "min" || name == "max" || name == "sqrt" || name == "exp" || name == "log" ||
         name == "pow" || name == "float";
}

// Recursive descent, one function per level of precedence.
class Parser {
 public:
  Parser(std::string_view text, const Parameters& parameters)
      : text_(text), parameters_(parameters) {}

  Number parse() {
    const Number result = choice();
    skip_space();
    if (at_ != text_.size()) {
      fail(fmt::format("unexpected '{}'", text_[at_]));
    }
    return result;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(fmt::format("expression '{}'", text_.substr(0, 120)), what);
  }

  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
      ++at_;
    }
  }

  bool take(std::string_view token) {
    skip_space();
    if (text_.substr(at_, token.size()) != token) {
      return false;
    }
    at_ += token.size();
    return true;
  }

  static bool truth(const Number& n) { return n.real ? n.value != 0 : n.integer != 0; }

  Number choice() {
    const Number condition = either();
    if (!take("?")) {
      return condition;
    }
    const Number yes = choice();
    if (!take(":")) {
      fail("'?' without ':'");
    }
    const Number no = choice();
    return truth(condition) ? yes : no;
  }

  Number either() {
    Number left = both();
    while (take("||")) {
      const Number right = both();
      left = Number::of(truth(left) || truth(right) ? 1 : 0);
    }
    return left;
  }

  Number both() {
    Number left = comparison();
    while (take("&&")) {
      const Number right = comparison();
      left = Number::of(truth(left) && truth(right) ? 1 : 0);
    }
    return left;
  }

  Number comparison() {
    const Number left = sum();
    for (const std::string_view token : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (take(token)) {
        const Number right = sum();
        const bool real = left.real || right.real;
        const int order = real ? (left.value < right.value   ? -1
                                  : left.value > right.value ? 1
                                                             : 0)
                               : (left.integer < right.integer   ? -1
                                  : left.integer > right.integer ? 1
                                                                 : 0);
        const bool holds = token == "=="   ? order == 0
                           : token == "!=" ? order != 0
                           : token == "<=" ? order <= 0
                           : token == ">=" ? order >= 0
                           : token == "<"  ? order < 0
                                           : order > 0;
        return Number::of(holds ? 1 : 0);
      }
    }
    return left;
  }

  Number sum() {
    Number left = product();
    while (true) {
      if (take("+")) {
        left = combine('+', left, product());
      } else if (take("-")) {
        left = combine('-', left, product());
      } else {
        return left;
      }
    }
  }

  Number product() {
    Number left = unary();
    while (true) {
      if (take("*")) {
        left = combine('*', left, unary());
      } else if (take("/")) {
        left = combine('/', left, unary());
      } else if (take("%")) {
        left = combine('%', left, unary());
      } else {
        return left;
      }
    }
  }

  Number combine(char op, const Number& a, const Number& b) const {
    if (a.real || b.real) {
      switch (op) {
        case '+':
          return Number::of_real(a.value + b.value);
        case '-':
          return Number::of_real(a.value - b.value);
        case '*':
          return Number::of_real(a.value * b.value);
        case '/':
          return Number::of_real(a.value / b.value);
        default:
          fail("'%' needs integers");
      }
    }
    std::int64_t result = 0;
    bool overflow = false;
    if (op == '/' || op == '%') {
      if (b.integer == 0 || b.integer == -1) {
        if (b.integer == 0) {
          fail("division by zero");
        }
        return op == '%' ? Number::of(0) : combine('-', Number::of(0), a);
      }
      const std::int64_t rest = a.integer % b.integer;
      const bool down = rest != 0 && (rest < 0) != (b.integer < 0);
      result = op == '/' ? a.integer / b.integer - (down ? 1 : 0) : rest + (down ? b.integer : 0);
    } else if (op == '+') {
      overflow = __builtin_add_overflow(a.integer, b.integer, &result);
    } else if (op == '-') {
      overflow = __builtin_sub_overflow(a.integer, b.integer, &result);
    } else {
      overflow = __builtin_mul_overflow(a.integer, b.integer, &result);
    }
    if (overflow) {
      fail("the result does not fit into 64 bits");
    }
    return Number::of(result);
  }

  Number unary() {
    if (++depth_ > deepest) {
      fail("nested too deeply");
    }
    Number result;
    if (take("-")) {
      const Number operand = unary();
      result =
          operand.real ? Number::of_real(-operand.value) : combine('-', Number::of(0), operand);
    } else if (text_.substr(at_, 2) != "!=" && take("!")) {
      result = Number::of(truth(unary()) ? 0 : 1);
    } else {
      result = primary();
    }
    --depth_;
    return result;
  }

  Number primary() {
    skip_space();
    if (take("(")) {
      const Number inner = choice();
      if (!take(")")) {
        fail("missing ')'");
      }
      return inner;
    }
    if (at_ < text_.size() &&
        (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '.')) {
      return number();
    }
    return name();
  }

  Number number() {
    const std::string rest(text_.substr(at_));
    std::int64_t integer = 0;
    const auto parsed = std::from_chars(rest.data(), rest.data() + rest.size(), integer);
    char* end = nullptr;
    const double value = std::strtod(rest.c_str(), &end);
    const bool is_integer = parsed.ec == std::errc{} && parsed.ptr == end;
    if (end == rest.c_str() || rest[0] == '.' || rest.rfind("0x", 0) == 0 ||
        (parsed.ec != std::errc{} && is_integer)) {
      fail("malformed number");
    }
    at_ += static_cast<std::size_t>(end - rest.c_str());
    return is_integer ? Number::of(integer) : Number::of_real(value);
  }

  Number name() {
    const std::size_t start = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_')) {
      ++at_;
    }
    const std::string word(text_.substr(start, at_ - start));
    if (word.empty()) {
      fail(at_ < text_.size() ? fmt::format("unexpected '{}'", text_[at_]) : "it ends too early");
    }
    if (is_function(word) && take("(")) {
      return call(word);
    }
    const auto found = parameters_.find(word);
    if (found == parameters_.end()) {
      std::vector<std::string> known;
      for (const auto& [key, value] : parameters_) {
        known.push_back(key);
      }
      fail(fmt::format("no parameter '{}' here; known: {}", word, fmt::join(known, ", ")));
    }
    return found->second;
  }

  Number call(const std::string& function) {
    std::vector<Number> arguments = {choice()};
    while (take(",")) {
      arguments.push_back(choice());
    }
    const std::size_t want = function == "min" || function == "max" || function == "pow" ? 2 : 1;
    if (!take(")") || arguments.size() != want) {
      fail(fmt::format("{} takes {} arguments", function, want));
    }
    const Number& a = arguments[0];
    if (function == "min" || function == "max") {
      const Number& b = arguments[1];
      const bool first = (a.real || b.real) ? a.value < b.value : a.integer < b.integer;
      return first == (function == "min") ? a : b;
    }
    if (function == "pow" && !a.real && !arguments[1].real && arguments[1].integer >= 0) {
      Number power = Number::of(1);
      for (std::int64_t i = 0; i < arguments[1].integer && power.integer != 0; ++i) {
        power = combine('*', power, a);
        if (i >= 64 && (a.integer == 1 || a.integer == -1)) {
          return Number::of(arguments[1].integer % 2 == 0 ? 1 : a.integer);
        }
      }
      return power;
    }
    if (function == "pow") {
      return Number::of_real(std::pow(a.value, arguments[1].value));
    }
    return Number::of_real(function == "sqrt"  ? std::sqrt(a.value)
                           : function == "exp" ? std::exp(a.value)
                           : function == "log" ? std::log(a.value)
                                               : a.value);
  }

  std::string_view text_;
  const Parameters& parameters_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Number evaluate_expression(std::string_view text, const Parameters& parameters) {
  return Parser(text, parameters).parse();
}

bool is_expression(std::string_view text, const Parameters& parameters) {
  for (std::size_t at = 0; at < text.size();) {
    if (std::isalpha(static_cast<unsigned char>(text[at])) == 0 && text[at] != '_') {
      // A digit run takes its exponent along, so that 1e-5 has no name in it.
      if (std::isdigit(static_cast<unsigned char>(text[at])) != 0) {
        while (at < text.size() &&
               (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '.')) {
          ++at;
        }
      } else {
        ++at;
      }
      continue;
    }
    const std::size_t start = at;
    while (at < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_')) {
      ++at;
    }
    const std::string word(text.substr(start, at - start));
    if (!is_function(word) && !parameters.contains(word)) {
      return false;
    }
  }
  return !text.empty();
}

}  // namespace systole::frontend
