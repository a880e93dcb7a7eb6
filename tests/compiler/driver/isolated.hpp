// Runs cases in processes of their own, several at once, so that a crash or a hang of one case is that case's failure and the
// rest still runs. (Timed simulations of one process are serialised; those of several processes are not.)
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "tests/compiler/frontend/onnx_cases.hpp"

namespace systole::tests {

struct Isolation {
  int jobs = 2;           // processes at a time
  unsigned seconds = 60;  // for one case; one that takes longer has failed
};

// run(0) ... run(count - 1), each in a forked process; results by index.
[[nodiscard]] std::vector<test::CaseResult> run_isolated(std::size_t count, const Isolation& isolation,
                                                         const std::function<test::CaseResult(std::size_t)>& run);

}  // namespace systole::tests
