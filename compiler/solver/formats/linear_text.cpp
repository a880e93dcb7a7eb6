// Reading CPLEX LP and OPB.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "compiler/solver/formats/linear.hpp"
#include "isa/base/error.hpp"

namespace systole::solver::formats {
namespace {

constexpr Cost largest_number = Cost{1} << 50;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string lower(std::string_view word) {
  std::string out(word);
  for (char& c : out) {
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

// Signs, relations, ':' and ';' stand alone; everything else up to a blank or one of them is a word.
struct Token {
  std::string_view text;
  int line = 1;
};

std::vector<Token> tokens_of(std::string_view text, char comment) {
  constexpr std::string_view alone = "+-:;";
  constexpr std::string_view relation = "<>=";
  std::vector<Token> out;
  int line = 1;
  bool fresh = true;  // nothing on this line yet: OPB comments start a line
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '\n') {
      ++line;
      ++i;
      fresh = true;
    } else if (c == comment && (fresh || comment == '\\')) {
      i = std::min(text.find('\n', i), text.size());
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++i;
    } else {
      std::size_t end = i + 1;
      if (relation.find(c) != std::string_view::npos) {
        while (end < text.size() && relation.find(text[end]) != std::string_view::npos) {
          ++end;
        }
      } else if (alone.find(c) == std::string_view::npos) {
        while (end < text.size() && static_cast<unsigned char>(text[end]) > ' ' &&
               alone.find(text[end]) == std::string_view::npos &&
               relation.find(text[end]) == std::string_view::npos) {
          ++end;
        }
      }
      out.push_back({text.substr(i, end - i), line});
      i = end;
      fresh = false;
    }
  }
  return out;
}

class Reader {
 public:
  Reader(std::string_view text, std::string_view name, char comment)
      : name_(name), tokens_(tokens_of(text, comment)) {}

 protected:
  [[noreturn]] void fail(const std::string& what, const std::string& remedy = {}) const {
    const int line = tokens_.empty() ? 1 : tokens_[std::min(next_, tokens_.size() - 1)].line;
    throw Error(fmt::format("{}:{}", name_, line), what, remedy);
  }
  [[nodiscard]] bool done() const { return next_ >= tokens_.size(); }
  [[nodiscard]] std::string_view peek(std::size_t ahead = 0) const {
    return next_ + ahead < tokens_.size() ? tokens_[next_ + ahead].text : std::string_view();
  }
  std::string_view take() {
    if (done()) {
      fail("the text ends too early");
    }
    return tokens_[next_++].text;
  }

  // "+ 3", "-", "4", "": signs and a number; `written` says whether there was a number.
  Cost coefficient(bool& written) {
    Cost sign = 1;
    while (peek() == "+" || peek() == "-") {
      sign = take() == "-" ? -sign : sign;
    }
    written = !peek().empty() && is_digit(peek().front());
    if (!written) {
      return sign;
    }
    std::string_view word = peek();
    if (word.size() > 2 && word.substr(word.size() - 2) == ".0") {
      word.remove_suffix(2);
    }
    Cost value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc{} || end != word.data() + word.size() || value > largest_number) {
      fail(fmt::format("'{}' is not a whole number up to 2^50", peek()));
    }
    take();
    return sign * value;
  }

  // Turns "terms relation right" into >= or =.
  void add_constraint(LinearConstraint constraint, std::string_view relation, Cost right) {
    const bool less = relation == "<=" || relation == "=<" || relation == "<";
    const bool more = relation == ">=" || relation == "=>" || relation == ">";
    if (!less && !more && relation != "=") {
      fail(fmt::format("'{}' is no relation", relation), "use >=, <= or =");
    }
    constraint.equality = !less && !more;
    constraint.right = less ? -right : right;
    for (auto& [factor, variable] : constraint.terms) {
      factor = less ? -factor : factor;
    }
    out_.constraints.push_back(std::move(constraint));
  }

  std::string name_;
  std::vector<Token> tokens_;
  std::size_t next_ = 0;
  LinearProgram out_;
};

class OpbReader : public Reader {
 public:
  OpbReader(std::string_view text, std::string_view name) : Reader(text, name, '*') {}

  LinearProgram read() {
    if (peek() == "max") {
      fail("only minimisation is read", "negate the objective");
    }
    if (peek() == "min" && peek(1) == ":") {
      next_ += 2;
      Cost shift = 0;
      out_.objective = terms(shift);
      if (shift != 0) {
        fail("negated literals in the objective are not read");
      }
      end_of_statement();
    }
    while (!done()) {
      LinearConstraint constraint;
      Cost shift = 0;
      constraint.terms = terms(shift);
      const std::string_view relation = take();
      if (relation == "<" || relation == ">") {  // strict here, unlike in LP files
        fail(fmt::format("'{}' is no relation", relation), "use >=, <= or =");
      }
      bool written = false;
      const Cost right = coefficient(written);
      if (!written) {
        fail("a number is expected behind the relation");
      }
      add_constraint(std::move(constraint), relation, right - shift);
      end_of_statement();
    }
    return std::move(out_);
  }

 private:
  void end_of_statement() {
    if (peek() != ";") {
      fail(fmt::format("';' is expected, not '{}'", peek()), "products of variables are not read");
    }
    take();
  }

  // A negated literal ~x is 1 - x: its coefficient goes into shift.
  std::vector<std::pair<Cost, int>> terms(Cost& shift) {
    std::vector<std::pair<Cost, int>> out;
    while (!done() && peek() != ";" &&
           std::string_view("<>=").find(peek().front()) == std::string_view::npos) {
      bool written = false;
      const bool sign = peek() == "+" || peek() == "-";
      const Cost factor = coefficient(written);
      if (!written && !sign && !out.empty()) {
        fail(fmt::format("'{}' has no coefficient", peek()), "products of variables are not read");
      }
      std::string_view word = take();
      const bool negated = word.front() == '~';
      word.remove_prefix(negated ? 1 : 0);
      int number = 0;
      const char* last = word.data() + word.size();
      const bool named = word.size() > 1 && word.front() == 'x';
      const auto parsed = std::from_chars(word.data() + (named ? 1 : 0), last, number);
      if (!named || parsed.ec != std::errc{} || parsed.ptr != last || number < 1 ||
          number > 1 << 26) {
        --next_;
        fail(fmt::format("'{}' is no variable", word), "variables are x1, x2, ...");
      }
      out_.variables = std::max(out_.variables, number);
      out.emplace_back(negated ? -factor : factor, number - 1);
      shift += negated ? factor : 0;
    }
    return out;
  }
};

class LpReader : public Reader {
 public:
  LpReader(std::string_view text, std::string_view name) : Reader(text, name, '\\') {}

  LinearProgram read() {
    const std::string first = lower(take());
    if (first.rfind("min", 0) != 0) {
      --next_;
      fail("a problem starts with Minimize", "negate an objective that is to be maximised");
    }
    skip_label();
    out_.objective = terms();
    if (lower(peek()) == "subject" && lower(peek(1)) == "to") {
      next_ += 2;
    } else if (lower(peek()) == "st" || lower(peek()) == "s.t.") {
      ++next_;
    } else {
      fail("'Subject To' is expected");
    }
    while (!done() && !section(peek())) {
      skip_label();
      LinearConstraint constraint;
      constraint.terms = terms();
      const std::string_view relation = take();
      bool written = false;
      const Cost right = coefficient(written);
      if (!written) {
        fail("a number is expected behind the relation");
      }
      add_constraint(std::move(constraint), relation, right);
    }
    read_binaries();
    return std::move(out_);
  }

 private:
  static bool section(std::string_view word) {
    static const std::set<std::string> names{"binary",   "binaries", "bin", "bounds",
                                             "general",  "generals", "gen", "integer",
                                             "integers", "end"};
    return names.count(lower(word)) != 0;
  }
  void skip_label() {
    if (peek(1) == ":") {
      next_ += 2;
    }
  }
  std::vector<std::pair<Cost, int>> terms() {
    std::vector<std::pair<Cost, int>> out;
    for (;;) {
      const std::string word = lower(peek());
      const bool sign = word == "+" || word == "-";
      if (done() || section(word) || word == "subject" || word == "st" || word == "s.t." ||
          std::string_view("<>=").find(word.front()) != std::string_view::npos) {
        return out;
      }
      bool written = false;
      const Cost factor = coefficient(written);
      if (done() || (!written && !sign && peek().empty())) {
        fail("a variable is expected");
      }
      const std::string name(take());
      const char c = name.front();
      if (!(c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) {
        --next_;
        fail(fmt::format("'{}' is no variable", name));
      }
      const auto [found, fresh] = numbers_.emplace(name, out_.variables);
      out_.variables += fresh ? 1 : 0;
      out.emplace_back(factor, found->second);
    }
  }

  void read_binaries() {
    std::set<int> binary;
    while (!done() && lower(peek()) != "end") {
      const std::string name = lower(take());
      if (name.rfind("bin", 0) != 0) {
        --next_;
        fail(fmt::format("the section {} is not read", peek()), "every variable must be binary");
      }
      while (!done() && !section(peek())) {
        const auto found = numbers_.find(std::string(take()));
        if (found != numbers_.end()) {  // one that no row has matters to nothing
          binary.insert(found->second);
        }
      }
    }
    for (const auto& [name, number] : numbers_) {
      if (binary.count(number) == 0) {
        fail(fmt::format("variable {} is not binary", name), "only 0/1 programs are read");
      }
    }
  }

  std::map<std::string, int> numbers_;
};

}  // namespace

LinearProgram parse_opb(std::string_view text, std::string_view name) {
  return OpbReader(text, name).read();
}

LinearProgram parse_lp(std::string_view text, std::string_view name) {
  return LpReader(text, name).read();
}

}  // namespace systole::solver::formats
