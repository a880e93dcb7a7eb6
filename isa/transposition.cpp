#include "isa/transposition.hpp"

#include <algorithm>
#include <vector>

namespace systole::isa {
namespace {

struct Step {  // of both sides together
  std::int64_t extent = 1;
  DmaDim source;
  DmaDim destination;
};

// One side's dims from the innermost outwards, taken in parts.
class Dims {
 public:
  explicit Dims(const DmaAccess& access) : access_(access), next_(access.rank) { advance(); }

  [[nodiscard]] std::int64_t left() const { return left_; }  // of the present dim; 1 at the end
  [[nodiscard]] DmaDim take(std::int64_t count) {
    DmaDim out = dim_;
    out.stride *= taken_;
    left_ /= count;
    taken_ *= count;
    if (left_ == 1) {
      advance();
    }
    return out;
  }

 private:
  void advance() {
    left_ = 1;
    taken_ = 1;
    while (next_ > 0 && left_ == 1) {
      dim_ = access_.dims[static_cast<std::size_t>(--next_)];
      left_ = dim_.extent;
    }
  }

  const DmaAccess& access_;
  int next_;
  DmaDim dim_;
  std::int64_t left_ = 1;
  std::int64_t taken_ = 1;
};

bool continues(const DmaDim& outer, const DmaDim& inner, std::int64_t extent) {
  return outer.across == inner.across && outer.stride == inner.stride * extent;
}

// The steps that both sides take together, innermost first; nothing if their dims do not nest.
std::optional<std::vector<Step>> steps_of(const DmaAccess& source, const DmaAccess& destination) {
  Dims a(source);
  Dims b(destination);
  std::vector<Step> steps;
  while (a.left() > 1 && b.left() > 1) {
    const std::int64_t extent = std::min(a.left(), b.left());
    if (a.left() % extent != 0 || b.left() % extent != 0) {
      return std::nullopt;
    }
    const Step step{extent, a.take(extent), b.take(extent)};
    Step* inner = steps.empty() ? nullptr : &steps.back();
    if (inner != nullptr && continues(step.source, inner->source, inner->extent) &&
        continues(step.destination, inner->destination, inner->extent)) {
      inner->extent *= extent;
    } else {
      steps.push_back(step);
    }
  }
  if (a.left() != b.left()) {
    return std::nullopt;
  }
  return steps;
}

bool is_next_element(const DmaDim& dim) {
  return !dim.across && dim.stride == 1;
}

}  // namespace

std::optional<Transposition> transposition_of(const DmaAccess& source,
                                              const DmaAccess& destination) {
  const auto steps = steps_of(source, destination);
  if (!steps || destination.space != Space::sbuf) {
    return std::nullopt;
  }
  Transposition out;
  bool turned = false;
  for (const Step& step : *steps) {
    if (is_next_element(step.source)) {
      if (turned || !step.destination.across || step.destination.stride != 1) {
        return std::nullopt;
      }
      out.columns = step.extent;
      turned = true;
    } else if (is_next_element(step.destination)) {
      if ((source.space == Space::sbuf && !step.source.across) || step.source.stride == 0) {
        return std::nullopt;
      }
      out.rows = step.extent;
    } else {
      out.repeats *= step.extent;
    }
  }
  return turned ? std::optional(out) : std::nullopt;
}

std::int64_t blocks_of(const Transposition& transposition, const Machine& machine) {
  const auto parts = [](std::int64_t total, std::int64_t size) {
    return (total + size - 1) / size;
  };
  return parts(transposition.columns, machine.partitions) *
         parts(transposition.rows, machine.dma_engines) * transposition.repeats;
}

}  // namespace systole::isa
