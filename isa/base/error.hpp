// Two of the three kinds of failure (the third, a legitimate outcome, is a Status value of its module).
//
// Error: a user's mistake. Thrown anywhere, caught once in the driver's main, printed as one line, exit code 2.
// check: an invariant of ours. A failure is a bug in Systole: message, file and line, abort. Kept in release builds.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace systole {

class Error : public std::runtime_error {
 public:
  // where: file, line, node or option. what: what is wrong. remedy: what the user can do.
  Error(std::string where, std::string what, std::string remedy = {})
      : std::runtime_error(compose(where, what, remedy)) {}

 private:
  static std::string compose(const std::string& where, const std::string& what,
                             const std::string& remedy) {
    std::string line = where.empty() ? what : where + ": " + what;
    if (!remedy.empty()) {
      line += "; " + remedy;
    }
    for (char& c : line) {
      if (c == '\n' || c == '\r') {
        c = ' ';  // one line, whatever a file or a library put into the text
      }
    }
    return line;
  }
};

inline void check(bool condition, std::string_view message, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
  if (!condition) [[unlikely]] {
    std::fprintf(stderr, "systole: internal error at %s:%d: %.*s\n", file, line,
                 static_cast<int>(message.size()), message.data());
    std::abort();
  }
}

}  // namespace systole
