#include "tests/compiler/driver/isolated.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <map>
#include <string>

#include "isa/base/error.hpp"

namespace systole::tests {
namespace {

using test::CaseResult;
using test::Verdict;

// A reason is one line; what a pipe holds without a reader (64 KiB) is more than enough for its start.
constexpr std::size_t longest_reason = 4096;

struct Child {
  std::size_t index = 0;
  int pipe = -1;
};

[[noreturn]] void be_child(int pipe, unsigned seconds, const std::function<CaseResult(std::size_t)>& run,
                           std::size_t index) {
  alarm(seconds);
  CaseResult result;
  try {
    result = run(index);
  } catch (const std::exception& error) {
    result = {Verdict::failed, std::string("exception: ") + error.what()};
  }
  std::string text(1, static_cast<char>('0' + static_cast<int>(result.verdict)));
  text += result.reason.substr(0, longest_reason);
  const bool written = write(pipe, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  std::fflush(nullptr);
  _exit(written ? 0 : 1);
}

CaseResult result_of(const Child& child, int status, unsigned seconds) {
  std::array<char, longest_reason + 1> buffer{};
  const ssize_t size = read(child.pipe, buffer.data(), buffer.size());
  close(child.pipe);
  if (WIFSIGNALED(status)) {
    return {Verdict::failed, WTERMSIG(status) == SIGALRM ? fmt::format("not finished after {} s", seconds)
                                                         : fmt::format("crashed with signal {}", WTERMSIG(status))};
  }
  if (size < 1 || WEXITSTATUS(status) != 0) {
    return {Verdict::failed, "ended without a result"};
  }
  return {static_cast<Verdict>(buffer[0] - '0'), std::string(buffer.data() + 1, static_cast<std::size_t>(size) - 1)};
}

}  // namespace

std::vector<CaseResult> run_isolated(std::size_t count, const Isolation& isolation,
                                     const std::function<CaseResult(std::size_t)>& run) {
  std::vector<CaseResult> results(count);
  std::map<pid_t, Child> children;
  std::fflush(nullptr);
  for (std::size_t next = 0; next < count || !children.empty();) {
    if (next < count && children.size() < static_cast<std::size_t>(isolation.jobs)) {
      std::array<int, 2> ends{};
      check(pipe(ends.data()) == 0, "no pipe");
      const pid_t pid = fork();
      check(pid >= 0, "no process");
      if (pid == 0) {
        be_child(ends[1], isolation.seconds, run, next);
      }
      close(ends[1]);
      children[pid] = {next++, ends[0]};
      continue;
    }
    int status = 0;
    const auto ended = children.find(waitpid(-1, &status, 0));
    if (ended != children.end()) {
      results[ended->second.index] = result_of(ended->second, status, isolation.seconds);
      children.erase(ended);
    }
  }
  return results;
}

}  // namespace systole::tests
