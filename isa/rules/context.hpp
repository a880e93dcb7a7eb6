// What the rules of isa/verify share: program, machine, place, and where violations go. Internal to isa/verify.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isa/verify.hpp"

namespace systole::isa::rules {

// Weights in the array: the rectangles that load_stationary filled, oldest first, without those that a later one covers.
struct Loaded {
  int row = 0;
  int rows = 0;
  int column = 0;
  int columns = 0;
  DType dtype = DType::f32;
  bool double_row = false;
};

class Context {
 public:
  Context(const Program& program, const Machine& machine);

  const Program& program;
  const Machine& machine;
  const std::int64_t psum_bytes;  // per partition
  std::vector<Loaded> loaded;

  void enter(Engine engine, std::size_t instruction, SourceId source) {
    engine_ = engine;
    instruction_ = instruction;
    source_ = source;
  }
  void leave() { engine_.reset(); }

  template <class... A>
  void report(fmt::format_string<A...> format, A&&... arguments) {
    if (diagnostics_.size() < diagnostics_max) {
      diagnostics_.push_back(
          {engine_, instruction_, source_, fmt::format(format, std::forward<A>(arguments)...)});
    }
  }
  [[nodiscard]] int start_step(int count) const {
    return start_steps_[static_cast<std::size_t>(count)];
  }
  [[nodiscard]] int tile_step(int count) const {
    return tile_steps_[static_cast<std::size_t>(count)];
  }
  [[nodiscard]] std::vector<Diagnostic> take() { return std::move(diagnostics_); }

 private:
  std::optional<Engine> engine_;
  std::size_t instruction_ = 0;
  SourceId source_;
  std::vector<int> start_steps_;  // by number of partitions
  std::vector<int> tile_steps_;   // by number of rows or columns of the array
  std::vector<Diagnostic> diagnostics_;
};

// Each reports what is wrong and returns whether the operand may be looked at further.
[[nodiscard]] bool check_access(Context& context, std::string_view name, const Access& access,
                                bool is_write);
[[nodiscard]] bool check_side(Context& context, std::string_view name, const DmaAccess& access,
                              bool is_write);
// Elements of the named tensor's storage that the side may touch shifted by `shift` elements: in range?
void check_tensor_range(Context& context, std::string_view name, const DmaAccess& access,
                        std::int64_t shift);

// All operands, then the operation's own rules.
void check_operation(Context& context, const Operation& operation);

}  // namespace systole::isa::rules
