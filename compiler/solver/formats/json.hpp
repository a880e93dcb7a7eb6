// Problems as JSON, to be written by hand or by other programs, and results as one line of JSON.
//
//   {
//     "layout-selection": 1,
//     "tensors": [
//       {"name": "A", "layouts": ["RM", "CM"], "convert": 30},
//       {"name": "B", "layouts": ["RM", "CM"], "convert": [[0, 30], ["inf", 0]], "groups": [4, -1]}
//     ],
//     "operators": [
//       {"name": "a", "output": "A", "rows": [
//         {"output": "RM", "cost": 0},
//         {"output": "CM", "cost": 0}]},
//       {"name": "twist", "inputs": ["A"], "output": "B", "family": "movement", "group": 2, "rows": [
//         {"inputs": ["RM"], "output": "CM", "cost": 12}]}
//     ]
//   }
//
// layouts: names, or how many there are. convert: the cost between every two different layouts, or a table, one row per
// layout that is produced, one entry per layout that is wanted; needed with two or more layouts. Layouts and tensors are
// named, or numbered from 0. Costs are whole numbers; "inf" is impossible. groups, family and group are the hints of
// problem.hpp and may be left out, as may inputs where there are none.
// Errors: Error with the file, the path within it (operators[1].rows[0].cost) and what is wrong; unknown and repeated
// members are refused.
#pragma once

#include <string>
#include <string_view>

#include "compiler/solver/problem.hpp"
#include "compiler/solver/result.hpp"

namespace systole::solver::formats {

// name appears in errors only.
Problem parse_json(std::string_view text, std::string_view name);

// Names that are missing or taken are replaced; everything else reads back as it is.
std::string print_json(const Problem& problem);

// One line: strategy, status, proof, cost and bound (null: infinite), gap, counters, note, and the chosen row of every
// operator. Times are not part of it.
std::string print_json(const Problem& problem, const Result& result, std::string_view strategy);

}  // namespace systole::solver::formats
