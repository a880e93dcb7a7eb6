// The known name that a mistyped one was probably meant to be: smallest edit distance (insert,
// delete, replace, swap of neighbours), ties to the earlier candidate, none if more than a third of
// the name would have to change.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace systole {

inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    last[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replace, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

// For the remedy of an Error: `did you mean "x"?`, or `known: a, b, c` if nothing is near.
inline std::string did_you_mean(std::string_view name, const std::vector<std::string>& known) {
  if (name.size() <= 64) {  // longer ones are no typing mistakes, and the distance is quadratic
    std::size_t best = std::max<std::size_t>(name.size() / 3, 1) + 1;
    const std::string* nearest = nullptr;
    for (const std::string& candidate : known) {
      if (const std::size_t distance = edit_distance(name, candidate); distance < best) {
        best = distance;
        nearest = &candidate;
      }
    }
    if (nearest != nullptr) {
      return "did you mean \"" + *nearest + "\"?";
    }
  }
  std::string list;
  for (const std::string& candidate : known) {
    list += (list.empty() ? "" : ", ") + candidate;
  }
  return "known: " + (list.empty() ? "nothing" : list);
}

}  // namespace systole
