// What goes wrong when strategies choose by fitted prices: pairs of programs of one model that the prices rank the other
// way round than the machine, and what is to blame.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "compiler/driver/calibrate/profile.hpp"

namespace systole::driver {

struct Judgement {
  std::size_t pairs = 0;
  std::size_t flipped = 0;
  std::size_t models = 0;
  std::size_t behind = 0;  // models whose cheapest program is more than 1 % slower than the fastest
  double worst = 1;        // of the cheapest over the fastest
  std::map<std::string, std::size_t> blamed;  // operator or conversion: flipped pairs

  [[nodiscard]] double score() const;  // less is better
};

// Of programs by the same prices. The samples that are to blame, and the programs, weigh more from here on.
[[nodiscard]] Judgement judge(std::vector<Sample>& samples, const layout::CostModel& model);

}  // namespace systole::driver
