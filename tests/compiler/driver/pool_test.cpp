// Jobs in processes: what they return does not depend on how many run at once or how much memory there is.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>

#include "compiler/driver/bench/pool.hpp"

using systole::driver::Finished;
using systole::driver::run_jobs;

namespace {

constexpr std::size_t megabyte = 1'000'000;

// Holds so many megabytes, taken in steps with a pause between them.
std::string hold(std::size_t megabytes, int steps, unsigned pause_us) {
  const std::size_t bytes = megabytes * megabyte;
  const std::unique_ptr<char[]> memory(new char[bytes]);
  const std::size_t step = bytes / static_cast<std::size_t>(steps);
  for (std::size_t begin = 0; begin + step <= bytes; begin += step) {
    std::memset(memory.get() + begin, 1, step);
    usleep(pause_us);
  }
  return std::to_string(megabytes) + " held " + std::to_string(memory[bytes / 2]);
}

struct Answers {
  std::map<std::size_t, std::string> output, failure;
  std::int64_t most = 0;
};

Answers run(std::size_t jobs, const std::function<std::string(std::size_t)>& work,
            std::int64_t limit) {
  Answers out;
  out.most = run_jobs(
      jobs, 3, work,
      [&](const Finished& finished) {
        CHECK(out.output.emplace(finished.job, finished.output).second);
        out.failure[finished.job] = finished.failure;
      },
      limit);
  return out;
}

}  // namespace

TEST_CASE("jobs that together need more memory than there is take turns and return the same") {
  for (const unsigned pause_us :
       {20'000U, 0U}) {  // growing slowly; all at once, too fast to be put to sleep
    const auto work = [&](std::size_t job) {
      return hold(200 + job, 10, pause_us) + (usleep(200'000) == 0 ? "" : "!");
    };
    const Answers free = run(3, work, 0);
    const Answers bound = run(3, work, 450 * megabyte);
    CHECK(free.output == bound.output);
    CHECK(bound.output.at(2) == "202 held 1");
    CHECK(bound.failure.at(0).empty());
    CHECK(bound.failure.at(1).empty());
    CHECK(bound.failure.at(2).empty());
    if (pause_us > 0) {  // less than all of them at once
      CHECK(bound.most < static_cast<std::int64_t>(550 * megabyte));
    }
  }
}

TEST_CASE("a job that alone needs more memory than there is fails, and the others do not") {
  const Answers answers = run(
      3, [](std::size_t job) { return hold(job == 1 ? 500 : 50, 10, 0); }, 300 * megabyte);
  CHECK(answers.output.at(0) == "50 held 1");
  CHECK(answers.output.at(2) == "50 held 1");
  CHECK(answers.failure.at(1) == "out of memory");
}
