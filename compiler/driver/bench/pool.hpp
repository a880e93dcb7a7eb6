// Jobs in child processes: each has its own memory, its own crash, and one file to write its answer to.
//
// run_jobs forks a child per job, at most `parallel` at once, in order of their numbers. The caller has no other threads.
// A child never returns into the caller. When the parent dies its children are killed.
//
// Memory: what the children hold together is looked at twenty times a second. Above three quarters of the limit none is
// started and only the oldest goes on, the others sleep; above the limit the youngest is ended and its job done again,
// alone, after the others. A child alone that asks for more than the limit gets std::bad_alloc. When a job runs never
// changes what it returns.
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
// memory_bytes: resident memory that the children may hold together, 0: no limit. Returns the most that was seen.
// Throws Error if processes cannot be made.
std::int64_t run_jobs(std::size_t jobs, std::size_t parallel,
                      const std::function<std::string(std::size_t)>& work,
                      const std::function<void(const Finished&)>& done,
                      std::int64_t memory_bytes = 0);

}  // namespace systole::driver
