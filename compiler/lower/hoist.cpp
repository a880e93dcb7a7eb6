#include "compiler/lower/hoist.hpp"

#include <algorithm>
#include <map>

#include "compiler/lower/schedule_overlap.hpp"

namespace systole::lower {
namespace {

// How far back is looked: what lies further is another operator's.
constexpr std::size_t farthest = 4096;

class Touched {
 public:
  void add(const TileInstruction& item) {
    for_each_touch(item, [this](const Touch& touch) {
      (touch.buffer.valid() ? buffers_[touch.buffer] : tensors_[touch.tensor]).push_back(touch);
    });
  }

  // Whether one of them has to stay behind this instruction.
  [[nodiscard]] bool follows(const TileInstruction& item) const {
    bool out = false;
    for_each_touch(item, [&](const Touch& touch) {
      out = out || (touch.buffer.valid() ? conflicts(buffers_, touch.buffer, touch)
                                         : conflicts(tensors_, touch.tensor, touch));
    });
    return out;
  }

 private:
  template <class Id>
  [[nodiscard]] static bool conflicts(const std::map<Id, std::vector<Touch>>& all, Id id,
                                      const Touch& touch) {
    const auto found = all.find(id);
    return found != all.end() && std::ranges::any_of(found->second, [&](const Touch& other) {
             return (touch.write || other.write) && may_overlap(touch, other);
           });
  }

  std::map<BufferId, std::vector<Touch>> buffers_;
  std::map<isa::TensorId, std::vector<Touch>> tensors_;
};

}  // namespace

void hoist(std::vector<TileInstruction>& instructions, std::size_t begin) {
  Touched touched;
  for (std::size_t i = begin; i < instructions.size(); ++i) {
    touched.add(instructions[i]);
  }
  const std::size_t least = begin > farthest ? begin - farthest : 0;
  std::size_t to = begin;
  while (to > least && !touched.follows(instructions[to - 1])) {
    --to;
  }
  if (to > least) {
    const auto at = [&](std::size_t i) {
      return instructions.begin() + static_cast<std::ptrdiff_t>(i);
    };
    std::rotate(at(to), at(begin), instructions.end());
  }
}

}  // namespace systole::lower
