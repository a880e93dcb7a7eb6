#include "compiler/driver/bench/pool.hpp"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <new>

#include "isa/base/error.hpp"

namespace systole::driver {
namespace {

using Clock = std::chrono::steady_clock;
using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

constexpr int threw = 3;  // exit code of a child whose file holds the reason

struct Child {
  std::size_t job = 0;
  File file{nullptr, nullptr};
  Clock::time_point start;
};

bool put(std::FILE* file, const std::string& text) {
  return std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0;
}

[[noreturn]] void be_child(const std::function<std::string(std::size_t)>& work, std::size_t job,
                           std::FILE* file) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    _exit(put(file, work(job)) ? 0 : 1);
  } catch (const std::bad_alloc&) {
    put(file, "out of memory");
  } catch (const std::exception& error) {
    put(file, error.what());
  }
  _exit(threw);
}

std::string contents(std::FILE* file) {
  std::string text;
  std::rewind(file);
  std::array<char, 65536> buffer{};
  for (std::size_t got = 0; (got = std::fread(buffer.data(), 1, buffer.size(), file)) > 0;) {
    text.append(buffer.data(), got);
  }
  return text;
}

void start(const std::function<std::string(std::size_t)>& work, std::size_t job,
           std::map<pid_t, Child>& running) {
  Child child;
  child.job = job;
  child.file = File(std::tmpfile(), std::fclose);
  child.start = Clock::now();
  if (child.file == nullptr) {
    throw Error("bench", std::string("no temporary file: ") + std::strerror(errno),
                "free space in the temporary folder");
  }
  std::fflush(nullptr);  // what is buffered now would be written twice
  const pid_t pid = fork();
  if (pid < 0) {
    throw Error("bench", std::string("no process: ") + std::strerror(errno), "use fewer --jobs");
  }
  if (pid == 0) {
    be_child(work, job, child.file.get());
  }
  running.emplace(pid, std::move(child));
}

Finished wait_for_one(std::map<pid_t, Child>& running) {
  int status = 0;
  rusage usage{};
  pid_t pid = -1;
  do {
    pid = wait4(-1, &status, 0, &usage);
  } while ((pid < 0 && errno == EINTR) || (pid > 0 && running.count(pid) == 0));
  check(pid > 0, "a bench child is lost");
  const Child child = std::move(running.extract(pid).mapped());
  Finished out;
  out.job = child.job;
  out.peak_bytes = static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
  out.seconds = std::chrono::duration<double>(Clock::now() - child.start).count();
  std::string text = contents(child.file.get());
  if (WIFSIGNALED(status)) {
    out.failure =
        fmt::format("killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  } else if (WEXITSTATUS(status) == threw) {
    out.failure = std::move(text);
  } else if (WEXITSTATUS(status) != 0) {
    out.failure = fmt::format("ended with code {}", WEXITSTATUS(status));
  } else {
    out.output = std::move(text);
  }
  return out;
}

}  // namespace

void run_jobs(std::size_t jobs, std::size_t parallel,
              const std::function<std::string(std::size_t)>& work,
              const std::function<void(const Finished&)>& done) {
  std::map<pid_t, Child> running;
  std::size_t next = 0;
  while (next < jobs || !running.empty()) {
    if (next < jobs && running.size() < parallel) {
      start(work, next++, running);
    } else {
      done(wait_for_one(running));
    }
  }
}

}  // namespace systole::driver
