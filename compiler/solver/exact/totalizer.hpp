// Counts true literals: output j is forced true when at least j + 1 inputs are true.
//
// A balanced tree of partial counts whose clauses are added only up to the count asked for so far.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace systole::solver::exact {

class Totalizer {
 public:
  using AddClause = std::function<void(const std::vector<int>&)>;
  using NewVariable = std::function<int()>;

  explicit Totalizer(std::vector<int> inputs);

  [[nodiscard]] std::size_t size() const { return size_; }
  // The literal "at least count inputs are true", 1 <= count <= size.
  int at_least(std::size_t count, const NewVariable& fresh, const AddClause& add);

 private:
  struct Node {
    std::size_t left = 0;  // children; both 0 for a leaf
    std::size_t right = 0;
    std::size_t leaves = 1;
    std::vector<int> outputs;  // made so far
  };
  std::size_t build(const std::vector<int>& inputs, std::size_t begin, std::size_t end);
  void extend(std::size_t node, std::size_t count, const NewVariable& fresh, const AddClause& add);

  std::vector<Node> nodes_;
  std::size_t root_ = 0;
  std::size_t size_ = 0;
};

}  // namespace systole::solver::exact
