// Jobs in child processes: each has its own memory, its own crash, and one file to write its answer to.
//
// run_jobs forks a child per job, at most `parallel` at once, in order of their numbers. The caller has no other threads.
// A child never returns into the caller. When the parent dies its children are killed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace systole::driver {

struct Finished {
  std::size_t job = 0;
  std::string output;           // what the job returned
  std::string failure;          // empty: the job returned; otherwise why not
  std::int64_t peak_bytes = 0;  // resident memory
  double seconds = 0;           // wall clock
};

// `work` runs in the child; what it throws becomes Finished::failure. `done` runs in the caller, in order of completion.
// Throws Error if processes cannot be made.
void run_jobs(std::size_t jobs, std::size_t parallel,
              const std::function<std::string(std::size_t)>& work,
              const std::function<void(const Finished&)>& done);

}  // namespace systole::driver
