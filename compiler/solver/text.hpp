// Text forms of problems and results.
//
// Problem file, one statement per line, '#' starts a comment, names are words without spaces:
//
//   layout-selection 1                       first statement: format and version
//   tensor A RM CM                           a tensor and the names of its layouts
//     convert all 5                          cost between every two different layouts of A ...
//     convert RM CM 7                        ... and exceptions; later lines win; 'inf' is impossible
//     groups 0 1                             hint: group of the dimension each layout is about (-1: none)
//   operator mm A B -> C                     input tensors in argument order, then the output
//     family contraction                     hint
//     group 3                                hint
//     row RM RM -> RM 40                     layouts of inputs -> layout of output, cost
//
// Every tensor with two or more layouts must have all its conversions stated. Tensors may be declared after use.
// The plain .ls text (numbers only, first line "ls 1") is read too:
//
//   ls 1
//   <tensors> <operators>
//   t <layouts> <layouts*layouts conversion costs>                       per tensor
//   o <inputs> <input tensors...> <output tensor> <rows>                 per operator, then per row:
//   <input layouts...> <output layout> <cost>                            'inf' is impossible here too
//
// Result file: see write_result. Reading throws Error with "file:line" for any mistake, validates every layout index,
// and ends with check(problem).
#pragma once

#include <string>
#include <string_view>

#include "compiler/solver/problem.hpp"
#include "compiler/solver/result.hpp"

namespace systole::solver {

// name appears in errors only.
Problem parse_problem(std::string_view text, std::string_view name);
Problem read_problem(const std::string& path);

std::string print_problem(const Problem& problem);
std::string print_ls(const Problem& problem);

//   layout-result 1
//   strategy exact
//   status proven
//   proof elimination
//   cost 47
//   bound 47
//   counter sweeps 10
//   note ...
//   choose mm 2 CM CM -> CM               operator, row index, and the row's layouts for the reader
// Times are not part of it: the same result gives the same bytes.
std::string print_result(const Problem& problem, const Result& result, std::string_view strategy);
Result parse_result(const Problem& problem, std::string_view text, std::string_view name);

// The whole file as text; throws Error when it cannot be read.
std::string read_file(const std::string& path);

}  // namespace systole::solver
