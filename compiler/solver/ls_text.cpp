// The .ls text is what generators write and what timings are taken on, so its reader is a single pass over numbers.
#include "compiler/solver/ls_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "compiler/solver/text.hpp"
#include "isa/base/error.hpp"

namespace systole::solver {
namespace {

class LsReader {
 public:
  LsReader(std::string_view text, std::string_view name) : text_(text), name_(name) {}

  Problem read() {
    expect("ls");
    number(1, 1, "format version");
    const std::int64_t tensors = number(0, 1 << 28, "number of tensors");
    const std::int64_t operators = number(0, 1 << 28, "number of operators");
    // Each tensor and operator needs some text, so a wrong count cannot ask for more memory than the file is long.
    problem_.tensors.reserve(std::min(static_cast<std::size_t>(tensors), text_.size()));
    problem_.operators.reserve(std::min(static_cast<std::size_t>(operators), text_.size()));
    for (std::int64_t i = 0; i < tensors; ++i) {
      read_tensor();
    }
    for (std::int64_t i = 0; i < operators; ++i) {
      read_operator();
    }
    skip_blanks();
    if (at_ != text_.size()) {
      fail("text after the last operator");
    }
    return std::move(problem_);
  }

 private:
  void read_tensor() {
    expect("t");
    Tensor tensor;
    tensor.layouts = static_cast<int>(number(1, 1 << 12, "number of layouts"));
    const auto k = static_cast<std::size_t>(tensor.layouts);
    tensor.conversion.reserve(std::min(k * k, text_.size()));
    for (std::size_t i = 0; i < k * k; ++i) {
      tensor.conversion.push_back(price("conversion cost"));
    }
    problem_.tensors.add(std::move(tensor));
  }

  void read_operator() {
    expect("o");
    Operator op;
    const std::int64_t inputs = number(0, 1 << 20, "number of inputs");
    const auto last = static_cast<std::int64_t>(problem_.tensors.size()) - 1;
    for (std::int64_t i = 0; i < inputs; ++i) {
      op.inputs.emplace_back(static_cast<std::size_t>(number(0, last, "input tensor")));
    }
    op.output = TensorId(static_cast<std::size_t>(number(0, last, "output tensor")));
    const std::int64_t rows = number(0, 1 << 28, "number of rows");
    op.rows.reserve(std::min(static_cast<std::size_t>(rows), text_.size()));
    for (std::int64_t r = 0; r < rows; ++r) {
      Row& row = op.rows.emplace_back();
      row.layouts.resize(op.inputs.size() + 1);
      for (std::size_t i = 0; i <= op.inputs.size(); ++i) {
        const TensorId tensor = i < op.inputs.size() ? op.inputs[i] : op.output;
        row.layouts[i] =
            static_cast<int>(number(0, problem_.tensors[tensor].layouts - 1, "layout"));
      }
      row.cost = price("cost");
    }
    problem_.operators.add(std::move(op));
  }

  void skip_blanks() {
    while (at_ < text_.size()) {
      if (text_[at_] == '\n') {
        ++line_;
      } else if (text_[at_] != ' ' && text_[at_] != '\t' && text_[at_] != '\r') {
        return;
      }
      ++at_;
    }
  }

  std::string_view word() {
    skip_blanks();
    const std::size_t start = at_;
    while (at_ < text_.size() && text_[at_] > ' ') {
      ++at_;
    }
    if (start == at_) {
      fail("the text ends too early");
    }
    return text_.substr(start, at_ - start);
  }

  void expect(std::string_view keyword) {
    const std::string_view found = word();
    if (found != keyword) {
      fail(fmt::format("'{}' expected, '{}' found", keyword, found));
    }
  }

  std::int64_t number(std::int64_t low, std::int64_t high, std::string_view what) {
    skip_blanks();
    std::int64_t value = 0;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    const auto length = static_cast<std::size_t>(end - begin);
    const bool whole = at_ + length == text_.size() || (length > 0 && *end <= ' ');
    if (error != std::errc{} || !whole) {
      fail(fmt::format("{} '{}' is not a whole number", what, word()));
    }
    if (value < low || value > high) {
      fail(fmt::format("{} {} is outside {}..{}", what, value, low, high));
    }
    at_ += length;
    return value;
  }

  Cost price(std::string_view what) {
    skip_blanks();
    if (text_.substr(at_, 3) == "inf" && (at_ + 3 == text_.size() || text_[at_ + 3] <= ' ')) {
      at_ += 3;
      return infinity;
    }
    return number(0, infinity, what);
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(fmt::format("{}:{}", name_, line_), what);
  }

  std::string_view text_;
  std::string_view name_;
  std::size_t at_ = 0;
  int line_ = 1;
  Problem problem_;
};

}  // namespace

Problem parse_ls(std::string_view text, std::string_view name) {
  return LsReader(text, name).read();
}

std::string print_ls(const Problem& problem) {
  fmt::memory_buffer out;
  const auto sink = std::back_inserter(out);
  fmt::format_to(sink, "ls 1\n{} {}\n", problem.tensors.size(), problem.operators.size());
  for (const Tensor& tensor : problem.tensors) {
    fmt::format_to(sink, "t {}", tensor.layouts);
    for (const Cost cost : tensor.conversion) {
      fmt::format_to(sink, " {}", cost);
    }
    fmt::format_to(sink, "\n");
  }
  for (const Operator& op : problem.operators) {
    fmt::format_to(sink, "o {}", op.inputs.size());
    for (const TensorId input : op.inputs) {
      fmt::format_to(sink, " {}", input.index());
    }
    fmt::format_to(sink, " {} {}\n", op.output.index(), op.rows.size());
    for (const Row& row : op.rows) {
      for (const int layout : row.layouts) {
        fmt::format_to(sink, "{} ", layout);
      }
      fmt::format_to(sink, "{}\n", row.cost);
    }
  }
  return fmt::to_string(out);
}

}  // namespace systole::solver
