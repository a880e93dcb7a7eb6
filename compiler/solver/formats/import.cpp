#include "compiler/solver/formats/import.hpp"

#include <filesystem>

#include "compiler/solver/formats/json.hpp"
#include "compiler/solver/formats/linear.hpp"
#include "compiler/solver/formats/wcnf.hpp"
#include "compiler/solver/formats/wcsp.hpp"
#include "compiler/solver/text.hpp"

namespace systole::solver::formats {

Problem imported(const std::string& path) {
  const std::string ending = std::filesystem::path(path).extension().string();
  if (ending == ".wcnf") {
    return problem_of(parse_wcnf(read_file(path), path));
  }
  if (ending == ".wcsp") {
    return problem_of(parse_wcsp(read_file(path), path));
  }
  if (ending == ".cfn") {
    return problem_of(parse_cfn(read_file(path), path));
  }
  if (ending == ".lp") {
    return problem_of(parse_lp(read_file(path), path));
  }
  if (ending == ".opb") {
    return problem_of(parse_opb(read_file(path), path));
  }
  if (ending == ".json") {
    return parse_json(read_file(path), path);
  }
  return read_problem(path);
}

}  // namespace systole::solver::formats
