#include "compiler/lower/transfer.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "isa/base/error.hpp"
#include "isa/transposition.hpp"

namespace systole::lower {
namespace {

using MotionOf = Motion TransferStep::*;

struct Reach {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

// Partitions touched by the steps, except one of them if `without` is given.
Reach reach(const Transfer& transfer, const End& end, MotionOf motion,
            std::optional<std::size_t> without = {}) {
  Reach out{end.partition, end.partition};
  for (std::size_t i = 0; i < transfer.steps.size(); ++i) {
    if (i != without) {
      const TransferStep& step = transfer.steps[i];
      const std::int64_t far = (step.*motion).partitions * (step.extent - 1);
      (far < 0 ? out.low : out.high) += far;
    }
  }
  return out;
}

// The box restricted to [begin, begin + extent) of one step.
Transfer restricted(const Transfer& transfer, std::size_t step, std::int64_t begin,
                    std::int64_t extent) {
  Transfer out = transfer;
  TransferStep& s = out.steps[step];
  out.source.partition += s.source.partitions * begin;
  out.source.elements += s.source.elements * begin;
  out.destination.partition += s.destination.partitions * begin;
  out.destination.elements += s.destination.elements * begin;
  s.extent = extent;
  return out;
}

// Steps over whole blocks are element steps.
void fold_blocks(Transfer& transfer, End& end, MotionOf motion, std::int64_t partitions) {
  for (TransferStep& step : transfer.steps) {
    Motion& m = step.*motion;
    if (m.partitions != 0 && m.partitions % partitions == 0) {
      m.elements += m.partitions / partitions * end.block;
      m.partitions = 0;
    }
  }
  const Reach touched = reach(transfer, end, motion);
  const std::int64_t block = floor_div(touched.low, partitions);
  if (block == floor_div(touched.high, partitions)) {
    end.partition -= block * partitions;
    end.elements += block * end.block;
  }
}

class Planner {
 public:
  Planner(const isa::Machine& machine, const std::function<void(PlannedDma)>& f)
      : machine_(machine), f_(f) {}

  void run(Transfer transfer) {
    std::erase_if(transfer.steps, [](const TransferStep& step) { return step.extent == 1; });
    if (cut_blocks(transfer, transfer.source, &TransferStep::source) ||
        cut_blocks(transfer, transfer.destination, &TransferStep::destination)) {
      return;
    }
    order(transfer);
    const std::vector<isa::DmaDim> source = dims(transfer, &TransferStep::source);
    const std::vector<isa::DmaDim> destination = dims(transfer, &TransferStep::destination);
    if (source.size() > isa::DmaAccess::max_rank || destination.size() > isa::DmaAccess::max_rank) {
      loop(transfer);
      return;
    }
    PlannedDma out;
    out.dma.source = side(transfer.source, source, out.buffers);
    out.dma.destination = side(transfer.destination, destination, out.buffers);
    out.dma.accumulate = transfer.accumulate;
    out.dma.transpose = transfer.transpose &&
                        isa::transposition_of(out.dma.source, out.dma.destination).has_value();
    f_(std::move(out));
  }

 private:
  // True if the box crossed blocks irregularly: then its parts have been run.
  bool cut_blocks(Transfer& transfer, End& end, MotionOf motion) {
    if (end.space != isa::Space::sbuf) {
      return false;
    }
    const std::int64_t partitions = machine_.partitions;
    fold_blocks(transfer, end, motion, partitions);
    const Reach touched = reach(transfer, end, motion);
    if (touched.low >= 0 && touched.high < partitions) {
      return false;
    }
    std::size_t widest = 0;
    for (std::size_t i = 1; i < transfer.steps.size(); ++i) {
      const auto size = [&](std::size_t k) {
        const std::int64_t p = (transfer.steps[k].*motion).partitions;
        return std::max(p, -p);
      };
      widest = size(i) > size(widest) ? i : widest;
    }
    cut_step(transfer, end, motion, widest);
    return true;
  }

  void cut_step(const Transfer& transfer, const End& end, MotionOf motion, std::size_t index) {
    const std::int64_t partitions = machine_.partitions;
    const TransferStep& step = transfer.steps[index];
    const std::int64_t p = (step.*motion).partitions;
    const Reach rest = reach(transfer, end, motion, index);
    const std::int64_t low = rest.low - floor_div(rest.low, partitions) * partitions;
    const std::int64_t high = rest.high - floor_div(rest.low, partitions) * partitions;
    // As many indices as stay in the block of the first one.
    std::int64_t count = 1;
    if (high < partitions && p > 0) {
      count = (partitions - 1 - high) / p + 1;
    } else if (high < partitions && p < 0) {
      count = low / -p + 1;
    }
    count = std::min(count, step.extent);
    // A regular tail of whole blocks is one step over blocks and one inside a block.
    if (p > 0 && partitions % p == 0) {
      const std::int64_t inside = partitions / p;
      const std::int64_t whole = step.extent / inside;
      if (whole > 1 && count == inside) {
        Transfer body = restricted(transfer, index, 0, inside);
        body.steps.insert(body.steps.begin(), times(step, inside, whole));
        run(std::move(body));
        rest_from(transfer, index, whole * inside);
        return;
      }
    }
    run(restricted(transfer, index, 0, count));
    rest_from(transfer, index, count);
  }

  void rest_from(const Transfer& transfer, std::size_t index, std::int64_t begin) {
    const std::int64_t extent = transfer.steps[index].extent;
    if (begin < extent) {
      run(restricted(transfer, index, begin, extent - begin));
    }
  }

  static TransferStep times(const TransferStep& step, std::int64_t factor, std::int64_t extent) {
    TransferStep out = step;
    out.extent = extent;
    for (const MotionOf motion : {&TransferStep::source, &TransferStep::destination}) {
      (out.*motion).partitions *= factor;
      (out.*motion).elements *= factor;
    }
    return out;
  }

  static void order(Transfer& transfer) {
    const auto size = [](std::int64_t v) { return v < 0 ? -v : v; };
    std::ranges::stable_sort(transfer.steps, [&](const TransferStep& a, const TransferStep& b) {
      const auto key = [&](const TransferStep& s) {
        return std::tuple(size(s.destination.partitions), size(s.destination.elements),
                          size(s.source.partitions), size(s.source.elements));
      };
      return key(a) > key(b);
    });
  }

  static std::vector<isa::DmaDim> dims(const Transfer& transfer, MotionOf motion) {
    std::vector<isa::DmaDim> out;
    for (const TransferStep& step : transfer.steps) {
      const Motion& m = step.*motion;
      check(m.partitions == 0 || m.elements == 0, "a step goes along or across partitions");
      const bool across = m.partitions != 0;
      const std::int64_t stride = across ? m.partitions : m.elements;
      check(step.extent <= std::numeric_limits<std::int32_t>::max(), "DMA extent out of range");
      const auto extent = static_cast<std::int32_t>(step.extent);
      const bool joins =
          !out.empty() && out.back().stride == stride * extent &&
          (out.back().across == across || stride == 0) &&
          std::int64_t{out.back().extent} * extent <= std::numeric_limits<std::int32_t>::max();
      if (joins) {
        out.back() = {stride, out.back().extent * extent, across};
      } else {
        out.push_back({stride, extent, across});
      }
    }
    return out;
  }

  // Too many dims: the shortest step is looped over.
  void loop(const Transfer& transfer) {
    const auto shortest = std::ranges::min_element(transfer.steps, {}, &TransferStep::extent);
    const auto index = static_cast<std::size_t>(shortest - transfer.steps.begin());
    for (std::int64_t i = 0; i < transfer.steps[index].extent; ++i) {
      run(restricted(transfer, index, i, 1));
    }
  }

  static isa::DmaAccess side(const End& end, const std::vector<isa::DmaDim>& dims,
                             std::vector<BufferId>& buffers) {
    isa::DmaAccess out;
    out.space = end.space;
    out.dtype = end.dtype;
    out.rank = static_cast<std::int8_t>(dims.size());
    for (std::size_t i = 0; i < dims.size(); ++i) {
      out.dims[i] = dims[i];
    }
    if (end.space == isa::Space::hbm) {
      out.tensor = end.tensor;
      out.offset = end.elements;
    } else {
      out.partition = static_cast<std::int16_t>(end.partition);
      out.offset = end.bytes + end.elements * isa::size_of(end.dtype);
      buffers.push_back(end.buffer);
    }
    return out;
  }

  const isa::Machine& machine_;
  const std::function<void(PlannedDma)>& f_;
};

}  // namespace

void plan_dma(const Transfer& transfer, const isa::Machine& machine,
              const std::function<void(PlannedDma)>& f) {
  for (const TransferStep& step : transfer.steps) {
    if (step.extent == 0) {
      return;
    }
  }
  Planner(machine, f).run(transfer);
}

}  // namespace systole::lower
