// Refusals that need the history of a run: reads of bytes never written, data races, accumulation onto PSUM that no
// multiply has started, multiplication with weights never loaded.
//
// Input tensors and constants count as written. A tensor that no transfer writes is not watched for races.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isa/machine.hpp"
#include "isa/program.hpp"
#include "sim/check/clocks.hpp"
#include "sim/check/shadow.hpp"
#include "sim/check/written.hpp"
#include "sim/simulate.hpp"

namespace systole::sim {

class Checker {
 public:
  Checker(const isa::Program& program, const isa::Machine& machine);

  struct Problem {
    FaultKind kind = FaultKind::race;
    std::string text;
  };
  // The instruction starts; its operands are inside the memories. `rows`: see for_each_touch.
  [[nodiscard]] std::optional<Problem> start(isa::Engine engine, std::size_t index,
                                             const std::vector<std::int64_t>* rows = nullptr);

  // After a complete run: the first output that was not written completely (only outputs without padding are judged).
  [[nodiscard]] std::optional<std::string> unwritten_output() const;

 private:
  struct Rectangle {  // of the array
    PartitionSet rows;
    int column = 0;
    int column_end = 0;
    [[nodiscard]] bool covers(const PartitionSet& other, int from, int to) const {
      return column <= from && to <= column_end && other.within(rows);
    }
  };
  struct Tensor {
    bool written_by_program = false;
    std::unique_ptr<Shadow> shadow;         // if written by the program
    std::unique_ptr<WrittenBytes> written;  // if its bytes do not exist at the start
  };

  [[nodiscard]] std::optional<Problem> check_read(const Footprint& footprint);
  [[nodiscard]] std::optional<Problem> check_race(const Access& access, const Footprint& footprint);
  [[nodiscard]] std::optional<Problem> check_array(const isa::Operation& operation);
  [[nodiscard]] std::optional<Problem> check_accumulation(const Footprint& footprint);
  void note_write(const isa::Operation& operation, const Footprint& footprint);
  [[nodiscard]] Shadow* shadow_of(const Footprint& footprint);
  [[nodiscard]] std::string describe(const Footprint& footprint) const;

  const isa::Program& program_;
  const isa::Machine& machine_;
  Clocks clocks_;
  Shadow sbuf_shadow_;
  Shadow psum_shadow_;
  WrittenSet sbuf_written_;
  WrittenSet psum_written_;
  WrittenSet psum_started_;
  std::vector<PartitionSet> loaded_rows_;  // per array column
  Rectangle last_load_;                    // already in loaded_rows_
  std::vector<Tensor> tensors_;
};

}  // namespace systole::sim
