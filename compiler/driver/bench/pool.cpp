#include "compiler/driver/bench/pool.hpp"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <memory>
#include <new>
#include <optional>
#include <vector>

#include "isa/base/error.hpp"

namespace systole::driver {
namespace {

using Clock = std::chrono::steady_clock;
using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
using Work = std::function<std::string(std::size_t)>;

constexpr int threw = 3;  // exit code of a child whose file holds the reason
constexpr long look_every_ns = 50'000'000;

struct Child {
  pid_t pid = 0;
  std::size_t job = 0;
  File file{nullptr, nullptr};
  Clock::time_point start;
  bool asleep = false;
  bool ended_by_us = false;  // the children were too large together
  bool alone = false;        // there was no other one then
};

bool put(std::FILE* file, const std::string& text) {
  return std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0;
}

[[noreturn]] void be_child(const Work& work, std::size_t job, std::FILE* file,
                           const sigset_t& signals, std::int64_t memory_bytes) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (memory_bytes > 0) {
    const rlimit limit{static_cast<rlim_t>(memory_bytes), static_cast<rlim_t>(memory_bytes)};
    setrlimit(RLIMIT_DATA, &limit);
  }
  pthread_sigmask(SIG_SETMASK, &signals, nullptr);
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

// 0 for a child that has ended.
std::int64_t resident_bytes(pid_t pid) {
  std::ifstream in(fmt::format("/proc/{}/statm", pid));
  std::int64_t size = 0, resident = 0;
  in >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

Finished finished_of(const Child& child, int status, const rusage& usage) {
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

class Pool {
 public:
  Pool(std::size_t jobs, std::size_t parallel, const Work& work, std::int64_t memory_bytes)
      : jobs_(jobs), parallel_(parallel), work_(work), limit_(memory_bytes) {
    // A child's end is waited for together with the clock, hence as a blocked signal.
    sigemptyset(&awaited_);
    sigaddset(&awaited_, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &awaited_, &before_);
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  std::int64_t run(const std::function<void(const Finished&)>& done) {
    while (next_ < jobs_ || !again_.empty() || !running_.empty()) {
      if (next_ < jobs_ && running_.size() < parallel_ && (running_.empty() || calm_)) {
        start(next_++);
      } else if (next_ == jobs_ && running_.empty()) {
        start(again_.back());
        again_.pop_back();
      } else if (const std::optional<Finished> finished = ended()) {
        done(*finished);
      } else {
        const timespec pause{0, look_every_ns};
        sigtimedwait(&awaited_, nullptr, &pause);
      }
      look_at_memory();
    }
    return most_seen_;
  }

 private:
  void start(std::size_t job) {
    Child child;
    child.job = job;
    child.file = File(std::tmpfile(), std::fclose);
    child.start = Clock::now();
    if (child.file == nullptr) {
      throw Error("bench", std::string("no temporary file: ") + std::strerror(errno),
                  "free space in the temporary folder");
    }
    std::fflush(nullptr);  // what is buffered now would be written twice
    child.pid = fork();
    if (child.pid < 0) {
      throw Error("bench", std::string("no process: ") + std::strerror(errno), "use fewer --jobs");
    }
    if (child.pid == 0) {
      be_child(work_, job, child.file.get(), before_, limit_);
    }
    running_.push_back(std::move(child));
  }

  // One child that has ended, if there is one whose job is over.
  std::optional<Finished> ended() {
    int status = 0;
    rusage usage{};
    const pid_t pid = wait4(-1, &status, WNOHANG, &usage);
    check(pid >= 0 || errno == EINTR, "a bench child is lost");
    const auto found = std::find_if(running_.begin(), running_.end(),
                                    [&](const Child& child) { return child.pid == pid; });
    if (found == running_.end()) {
      return std::nullopt;
    }
    const Child child = std::move(*found);
    running_.erase(found);
    Finished out = finished_of(child, status, usage);
    if (!child.ended_by_us || !WIFSIGNALED(status)) {
      return out;
    }
    if (!child.alone) {
      again_.push_back(child.job);
      return std::nullopt;
    }
    out.failure = fmt::format("needs more than {:.2f} GB of memory: give more --memory-limit",
                              static_cast<double>(limit_) / 1e9);
    return out;
  }

  void look_at_memory() {
    std::int64_t total = 0;
    for (const Child& child : running_) {
      total += resident_bytes(child.pid);
    }
    most_seen_ = std::max(most_seen_, total);
    if (limit_ == 0 || running_.empty()) {
      calm_ = true;
      return;
    }
    calm_ = total <= limit_ / 4 * 3;
    const bool ending = std::any_of(running_.begin(), running_.end(),
                                    [](const Child& child) { return child.ended_by_us; });
    if (total > limit_ && !ending) {
      running_.back().ended_by_us = true;
      running_.back().alone = running_.size() == 1;
      kill(running_.back().pid, SIGKILL);
    }
    for (std::size_t i = 1; i < running_.size(); ++i) {  // the oldest is never asleep
      let_sleep(running_[i], !calm_);
    }
    let_sleep(running_.front(), false);
  }

  static void let_sleep(Child& child, bool asleep) {
    if (child.asleep != asleep) {
      child.asleep = asleep;
      kill(child.pid, asleep ? SIGSTOP : SIGCONT);
    }
  }

  std::size_t jobs_, parallel_;
  const Work& work_;
  std::int64_t limit_;
  sigset_t awaited_{}, before_{};
  std::vector<Child> running_;      // the oldest first
  std::vector<std::size_t> again_;  // jobs to be done alone
  std::size_t next_ = 0;            // job that was never started
  std::int64_t most_seen_ = 0;      // bytes
  bool calm_ = true;                // there is memory for another one
};

}  // namespace

std::int64_t run_jobs(std::size_t jobs, std::size_t parallel, const Work& work,
                      const std::function<void(const Finished&)>& done, std::int64_t memory_bytes) {
  return Pool(jobs, parallel, work, memory_bytes).run(done);
}

}  // namespace systole::driver
